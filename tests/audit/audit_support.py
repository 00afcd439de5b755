"""Schemas and cohorts for the audit's tests: the usual ones and the awkward ones."""

from dataclasses import fields, replace

import numpy as np

from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema


def plain_schema() -> Schema:
    """One continuous variable, no site: nothing with levels."""
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "plain",
            "slots": 4,
            "max_gap": 10,
            "variables": [
                {"name": "x", "kind": "continuous", "bounds": [0, 10], "bounds_from": "a scale"}
            ],
        }
    )


def series(*rows: list[float], event: list[int] | None = None, gap: float = 1.0) -> Cohort:
    """Patients of `plain_schema`: one list of readings each, None where not seen."""
    n = len(rows)
    values = np.full((n, 4, 1), np.nan)
    for i, row in enumerate(rows):
        values[i, : len(row), 0] = [np.nan if x is None else x for x in row]
    return Cohort(
        values=values,
        observed=np.isfinite(values),
        gaps=np.full((n, 4), gap),
        length=np.array([len(row) for row in rows]),
        group=np.zeros(n, dtype=np.int64),
        event=np.zeros(n, dtype=np.int64) if event is None else np.array(event),
        site=np.zeros(n, dtype=np.int64),
    )


def weighted(cohort: Cohort, weight: object) -> Synthetic:
    arrays = {field.name: getattr(cohort, field.name) for field in fields(Cohort)}
    return Synthetic(**arrays, weight=np.asarray(weight, dtype=np.float64), fingerprint="")


def changed(cohort: Cohort, **arrays: object) -> Cohort:
    return replace(cohort, **{name: np.asarray(array) for name, array in arrays.items()})


def study_schema() -> Schema:
    """A time to event with two causes, a grade, a number, a category, two groups, two sites."""
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "a study",
            "slots": 3,
            "max_gap": 48,
            "outcomes": [
                {
                    "name": "survival",
                    "kind": "time_to_event",
                    "unit": "days",
                    "horizon": 100,
                    "column": "days",
                    "status": {"column": "end", "levels": ["censored", "death", "transplant"]},
                },
                {
                    "name": "ventilated",
                    "kind": "count",
                    "unit": "hours",
                    "bounds": [1, 1000],
                    "bounds_from": "a scale",
                    "transform": "log",
                },
                {"name": "grade", "kind": "ordinal", "levels": ["mild", "moderate", "severe"]},
                {"name": "leaves", "kind": "categorical", "levels": ["home", "ward", "hospice"]},
                {"name": "readmitted", "kind": "binary"},
            ],
            "groups": [
                {"name": "age", "levels": ["young", "middle", "old"]},
                {"name": "sex", "levels": ["M", "F"]},
            ],
            "protected": [{"age": "old", "sex": "F"}],
            "site": {"column": "site", "levels": ["A", "B"]},
            "variables": [
                {"name": "x", "kind": "continuous", "bounds": [-5, 5], "bounds_from": "a scale"},
                {"name": "colour", "kind": "nominal", "static": True, "levels": ["red", "blue"]},
            ],
        }
    )


def study_cohort(patients: int, seed: int, *, skill: float = 1.5) -> Cohort:
    """Patients of `study_schema`: everything follows from `x` in the first slot. A record ends with
    the time to event, so its length reveals that time."""
    rng, schema = np.random.default_rng(seed), study_schema()
    place = {v.name: i for i, v in enumerate(schema.variables)}
    x, values = rng.normal(size=patients), np.zeros((patients, 3, len(place)))
    hazards = np.stack([np.exp(skill * x), np.full(patients, 0.3)]) / 60
    times = rng.exponential(1 / hazards)
    ended = np.minimum(times.min(axis=0), rng.uniform(20, 150, patients))
    event = np.where(ended < times.min(axis=0), 0, 1 + times.argmin(axis=0))
    noise = rng.normal(size=(4, patients))
    cut = lambda score, *at: np.digitize(score, at).astype(float)  # noqa: E731
    values[:, :, place["x"]] = x[:, None] + 0.1 * rng.normal(size=(patients, 3))
    values[:, 0, place["colour"]] = rng.integers(0, 2, patients)
    values[:, 0, place["survival"]] = np.minimum(ended, 100)
    values[:, 0, place["ventilated"]] = np.clip(np.exp(3 + skill * x + noise[0]), 1, 1000)
    values[:, 0, place["grade"]] = cut(skill * x + noise[1], -1, 1)
    values[:, 0, place["leaves"]] = cut(skill * x + noise[2], -1, 1.2)
    values[:, 0, place["readmitted"]] = cut(skill * x + noise[3], 0.5)
    values[:, 0, place["sex"]] = rng.integers(0, 2, patients)
    length = np.clip((ended / 20).astype(np.int64), 1, 3)
    return Cohort(
        values=values,
        observed=schema.layout.up_to(length),
        gaps=np.full((patients, 3), 24.0),
        length=length,
        group=rng.integers(0, 3, patients),
        event=np.where(ended > 100, 0, event).astype(np.int64),
        site=rng.integers(0, 2, patients),
    )
