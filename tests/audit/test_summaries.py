"""Summaries say in numbers what a hand can check."""

from dataclasses import replace

import numpy as np
import pytest

from audit.audit_support import plain_schema, series
from longsynth.audit.view import clipped, feature_names, summaries, view
from support import random_cohort, small_schema


def summary(*readings: float, gap: float = 1.0) -> dict[str, float]:
    schema = plain_schema()
    row = summaries(schema, series(list(readings), gap=gap))[0]
    return dict(zip(feature_names(schema), row, strict=True))


def test_each_summary_of_a_rising_patient() -> None:
    found = summary(0, 5, 10)  # -1, 0, 1 on the public scale; one hour is a tenth of max_gap
    assert found == pytest.approx(
        {
            "x_mean": 0,
            "x_last": 1,
            "x_min": -1,
            "x_max": 1,
            "x_slope": 2,  # 10 per max_gap, cut at 2
            "x_missing": 0,
            "x_count": 3,
            "gap_mean": 0.1,
            "gap_sd": 0,
            "slots": 3,
        }
    )


def test_the_slope_is_per_longest_gap_and_knows_the_hours() -> None:
    assert summary(5, 6, gap=10)["x_slope"] == pytest.approx(0.2)
    assert summary(5, None, 6, gap=10)["x_slope"] == pytest.approx(0.1)  # twice as long apart
    assert summary(5)["x_slope"] == 0


def test_what_was_not_seen_is_the_midpoint_and_counted_as_missing() -> None:
    never, nobody = summary(None, None), summary()
    for found in (never, nobody):
        values = [found[f"x_{what}"] for what in ("mean", "last", "min", "max", "slope", "count")]
        assert values == [0] * 6
        assert found["x_missing"] == 1
    assert (never["slots"], nobody["slots"]) == (2, 0)
    assert summary(5, None, None, 8)["x_missing"] == 0.5
    assert summary(5, 8, None)["x_last"] == pytest.approx(0.6)


def test_values_past_the_length_and_values_that_are_not_finite_are_not_seen() -> None:
    schema = small_schema()
    cohort = random_cohort(200, 3)  # observed says true past the length here
    cohort.values[::7] = np.inf
    cohort.gaps[::5] = np.nan
    found = summaries(schema, cohort)
    assert found.shape == (200, len(feature_names(schema)))
    assert np.isfinite(found).all()
    nobody = found[cohort.length == 0]
    assert len(nobody)
    assert (nobody[:, [name.endswith("missing") for name in feature_names(schema)]] == 1).all()


def test_a_file_of_single_precision_gives_the_same_values() -> None:
    """Else a classifier tells real from synthetic patients by their seventeenth digit."""
    schema = plain_schema()
    decimals = series([0.1, 6.7, 3.3])
    stored = replace(decimals, values=decimals.values.astype(np.float32).astype(np.float64))
    assert (stored.values != decimals.values).any()
    assert (view(schema, stored).values == view(schema, decimals).values).all()
    assert (clipped(schema, stored) == clipped(schema, decimals)).all()
