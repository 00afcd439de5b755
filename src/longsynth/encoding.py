"""A patient's bounded integer features (eq:condition, eq:encoding).

Whatever a record holds, NaN and infinities included, its rows end inside their radii: a value
that is not finite is not observed, a wild one is clipped, a long row is scaled back. Each row
depends on its own patient alone. The privacy core checks the radii again on what it sums.
"""

from math import sqrt

import numpy as np

from longsynth.records import Bools, Cohort, Floats, Ints
from longsynth.scaling import Scaling
from longsynth.schema import Schema, stratum_of


def strata(batch: Cohort, schema: Schema) -> Ints:
    """(n,): each patient's stratum of site, group and event; a label out of range is the first."""
    labels = (batch.site, len(schema.sites)), (batch.group, 2), (batch.event, 2)
    return stratum_of(*(np.where((x >= 0) & (x < levels), x, 0) for x, levels in labels))


def seen(batch: Cohort) -> Bools:
    """(n, T, V): what counts as observed: recorded, finite, and inside the patient's length."""
    slots = np.arange(batch.gaps.shape[1])
    inside = (slots < batch.length[:, None])[:, :, None]
    return batch.observed & np.isfinite(batch.values) & inside


def encoded_values(batch: Cohort, scaling: Scaling) -> Floats:
    """z (n, T·V) in [-1, 1], missing entries at the public midpoint 0, before clipping to L."""
    observed = seen(batch)
    z = scaling.encode(np.where(observed, batch.values, 0.0))
    return np.where(observed, z, 0.0).reshape(batch.patients, -1)


def values(batch: Cohort, scaling: Scaling, *, grid: int, squared: int) -> Ints:
    """z̄ (n, T·V) on the integer grid with norm² at most `squared`."""
    return hold(encoded_values(batch, scaling) * grid, squared)


def missing(batch: Cohort) -> Ints:
    """2U - 1 (n, T·V): +1 missing, -1 observed. Centred, a mask has half the norm."""
    return np.where(seen(batch), -1, 1).reshape(batch.patients, -1).astype(np.int64)


def log_gaps(batch: Cohort, scaling: Scaling) -> Floats:
    """r (n, T) in [-1, 1]; a slot past the patient's length has no gap and sits at 0."""
    slots = np.arange(batch.gaps.shape[1])
    known = np.isfinite(batch.gaps) & (slots < batch.length[:, None])
    return np.where(known, scaling.encode_gaps(np.where(known, batch.gaps, 0.0)), 0.0)


def one_hot(cell: Ints, cells: int) -> Ints:
    """(n, cells): 1 in each patient's cell."""
    return np.asarray(cell[:, None] == np.arange(cells), np.int64)


def on_grid(features: Floats, grid: int) -> Ints:
    return np.rint(features * grid).astype(np.int64)


def hold(rows: Floats, squared: int) -> Ints:
    """Round finite rows to integers; scale back those that leave the ball of radius² `squared`."""
    k = np.rint(rows).astype(np.int64)
    outside = (k * k).sum(axis=1) > squared
    if outside.any():
        long = rows[outside]
        room = sqrt(squared) - sqrt(rows.shape[1]) / 2 - 1  # rounding cannot carry a row back out
        norms = np.sqrt((long * long).sum(axis=1, keepdims=True))
        k[outside] = np.rint(long * (max(room, 0.0) / norms)).astype(np.int64)
    return k
