"""A ward with everything a schema can hold: static, nominal, ordinal, binary, lengths that differ.

Patients with the event leave early: two slots at most, where the others have three or more.
"""

from dataclasses import replace

import numpy as np

from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema

SLOTS, MISSING = 6, 0.2
BLOOD, RHYTHM, DOSE = (0.45, 0.12, 0.05, 0.38), (0.6, 0.3, 0.1), (0.5, 0.2, 0.15, 0.1, 0.05)
VARIABLES: list[dict[str, object]] = [
    {
        "name": "age",
        "kind": "continuous",
        "static": True,
        "bounds": [18, 100],
        "bounds_from": "the ward takes adults",
    },
    {"name": "sex", "kind": "binary", "static": True, "levels": ["m", "f"]},
    {"name": "blood", "kind": "nominal", "static": True, "levels": ["A", "B", "AB", "O"]},
    {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"},
    {"name": "dose", "kind": "ordinal", "bounds": [0, 4], "bounds_from": "the scale"},
    {"name": "oxygen", "kind": "binary"},
    {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "paced", "other"]},
]
NAMES = [str(v["name"]) for v in VARIABLES]
STATIC = np.array([bool(v.get("static")) for v in VARIABLES])


def ward_schema(**changes: object) -> Schema:
    base = {
        "longsynth": 1,
        "name": "ward",
        "slots": SLOTS,
        "max_gap": 48,
        "site": {"column": "site", "levels": ["A", "B", "C"]},
        "variables": VARIABLES,
    }
    return Schema.model_validate(base | changes)


PLANNED = {"planned": [0, 6, 12, 24, 36, 48], "unit": "hours", "window": 1}
POINTS = {"age": [18, 65], "pulse": [80]}


def pointed_ward_schema(**changes: object) -> Schema:
    """Also with point masses, one of them at a bound."""
    variables = [v | {"point_masses": POINTS.get(str(v["name"]), [])} for v in VARIABLES]
    return ward_schema(variables=variables, **changes)


TIMES: list[dict[str, object]] = [
    {
        "name": "survival",
        "kind": "time_to_event",
        "unit": "days",
        "horizon": 30,
        "status": {"column": "event", "levels": ["censored", "dead", "moved"]},
    },
    {
        "name": "fever",
        "kind": "time_to_event",
        "unit": "hours",
        "horizon": 48,
        "origin": "elsewhere",
        "status": {"column": "fever_status", "levels": ["none", "fever"]},
    },
]


def timed_ward_schema(**changes: object) -> Schema:
    """Also with two times to event; the first is primary, and has competing events."""
    return ward_schema(outcomes=TIMES, **changes)


def timed_ward_cohort(patients: int, seed: int) -> Cohort:
    cohort, rng = ward_cohort(patients, seed), np.random.default_rng(seed + 1)
    event = np.where(rng.random(patients) < 0.15, 2, cohort.event)
    ends = np.minimum(rng.exponential(np.array([25.0, 8.0, 15.0])[event]), 30.0)
    fever = (rng.random(patients) < 0.4).astype(np.int64)
    onset = np.minimum(rng.exponential(np.where(fever, 10.0, 60.0)), 48.0)
    more = np.full((patients, SLOTS, 3), np.nan)
    more[:, 0] = np.stack([ends, fever, onset], axis=1)
    return replace(
        cohort,
        values=np.concatenate([cohort.values, more], axis=2),
        observed=np.concatenate([cohort.observed, np.isfinite(more)], axis=2),
        event=event,
    )


def ward_cohort(patients: int, seed: int, *, events: float = 0.25) -> Cohort:
    rng = np.random.default_rng(seed)
    event = (rng.random(patients) < events).astype(np.int64)
    length = np.where(
        event == 1, rng.integers(0, 3, patients), rng.integers(3, SLOTS + 1, patients)
    )
    shape = (patients, SLOTS)
    usual = rng.choice(3, (patients, 1), p=RHYTHM)
    values = np.empty((*shape, len(VARIABLES)))
    values[:, :, 0] = np.clip(rng.normal(55 + 15 * event, 10), 18, 100)[:, None]
    values[:, :, 1] = (rng.random(patients) < 0.6)[:, None]
    values[:, :, 2] = rng.choice(4, (patients, 1), p=BLOOD)
    values[:, :, 3] = np.clip(rng.normal(90 + 30 * event[:, None], 15, shape), 20, 220)
    values[:, :, 4] = rng.choice(5, shape, p=DOSE)
    values[:, :, 5] = rng.random(shape) < 0.3
    values[:, :, 6] = np.where(rng.random(shape) < 0.8, usual, rng.choice(3, shape, p=RHYTHM))
    slots = np.arange(SLOTS)
    used = slots < length[:, None]
    observed = rng.random(values.shape) >= MISSING
    observed &= np.where(STATIC, (slots == 0)[:, None], used[:, :, None])
    return Cohort(
        values=np.where(observed, values, np.nan),
        observed=observed,
        gaps=np.where(used, rng.exponential(8, shape), 0.0),
        length=length,
        group=rng.integers(0, 2, patients),
        event=event,
        site=rng.choice(3, patients, p=(0.5, 0.3, 0.2)),
    )
