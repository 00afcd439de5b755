"""What a fit needs is known, and refused, before it costs anything."""

from pathlib import Path

import numpy as np
import pytest

import longsynth.methods.resources
from longsynth import Refused, fit, plan, simulate, simulated_schema
from longsynth.engines import batch_sums
from longsynth.govern.book import Book
from longsynth.methods.resources import needs_of
from longsynth.privacy.statistic import DIAGONAL
from longsynth.privacy.sums import Sums
from longsynth.reading.records import Cohort
from longsynth.release.run import run_fit
from longsynth.schema.schema import Schema
from support import random_cohort, rows_of, small_plan, write_checked


def wide(slots: int, variables: int) -> Schema:
    listed = [
        {"name": f"v{v}", "kind": "continuous", "bounds": [0, 1], "bounds_from": "-"}
        for v in range(variables)
    ]
    about = {"longsynth": 1, "name": "wide", "slots": slots, "max_gap": 48}
    return Schema.model_validate(about | {"variables": listed})


def test_memory_does_not_grow_with_patients_and_time_does() -> None:
    few, many = (
        needs_of(plan(simulated_schema(), n, epsilon=1, delta=1e-9, method="trust"))
        for n in (10**5, 10**8)
    )
    assert few.memory == many.memory < 1e9
    assert many.seconds > 100 * few.seconds


def test_wide_records_need_more_of_both() -> None:
    narrow, broad = (
        needs_of(plan(wide(50, v), 1000, epsilon=1, delta=1e-6, method="trust")) for v in (2, 40)
    )
    assert broad.memory > narrow.memory
    assert broad.seconds > 3 * narrow.seconds
    assert broad.memory < 2e9


def test_a_band_needs_less_of_both_than_all_pairs() -> None:
    about = wide(50, 40).model_dump()
    band, all_pairs, squares = (
        needs_of(
            plan(
                Schema.model_validate(about | {"constants": constants}),
                10**6,
                epsilon=1,
                delta=1e-8,
                method="trust",
            )
        )
        for constants in ({}, {"bandwidth": 49}, {"covariance": "diagonal"})
    )
    assert squares.memory < band.memory < 0.8 * all_pairs.memory
    assert squares.seconds < band.seconds < 0.6 * all_pairs.seconds


def test_a_fit_without_the_memory_for_it_is_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checked(tmp_path, simulated_schema(), simulate(50, seed=1).batches())
    monkeypatch.setattr(longsynth.methods.resources, "memory_of_machine", lambda: 1e6)
    monkeypatch.setattr(Book, "charge", lambda *_, **__: pytest.fail("charged"))
    with pytest.raises(Refused, match=r"needs about .* GB of memory .* fewer slots or variables"):
        run_fit(tmp_path, tmp_path / "run", epsilon=1, delta=1e-5, book=tmp_path / "b", dataset="d")
    assert not (tmp_path / "run").exists()
    with pytest.raises(Refused, match="fewer slots"):
        fit(random_cohort(20, 1), small_plan(20))


def test_records_of_two_thousand_numbers_are_added_up() -> None:
    schema = wide(50, 40)
    planned = plan(schema, 8, epsilon=1, delta=1e-5, method="trust")
    stage = planned.stages[0]
    rng = np.random.default_rng(0)
    shape = (8, 50, 40)
    cohort = Cohort(
        rng.random(shape),
        rng.random(shape) < 0.9,
        rng.random(shape[:2]),
        np.full(8, 50),
        *(rng.integers(0, 2, (2, 8))),
        np.zeros(8, np.int64),
    )
    found: dict[str, Sums] = batch_sums(
        cohort,
        [line.statistic for line in stage],
        lambda batch: rows_of(planned.method, batch, planned.schema, stage, None),  # type: ignore[arg-type]
    )
    within, between = 50 * 40 * 41 // 2, (49 + 48 + 47) * 40 * 40  # slots at most three apart
    assert len(found["second"].total) == within + between
    z = rows_of(planned.method, cohort, planned.schema, stage, None)["second"].right  # type: ignore[arg-type]
    last = z.astype(np.int64)[:, -1]
    assert found["second"].total[-1] == DIAGONAL * (last @ last)
