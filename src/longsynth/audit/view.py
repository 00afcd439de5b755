"""View: real and synthetic patients on one public scale, so that every metric sees the same."""

from dataclasses import dataclass

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class View:
    """Values in [-1, 1] of the public bounds, 0 (the midpoint) where nothing was seen."""

    values: Floats  # (n, T, V)
    seen: Bools  # (n, T, V): observed, finite and within the patient's length
    used: Bools  # (n, T)
    gaps: Floats  # (n, T), hours, within [0, max_gap]; 0 where not used
    time: Floats  # (n, T), hours since time zero


def view(schema: Schema, cohort: Trajectories) -> View:
    """Bounds set the scale whatever encoding a method used: two methods stay comparable."""
    used = np.arange(schema.slots) < cohort.length[:, None]
    inside = schema.layout.up_to(cohort.length)
    seen = cohort.observed & inside & np.isfinite(cohort.values)
    lowest = np.array([v.bounds[0] for v in schema.variables])  # any value that can be encoded
    encoded = _by_bounds(schema).unit(np.where(seen, cohort.values, lowest))
    gaps = np.clip(np.nan_to_num(np.where(used, cohort.gaps, 0.0)), 0.0, schema.max_gap)
    return View(np.where(seen, encoded, 0.0), seen, used, gaps, np.cumsum(gaps, axis=1))


def weights(cohort: Trajectories) -> Floats:
    """A synthetic patient's share of the population, mean 1; real patients count one each."""
    found = getattr(cohort, "weight", None)
    if found is None or not np.sum(found) > 0:
        return np.ones(cohort.patients)
    return np.asarray(found * (len(found) / np.sum(found)), dtype=np.float64)


def inside(schema: Schema, cohort: Trajectories) -> Floats:
    """Values in clinical units within the public bounds; meaningless where nothing was seen."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    return np.asarray(np.clip(np.nan_to_num(cohort.values), low, high))


def summed(code: Ints, weight: Floats, codes: int) -> Floats:
    """Return the weight of each code from 0 to `codes` - 1."""
    return np.asarray(np.bincount(code, weight, codes), dtype=np.float64)


def _by_bounds(schema: Schema) -> Scaling:
    constants = schema.constants.model_copy(update={"encoding": "bounds"})
    return Scaling(schema.model_copy(update={"constants": constants}))
