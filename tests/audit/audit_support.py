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
