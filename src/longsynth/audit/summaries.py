"""Summaries: one row of numbers a patient, for classifiers, correlations and distances.

All on public scales: values in [-1, 1] of their bounds, gaps and slopes per `max_gap`.
"""

import numpy as np

from longsynth.audit.view import Floats, View, view
from longsynth.io.writer import Trajectories
from longsynth.schema import Schema

PER_VARIABLE = ("mean", "last", "min", "max", "slope", "missing", "count")
PER_PATIENT = ("gap_mean", "gap_sd", "slots")
STEEPEST = 2.0  # from one bound to the other within one max_gap


def feature_names(schema: Schema) -> list[str]:
    """Name the columns of `summaries`, variable by variable."""
    names = [f"{v.name}_{what}" for v in schema.variables for what in PER_VARIABLE]
    return [*names, *PER_PATIENT]


def summaries(schema: Schema, cohort: Trajectories) -> Floats:
    """Return (n, features), never NaN: what was never seen is the public midpoint, 0."""
    seen_as = view(schema, cohort)
    parts = _by_variable(schema, seen_as)
    columns = np.stack([parts[what] for what in PER_VARIABLE], axis=2)  # (n, V, 7)
    return np.column_stack([columns.reshape(len(columns), -1), _by_patient(schema, seen_as)])


def columns_of(variable: int) -> slice:
    """Which columns of `summaries` speak of one variable."""
    width = len(PER_VARIABLE)
    return slice(variable * width, (variable + 1) * width)


def _by_variable(schema: Schema, cohort: View) -> dict[str, Floats]:
    count = cohort.seen.sum(axis=1).astype(np.float64)  # (n, V)
    some = count > 0
    slots = cohort.used.sum(axis=1)[:, None]
    lowest = np.where(cohort.seen, cohort.values, np.inf).min(axis=1)
    highest = np.where(cohort.seen, cohort.values, -np.inf).max(axis=1)
    return {
        "mean": cohort.values.sum(axis=1) / np.maximum(count, 1),
        "last": _last(cohort),
        "min": np.where(some, lowest, 0.0),
        "max": np.where(some, highest, 0.0),
        "slope": _slope(schema, cohort, count),
        "missing": np.where(slots > 0, 1 - count / np.maximum(slots, 1), 1.0),
        "count": count,
    }


def _last(cohort: View) -> Floats:
    slots = cohort.seen.shape[1]
    position = slots - 1 - np.argmax(cohort.seen[:, ::-1], axis=1)  # (n, V)
    return np.take_along_axis(cohort.values, position[:, None], axis=1)[:, 0]


def _slope(schema: Schema, cohort: View, count: Floats) -> Floats:
    """Least squares, cut at `STEEPEST`: two readings a minute apart are no trend."""
    number = np.maximum(count, 1)[:, None]
    time = cohort.time[:, :, None] / schema.max_gap
    late = np.where(cohort.seen, time, 0.0)
    late = np.where(cohort.seen, late - late.sum(axis=1, keepdims=True) / number, 0.0)
    spread = (late**2).sum(axis=1)
    known = spread > 1e-12
    slope = (late * cohort.values).sum(axis=1) / np.where(known, spread, 1.0)
    return np.asarray(np.where(known, np.clip(slope, -STEEPEST, STEEPEST), 0.0))


def _by_patient(schema: Schema, cohort: View) -> Floats:
    slots = cohort.used.sum(axis=1).astype(np.float64)
    number = np.maximum(slots, 1)
    gaps = cohort.gaps / schema.max_gap
    mean = gaps.sum(axis=1) / number
    off = np.where(cohort.used, gaps - mean[:, None], 0.0)
    return np.column_stack([mean, np.sqrt((off**2).sum(axis=1) / number), slots])
