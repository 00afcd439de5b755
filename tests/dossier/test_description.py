"""Descriptions of cohorts so small that every number can be checked by hand."""

import json

import numpy as np
import pytest

from longsynth.audit.description import correlation, describe, edges_of, quantiles
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from support import small_schema


def cohort(patients: int = 20) -> Cohort:
    """Pulse 60 and 100 in turn, two slots of four in use; every second oxygen missing."""
    values = np.zeros((patients, 4, 3))
    values[:, :, 0] = np.where(np.arange(patients) % 2, 100.0, 60.0)[:, None]
    values[:, :, 1] = 2.0
    observed = np.ones((patients, 4, 3), bool)
    observed[::2, :, 2] = False
    event = (np.arange(patients) % 2).astype(np.int64)
    return Cohort(
        values=values,
        observed=observed,
        gaps=np.full((patients, 4), 6.0),
        length=np.full(patients, 2),
        group=np.zeros(patients, np.int64),
        event=event,
        site=np.arange(patients) % 3,
    )


def test_shares_missing_readings_and_bands_are_those_of_the_patients() -> None:
    described = describe(small_schema(), cohort())
    pulse, dose, oxygen = described["variables"]
    at = {pulse["edges"][i]: s for i, s in enumerate(pulse["shares"]) if s}
    assert at == {60.0: 0.5, 100.0: 0.5}
    assert dose["shares"] == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert oxygen["missing"] == {
        "all": 0.5,
        "event0": 1.0,
        "event1": 0.0,
        "group0": 0.5,
        "group1": None,
    }
    assert pulse["bands"]["event1"] == [[100.0, 100.0, None, None]] * 3
    assert described["strata"]["rates"] == {"all": 0.5, "group0": 0.5, "group1": None}
    assert described["correlations"]["names"] == ["pulse", "dose", "oxygen"]
    assert described["correlations"]["pairs"][2] == 1.0  # pulse and event


def test_padding_is_never_counted() -> None:
    long, short = cohort(), cohort()
    short.values[:, 2:] = 999.0
    short.gaps[:, 2:] = 48.0
    assert describe(small_schema(), long) == describe(small_schema(), short)


def test_a_patient_of_weight_three_counts_three_times() -> None:
    base = cohort()
    arrays = {name: getattr(base, name) for name in Cohort.__slots__}
    weight = np.where(base.event == 1, 3.0, 1.0)
    weighted = Synthetic(**arrays, weight=weight, fingerprint="")
    rows = np.repeat(np.arange(20), np.where(base.event == 1, 3, 1))
    repeated = Cohort(**{name: array[rows] for name, array in arrays.items()})
    schema = small_schema()
    heavy, many = describe(schema, weighted), describe(schema, repeated)
    assert heavy["strata"] == many["strata"]
    assert heavy["lengths"] == many["lengths"]
    assert [v["shares"] for v in heavy["variables"]] == [v["shares"] for v in many["variables"]]


@pytest.mark.parametrize("patients", [0, 1, 9])
def test_too_few_patients_have_no_quantiles_and_no_correlations(patients: int) -> None:
    described = describe(small_schema(), cohort(patients))
    assert described["variables"][0]["bands"]["all"] == [[None] * 4] * 3
    assert set(described["correlations"]["pairs"]) == {None}
    json.dumps(described, allow_nan=False)


def test_bins_have_round_widths_and_end_at_the_public_bounds() -> None:
    assert edges_of(0.0, 72.0)[:3].tolist() == [0.0, 2.0, 4.0]
    assert edges_of(30.0, 220.0)[[0, 1, -1]].tolist() == [30.0, 35.0, 220.0]
    assert np.all(np.diff(edges_of(0.137, 0.9)) > 0)


def test_weighted_quantiles_and_correlations_equal_numpys_for_equal_weights() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 400))
    expected = np.quantile(x, (0.1, 0.5, 0.9))
    assert np.abs(quantiles(x, np.ones(400), (0.1, 0.5, 0.9)) - expected).max() < 0.03
    assert correlation(x, x + y, np.ones(400)) == pytest.approx(np.corrcoef(x, x + y)[0, 1])
