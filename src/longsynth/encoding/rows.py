"""A patient's bounded integer features (eq:condition, eq:encoding).

Whatever a record holds, NaN and infinities included, its rows end inside their radii: a value
that is not finite is not observed, a wild one is clipped, a long row is scaled back. Each row
depends on its own patient alone. The privacy core checks the radii again on what it sums.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.encoding.scaling import scaling_of
from longsynth.privacy.sums import Rows
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema, stratum_of
from longsynth.system.arrays import Bools, Floats, Ints

CELLS = 1 << 18  # encoded at a time: what is made on the way stays in a processor's cache
TOGETHER = 64  # patients, of whom the scaling makes one long row


def strata(batch: Cohort, schema: Schema) -> Ints:
    """(n,): each patient's stratum of site, group and event; a label out of range is the first."""
    labels = (batch.site, len(schema.sites)), (batch.group, 2), (batch.event, 2)
    return stratum_of(*(np.where((x >= 0) & (x < levels), x, 0) for x, levels in labels))


def in_use(batch: Cohort, schema: Schema) -> Bools:
    """(n, T, V): the cells a patient has: the slots up to the length, and what is static.

    Beyond lies padding, where nothing is missing as nothing was to come. If the schema says that
    all slots are used, then a shorter record is one with values missing.
    """
    if schema.length == "variable":
        return schema.layout.up_to(batch.length)
    return schema.layout.up_to(np.full(batch.patients, schema.slots))


def seen(batch: Cohort, schema: Schema) -> Bools:
    """(n, T, V): what counts as observed: recorded, finite, and inside the patient's length."""
    found = np.isfinite(batch.values)
    found &= batch.observed
    if any(schema.layout.static) or _some_short(batch, schema):
        found &= schema.layout.up_to(batch.length)
    return found


def _some_short(batch: Cohort, schema: Schema) -> bool:
    return bool((batch.length < schema.slots).any())


def columns_in_use(batch: Cohort, schema: Schema) -> Bools:
    """(n, D): `in_use` for each column of encoded values."""
    return schema.layout.value_rows(scaling_of(schema).per_channel(in_use(batch, schema)))


def lengths(batch: Cohort, schema: Schema) -> Ints:
    """(n,): slots in use, between none and all."""
    return np.clip(batch.length, 0, schema.slots)


def encoded_values(batch: Cohort, schema: Schema, observed: Bools | None = None) -> Floats:
    """z (n, D) in [-1, 1] before clipping to L; missing entries at the public midpoint 0, or by
    the schema's `missing_values` between the patient's own.

    `observed` is what `seen` found, for those who know it already.
    """
    observed = seen(batch, schema) if observed is None else observed
    z = scaling_of(schema).encode(batch.values, observed)
    if schema.constants.missing_values == "interpolated":
        z = _interpolated(z, observed, batch, schema)
    return schema.layout.value_rows(z)


def _interpolated(z: Floats, observed: Bools, batch: Cohort, schema: Schema) -> Floats:
    """z (n, T, channels) with what is missing on the line in time between the nearest values that
    were observed before and after; at the ends the nearest, and 0 if there is none or in padding.

    Observed values have been clipped, and what lies between two numbers is no further out. Gaps
    between slots are clipped too; where no time passes, slots count.
    """
    last, slot = schema.slots - 1, np.arange(schema.slots)[:, None]
    before = np.maximum.accumulate(np.where(observed, slot, -1), axis=1)
    after = np.minimum.accumulate(np.where(observed, slot, last + 1)[:, ::-1], axis=1)[:, ::-1]
    left = np.clip(np.where(before < 0, after, before), 0, last)
    right = np.clip(np.where(after > last, before, after), 0, last)
    known = np.isfinite(batch.gaps)
    gaps = np.clip(np.where(known, batch.gaps, 0.0), 0.0, schema.max_gap)
    time = np.broadcast_to(np.cumsum(gaps, axis=1)[:, :, None], observed.shape)
    start, end = (np.take_along_axis(time, place, axis=1) for place in (left, right))
    part = (slot - left) / np.maximum(right - left, 1)
    np.divide(time - start, end - start, out=part, where=end > start)
    part = np.where(right > left, part, 0.0)
    scaling = scaling_of(schema)
    left, right, part = (scaling.per_channel(found) for found in (left, right, part))
    low, high = (np.take_along_axis(z, place, axis=1) for place in (left, right))
    return np.where(scaling.per_channel(in_use(batch, schema)), low + part * (high - low), 0.0)


