"""View: real and synthetic patients on one public scale, so that all metrics use the same values;
and summaries of each record, for classifiers, correlations and distances.

Values are in [-1, 1] of their bounds, gaps and slopes per `max_gap`. Unordered levels have no
scale: each is a number of its own, the share of readings at it. A static variable is one reading.
"""

from dataclasses import dataclass

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

MOST_LEVELS = 50  # longer scales are grouped evenly, so that tables stay small
PER_NUMBER = ("mean", "last", "min", "max", "slope", "missing", "count")  # over time
PER_PATIENT = ("gap_mean", "gap_sd", "slots")
STEEPEST = 2.0  # from one bound to the other within one max_gap


@dataclass(frozen=True, slots=True)
class View:
    """Values in [-1, 1] of the public bounds, 0 (the midpoint) where a value is missing."""

    values: Floats  # (n, T, V)
    observed: Bools  # (n, T, V): observed, finite and within the patient's length
    used: Bools  # (n, T)
    gaps: Floats  # (n, T), hours, within [0, max_gap]; 0 where not used
    time: Floats  # (n, T), hours since time zero

    __repr__ = sizes_only


def view(schema: Schema, cohort: Trajectories) -> View:
    """Bounds set the scale whatever encoding a method used: two methods stay comparable."""
    used = np.arange(schema.slots) < cohort.length[:, None]
    observed = cohort.observed & schema.layout.up_to(cohort.length) & np.isfinite(cohort.values)
    lowest = np.array([v.bounds[0] for v in schema.variables])  # any value that can be encoded
    encoded = _by_bounds(schema).unit(np.where(observed, clipped(schema, cohort), lowest))
    gaps = np.clip(np.nan_to_num(np.where(used, cohort.gaps, 0.0)), 0.0, schema.max_gap)
    return View(np.where(observed, encoded, 0.0), observed, used, gaps, np.cumsum(gaps, axis=1))


def weights(cohort: Trajectories) -> Floats:
    """A synthetic patient's share of the population, mean 1; real patients count one each."""
    weight = getattr(cohort, "weight", None)
    if weight is None or not np.sum(weight) > 0:
        return np.ones(cohort.patients)
    return np.asarray(weight * (len(weight) / np.sum(weight)), dtype=np.float64)


def clipped(schema: Schema, cohort: Trajectories) -> Floats:
    """Values in clinical units within the public bounds; meaningless where one is missing.

    To the digits of a 32-bit number, as many files store them: 36.7 comes back from one as
    36.70000076, and a classifier would tell real from synthetic patients by that alone."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    values = np.clip(np.nan_to_num(cohort.values), low, high)
    return np.asarray(values.astype(np.float32), dtype=np.float64)


def summed(code: Ints, weight: Floats, codes: int) -> Floats:
    """Return the weight of each code from 0 to `codes` - 1."""
    return np.asarray(np.bincount(code, weight, codes), dtype=np.float64)


def _by_bounds(schema: Schema) -> Scaling:
    constants = schema.constants.model_copy(update={"encoding": "bounds"})
    return Scaling(schema.model_copy(update={"constants": constants}))


def categorical(schema: Schema) -> list[int]:
    """Positions of the variables that have levels."""
    return [v for v, variable in enumerate(schema.variables) if variable.kind != "continuous"]


def over_time(schema: Schema) -> list[int]:
    """Positions of the variables that are measured repeatedly."""
    return [v for v, variable in enumerate(schema.variables) if not variable.static]


def level_count(variable: Variable) -> int:
    if variable.kind == "nominal":  # neighbours in the list have nothing in common
        return variable.channels
    low, high = variable.bounds
    return int(min(high - low + 1, MOST_LEVELS))


def level_codes(variable: Variable, values: Floats) -> Ints:
    """Return whole codes from 0, below `level_count`, for values inside the bounds."""
    low, high = variable.bounds
    share = (np.rint(values) - low) / (high - low + 1)
    # the nudge keeps a level that division put just below its own boundary
    return np.clip(share * level_count(variable) + 1e-9, 0, level_count(variable) - 1).astype(
        np.int64
    )


def feature_names(schema: Schema) -> list[str]:
    """Name the columns of `summaries`, variable by variable."""
    names = [f"{v.name}_{what}" for v in schema.variables for what in _features(v)]
    return [*names, *PER_PATIENT]


def summaries(schema: Schema, cohort: Trajectories) -> Floats:
    """Return (n, features), never NaN: a variable without readings has the public midpoint, 0."""
    viewed, values = view(schema, cohort), clipped(schema, cohort)
    parts = _by_variable(schema, viewed)
    columns: list[Floats] = []
    for v, variable in enumerate(schema.variables):
        named = ["mean", "missing"] if variable.static else list(PER_NUMBER)
        if variable.kind == "nominal":
            columns += _levels(variable, values[:, :, v], viewed.observed[:, :, v])
            named = ["missing"] if variable.static else ["missing", "count"]
        columns += [parts[what][:, v] for what in named]
    return np.column_stack([*columns, _by_patient(schema, viewed)])


def columns_of(schema: Schema, variable: int) -> slice:
    """Which columns of `summaries` describe one variable."""
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


def _levels(variable: Variable, values: Floats, observed: Bools) -> list[Floats]:
    """The share of readings at each level and, for a variable over time, the last level."""
    code = np.where(observed, level_codes(variable, values), -1)  # (n, T)
    number = np.maximum(observed.sum(axis=1), 1)
    last = np.take_along_axis(code, _last_observed(observed)[:, None], axis=1)[:, 0]
    levels = range(level_count(variable))
    shares = [(code == level).sum(axis=1) / number for level in levels]
    ends = [] if variable.static else [(last == level).astype(np.float64) for level in levels]
    return shares + ends


def _by_variable(schema: Schema, cohort: View) -> dict[str, Floats]:
    """Summaries of numbers, (n, V) each; for unordered levels only the last two mean anything."""
    count = cohort.observed.sum(axis=1).astype(np.float64)  # (n, V)
    some = count > 0
    cells = np.where(schema.layout.static, 1, cohort.used.sum(axis=1)[:, None])
    lowest = np.where(cohort.observed, cohort.values, np.inf).min(axis=1)
    highest = np.where(cohort.observed, cohort.values, -np.inf).max(axis=1)
    last = _last_observed(cohort.observed)[:, None]
    return {
        "mean": cohort.values.sum(axis=1) / np.maximum(count, 1),
        "last": np.take_along_axis(cohort.values, last, axis=1)[:, 0],
        "min": np.where(some, lowest, 0.0),
        "max": np.where(some, highest, 0.0),
        "slope": _slope(schema, cohort, count),
        "missing": np.where(cells > 0, 1 - count / np.maximum(cells, 1), 1.0),
        "count": count,
    }


def _last_observed(observed: Bools) -> Ints:
    """The last slot with a reading, or the last slot."""
    return np.asarray(observed.shape[1] - 1 - np.argmax(observed[:, ::-1], axis=1))


def _slope(schema: Schema, cohort: View, count: Floats) -> Floats:
    """Least squares, clipped at `STEEPEST`: two readings a minute apart are no trend."""
    number = np.maximum(count, 1)[:, None]
    time = cohort.time[:, :, None] / schema.max_gap
    late = np.where(cohort.observed, time, 0.0)
    late = np.where(cohort.observed, late - late.sum(axis=1, keepdims=True) / number, 0.0)
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
