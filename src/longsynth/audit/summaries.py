"""Summaries: one row of numbers a patient, for classifiers, correlations and distances.

All on public scales: values in [-1, 1] of their bounds, gaps and slopes per `max_gap`. Unordered
levels have no scale: each is a number of its own, the share of readings at it. What is static is
one reading.
"""

import numpy as np

from longsynth.audit.comparisons.levels import level_codes, level_count
from longsynth.audit.view import View, inside, view
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats, Ints

PER_NUMBER = ("mean", "last", "min", "max", "slope", "missing", "count")  # over time
PER_PATIENT = ("gap_mean", "gap_sd", "slots")
STEEPEST = 2.0  # from one bound to the other within one max_gap


def feature_names(schema: Schema) -> list[str]:
    """Name the columns of `summaries`, variable by variable."""
    names = [f"{v.name}_{what}" for v in schema.variables for what in _features(v)]
    return [*names, *PER_PATIENT]


def summaries(schema: Schema, cohort: Trajectories) -> Floats:
    """Return (n, features), never NaN: what was never seen is the public midpoint, 0."""
    seen_as, values = view(schema, cohort), inside(schema, cohort)
    parts = _by_variable(schema, seen_as)
    columns: list[Floats] = []
    for v, variable in enumerate(schema.variables):
        named = ["mean", "missing"] if variable.static else list(PER_NUMBER)
        if variable.kind == "nominal":
            columns += _levels(variable, values[:, :, v], seen_as.seen[:, :, v])
            named = ["missing"] if variable.static else ["missing", "count"]
        columns += [parts[what][:, v] for what in named]
    return np.column_stack([*columns, _by_patient(schema, seen_as)])


def columns_of(schema: Schema, variable: int) -> slice:
    """Which columns of `summaries` speak of one variable."""
    widths = [len(_features(v)) for v in schema.variables[: variable + 1]]
    return slice(sum(widths[:-1]), sum(widths))


def _features(variable: Variable) -> list[str]:
    levels = variable.levels or ()
    match variable.kind, variable.static:
        case "nominal", True:
            return [*(f"is_{level}" for level in levels), "missing"]
        case "nominal", False:
            shares = [f"{what}_{level}" for what in ("share", "last") for level in levels]
            return [*shares, "missing", "count"]
        case _, True:
            return ["value", "missing"]
    return list(PER_NUMBER)


def _levels(variable: Variable, values: Floats, seen: Bools) -> list[Floats]:
    """The share of readings at each level, and over time also which level was the last."""
    code = np.where(seen, level_codes(variable, values), -1)  # (n, T)
    number = np.maximum(seen.sum(axis=1), 1)
    last = np.take_along_axis(code, _last_seen(seen)[:, None], axis=1)[:, 0]
    levels = range(level_count(variable))
    shares = [(code == level).sum(axis=1) / number for level in levels]
    ends = [] if variable.static else [(last == level).astype(np.float64) for level in levels]
    return shares + ends


def _by_variable(schema: Schema, cohort: View) -> dict[str, Floats]:
    """What holds of numbers, (n, V) each; for unordered levels only the last two mean anything."""
    count = cohort.seen.sum(axis=1).astype(np.float64)  # (n, V)
    some = count > 0
    cells = np.where(schema.layout.static, 1, cohort.used.sum(axis=1)[:, None])
    lowest = np.where(cohort.seen, cohort.values, np.inf).min(axis=1)
    highest = np.where(cohort.seen, cohort.values, -np.inf).max(axis=1)
    return {
        "mean": cohort.values.sum(axis=1) / np.maximum(count, 1),
        "last": np.take_along_axis(cohort.values, _last_seen(cohort.seen)[:, None], axis=1)[:, 0],
        "min": np.where(some, lowest, 0.0),
        "max": np.where(some, highest, 0.0),
        "slope": _slope(schema, cohort, count),
        "missing": np.where(cells > 0, 1 - count / np.maximum(cells, 1), 1.0),
        "count": count,
    }


def _last_seen(seen: Bools) -> Ints:
    """The last slot with a reading, or the last slot."""
    return np.asarray(seen.shape[1] - 1 - np.argmax(seen[:, ::-1], axis=1))


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
