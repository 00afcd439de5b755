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


def in_use(batch: Cohort, schema: Schema) -> Bools:
    """(n, T, V): the cells a patient has: the slots up to the length, and what is static.

    Beyond lies padding, where nothing is missing as nothing was to come. If the schema says that
    all slots are used, then a shorter record is one with values missing.
    """
    slots = np.arange(schema.slots)
    length = batch.length if schema.length == "variable" else np.full(batch.patients, schema.slots)
    used = (slots < length[:, None])[:, :, None]
    static = np.array(schema.layout.static)
    return np.asarray(np.where(static, slots[:, None] == 0, used))


def seen(batch: Cohort, schema: Schema) -> Bools:
    """(n, T, V): what counts as observed: recorded, finite, and inside the patient's length."""
    slots = np.arange(schema.slots)
    inside = (slots < batch.length[:, None])[:, :, None]
    if any(schema.layout.static):
        inside = np.where(schema.layout.static, slots[:, None] == 0, inside)
    return np.asarray(batch.observed & np.isfinite(batch.values) & inside)


def columns_in_use(batch: Cohort, schema: Schema) -> Bools:
    """(n, D): `in_use` for each column of encoded values."""
    return schema.layout.value_rows(Scaling(schema).per_channel(in_use(batch, schema)))


def lengths(batch: Cohort, schema: Schema) -> Ints:
    """(n,): slots in use, between none and all."""
    return np.clip(batch.length, 0, schema.slots)


def encoded_values(batch: Cohort, schema: Schema) -> Floats:
    """z (n, D) in [-1, 1], missing entries at the public midpoint 0, before clipping to L."""
    observed, scaling = seen(batch, schema), Scaling(schema)
    z = scaling.encode(np.where(observed, batch.values, 0.0))
    return schema.layout.value_rows(np.where(scaling.per_channel(observed), z, 0.0))


def values(batch: Cohort, schema: Schema, *, grid: int, squared: int) -> Ints:
    """z̄ (n, D) on the integer grid with norm² at most `squared`."""
    return hold(encoded_values(batch, schema) * grid, squared)


def missing(batch: Cohort, schema: Schema) -> Ints:
    """2U - 1 (n, cells): +1 missing, -1 observed, 0 for padding. Centred, a mask has half the
    norm."""
    marks = np.where(seen(batch, schema), -1, 1) * in_use(batch, schema)
    return schema.layout.cell_rows(marks.astype(np.int64))


def log_gaps(batch: Cohort, schema: Schema) -> tuple[Floats, Floats]:
    """r and r² - ½ (n, T), within [-1, 1] and [-½, ½]; 0 for padding, which has no gap."""
    slots, scaling = np.arange(schema.slots), Scaling(schema)
    known = np.isfinite(batch.gaps) & (slots < batch.length[:, None])
    r = np.where(known, scaling.encode_gaps(np.where(known, batch.gaps, 0.0)), 0.0)
    padding = (schema.length == "variable") & (slots >= batch.length[:, None])
    return r, np.where(padding, 0.0, r**2 - 0.5)


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