def values(
    batch: Cohort, schema: Schema, *, grid: int, squared: int, observed: Bools | None = None
) -> Rows:
    """z̄ (n, D) on the integer grid with norm² at most `squared`."""
    observed = seen(batch, schema) if observed is None else observed
    found = np.empty((batch.patients, schema.width), _whole(squared))
    step = max(CELLS // schema.width // TOGETHER, 1) * TOGETHER
    for start in range(0, batch.patients, step):
        block = slice(start, start + step)
        z = encoded_values(batch.take(block), schema, observed[block])
        hold(z, squared, grid, out=found[block])
    return found


def mask_grid(schema: Schema) -> int:
    """Integers in one unit of a mask: centred, it goes from -1 to 1."""
    return 2 if schema.constants.mask_coding == "centred" else 1


def missing(batch: Cohort, schema: Schema, observed: Bools | None = None) -> Rows:
    """2U - 1 (n, cells): +1 missing, -1 observed, 0 for padding. Centred, a mask has half the
    norm. By the schema's `mask_coding` it is U: 1 missing, 0 observed, 0 for padding."""
    observed = seen(batch, schema) if observed is None else observed
    marks = 1 - mask_grid(schema) * observed.view(np.int8)
    if schema.length == "variable" or any(schema.layout.static):
        marks *= in_use(batch, schema).view(np.int8)
    return schema.layout.cell_rows(marks)


def log_gaps(batch: Cohort, schema: Schema) -> tuple[Floats, Floats]:
    """r and r² - ½ (n, T), within [-1, 1] and [-½, ½]; 0 for padding, which has no gap."""
    r, unknown = scaling_of(schema).encode_gaps(batch.gaps), ~np.isfinite(batch.gaps)
    padded = None
    if _some_short(batch, schema):
        padded = np.arange(schema.slots) >= batch.length[:, None]
        unknown |= padded
    if unknown.any():
        np.copyto(r, 0.0, where=unknown)
    squares = r * r
    squares -= 0.5
    if padded is not None and schema.length == "variable":
        np.copyto(squares, 0.0, where=padded)
    return r, squares


def one_hot(cell: Ints, cells: int) -> Rows:
    """(n, cells): 1 in each patient's cell."""
    return np.asarray(cell[:, None] == np.arange(cells)).view(np.int8)


def on_grid(features: Floats, grid: int) -> Rows:
    """Features within [-1, 1] as integers."""
    scaled = features * grid
    return np.rint(scaled, out=scaled).astype(np.int32)


def hold(
    rows: Floats | NDArray[np.float32], squared: int, scale: float = 1.0, out: Rows | None = None
) -> Rows:
    """Round finite rows times `scale` to integers; scale back further those that leave the ball of
    radius² `squared`."""
    radius, width = sqrt(squared), rows.shape[1]
    # How far a norm may be off: to round to integers moves a row by half the root of its width at
    # most, and every square and product before is rounded by its type.
    rounded = radius * (width + 4) * float(np.finfo(rows.dtype).eps) / 2
    off = sqrt(width) / 2 + rounded + 1
    norms = scale * np.sqrt(np.vecdot(rows, rows), dtype=np.float64)
    outside = norms > radius + off
    near = np.flatnonzero(~outside & (norms > radius - off))
    if len(near):
        k = np.rint(rows[near] * scale).astype(np.int64)  # whose squares are exact
        outside[near] = np.einsum("ij,ij->i", k, k) > squared
    factor = np.full(len(rows), scale, np.float64)
    room = max(radius - off, 0.0)  # so little that rounding cannot carry a row back out
    np.divide(scale * room, norms, out=factor, where=outside)
    scaled = np.multiply(rows, factor.astype(rows.dtype)[:, None])
    held = np.empty(rows.shape, _whole(squared)) if out is None else out
    held[:] = np.rint(scaled, out=scaled)
    return held


def _whole(squared: int) -> type[np.signedinteger[Any]]:
    """A type that holds every entry of a row of this norm²."""
    return np.int32 if squared < 1 << 61 else np.int64
