"""Planned visits: slots are planned visits, and synthetic visits stay within their windows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

import longsynth
from longsynth.encoding.scaling import Scaling
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema

PLAN = {"planned": [0, 6, 12, 24], "unit": "months", "window": 1}
MONTH = 730.5
PATIENTS = 300


def followed(**changes: object) -> Schema:
    facts = {"longsynth": 1, "name": "study", "slots": 4, "max_gap": 20000, "visits": PLAN}
    pulse = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "x"}
    return Schema.model_validate(facts | {"variables": [pulse]} | changes)


def visits(missed: float = 0.2) -> Cohort:
    """Visits up to half a window from their times; some did not take place."""
    rng, planned = np.random.default_rng(1), np.array([0, 6, 12, 24])
    times = (planned + rng.uniform(-0.5, 0.5, (PATIENTS, 4)) * (planned > 0)) * MONTH
    there = rng.random((PATIENTS, 4)) >= missed
    patient, visit = np.nonzero(there)
    rows = {"patient_id": patient, "time": times[there], "pulse": 80.0 + visit}
    people = {"patient_id": range(PATIENTS), "group": [0] * PATIENTS, "event": [0, 1] * 150}
    return longsynth.read_frames(followed(), pa.table(rows), pa.table(people))


def test_a_row_belongs_to_the_nearest_planned_visit_and_a_missed_one_is_empty() -> None:
    hours = np.array([0.2, 5.1, 8.9, 23.0, 40.0, 13.0]) * MONTH
    rows = {"patient_id": [1, 1, 1, 1, 2, 2], "time": hours, "pulse": [60.0, 70, 74, 80, 90, 95]}
    people = {"patient_id": [1, 2, 3], "group": [0, 0, 0], "event": [0, 0, 0]}
    cohort = longsynth.read_frames(followed(), pa.table(rows), pa.table(people))
    assert cohort.length.tolist() == [4, 4, 0]
    assert cohort.observed[:2, :, 0].tolist() == [
        [True, True, False, True],
        [False, False, True, True],
    ]
    assert cohort.values[0, [0, 1, 3], 0].tolist() == [60, 70, 80]  # 5.1 and 8.9: the lower median
    times = np.cumsum(cohort.gaps, axis=1)[0] / MONTH
    assert times == pytest.approx([0.2, 5.1, 12, 23])


@pytest.mark.parametrize("name", METHODS)
def test_every_synthetic_visit_is_within_its_window(name: str, tmp_path: Path) -> None:
    schema, cohort = followed(), visits()
    if isinstance(METHODS[name], PrivateMethod):
        plan = longsynth.plan(schema, PATIENTS, epsilon=1, delta=1e-5, method=name)
        bundle = longsynth.fit(cohort, plan)
    else:
        bundle = longsynth.fit_without_privacy(cohort, schema, name)
    made = longsynth.sample(longsynth.model_of(bundle), 400, seed=1)
    used = np.arange(4) < made.length[:, None]
    late = np.cumsum(made.gaps, axis=1) / MONTH - np.array([0, 6, 12, 24])
    assert used.any() and np.abs(late)[used].max() <= 1 + 1e-9
    longsynth.write_cohort(tmp_path, schema, [made])
    back = longsynth.read_cohort(tmp_path)[1]
    assert (back.length == made.length).all() and (back.observed == made.observed).all()


def test_what_is_encoded_is_the_distance_from_the_plan_in_windows() -> None:
    scaling = Scaling(followed())
    gaps = np.array([[0.0, 6.5, 5.0, 20.0], [np.nan, np.inf, -1e300, 1e300]]) * MONTH
    encoded = scaling.encode_gaps(gaps)
    assert encoded[0] == pytest.approx([0, 0.5, -0.5, 1.0]) and (np.abs(encoded) <= 1).all()
    assert scaling.encode_gaps(scaling.decode_gaps(encoded))[0] == pytest.approx(encoded[0])


@pytest.mark.parametrize(
    ("visits", "problem"),
    [
        (PLAN | {"planned": [0, 6, 12]}, "slots"),
        (PLAN | {"planned": [0, 12, 6, 24]}, "rise"),
        (PLAN | {"planned": [-1, 6, 12, 24]}, "rise"),
        (PLAN | {"window": 3}, "touch"),
        (PLAN | {"unit": "moons"}, "months"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(visits: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        followed(visits=visits)
    assert problem in str(caught.value)


def test_a_plan_takes_the_place_of_anchors() -> None:
    with pytest.raises(ValidationError, match="leave anchors and merge out"):
        followed(slot_rule={"merge": 4})
