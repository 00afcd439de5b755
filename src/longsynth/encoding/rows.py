"""A patient's bounded integer rows (eq:condition, eq:encoding).

Whatever a record holds, NaN and infinities included, its rows end inside their radii: a value that
is not finite counts as missing, a value out of bounds is clipped, and a long row is clipped to its
radius. Each row depends on its own patient alone. The privacy core checks the radii again.
"""

from collections.abc import Iterator
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.encoding.record import (
    counted_codes,
    in_use,
    lengths,
    observed_cells,
    one_hot,
    some_short,
    strata,
)
from longsynth.encoding.scaling import Scaling, grid_of, mask_grid, value_radius_squared
from longsynth.privacy.sums import Rows
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema, condition_matrix, counted_tables
from longsynth.system.arrays import Bools, Floats, Ints

CELLS = 1 << 18  # encoded at a time, so that intermediate arrays stay in a processor's cache
TOGETHER = 64  # patients of whom the scaling makes one long row


class Encoder:
    """What a pass needs to encode batches. Build it once per pass."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.scaling = Scaling(schema)
        self.conditions = condition_matrix(schema)  # c (S, p)
        self.tables = counted_tables(schema)  # (S, cells)
        self.grid = grid_of(schema)
        self.radius_squared = value_radius_squared(schema)

    def __call__(self, batch: Cohort) -> "Encoded":
        return Encoded(batch, self)


class Encoded:
    """One batch of patients as bounded numbers. A part is computed when a line first asks."""

    def __init__(self, batch: Cohort, encoder: Encoder) -> None:
        self.batch, self.encoder, self.schema = batch, encoder, encoder.schema

    @cached_property
    def stratum(self) -> Ints:
        """(n,)"""
        return strata(self.batch, self.schema)

    @cached_property
    def event(self) -> Ints:
        """(n,)"""
        return np.asarray(self.schema.strata[self.stratum, 2])

    @cached_property
    def strata(self) -> Rows:
        """(n, S): 1 in each patient's stratum."""
        return one_hot(self.stratum, len(self.schema.strata))

    @cached_property
    def conditions(self) -> Ints:
        """c (n, p)"""
        return self.encoder.conditions.take(self.stratum, axis=0)

    @cached_property
    def ones(self) -> Ints:
        """(n, 1): the left side of a sum that knows no condition."""
        return np.ones((self.batch.patients, 1), np.int64)

    @cached_property
    def length(self) -> Ints:
        """(n,): slots in use."""
        return lengths(self.batch, self.schema)

    @cached_property
    def in_use(self) -> Bools:
        """(n, T, V): the cells that are not padding."""
        return in_use(self.batch, self.schema)

    @cached_property
    def columns_in_use(self) -> Bools:
        """(n, D): `in_use` for each column of encoded values."""
        return self.schema.layout.value_rows(self.encoder.scaling.per_channel(self.in_use))

    @cached_property
    def observed(self) -> Bools:
        """(n, T, V)"""
        return observed_cells(self.batch, self.schema)

    @cached_property
    def values(self) -> Rows:
        """z̄ (n, D) on the integer grid, each row clipped to the radius L."""
        squared, patients = self.encoder.radius_squared, self.batch.patients
        rows = np.empty((patients, self.schema.width), _integer_type(squared))
        for block, z in self._blocks():
            clip(z, squared, self.encoder.grid, out=rows[block])
        return rows

    @property
    def norms(self) -> Floats:
        """(n,): of z before clipping."""
        of_blocks = [np.sqrt(np.vecdot(z, z)) for _, z in self._blocks()]
        return np.concatenate([np.zeros(0), *of_blocks])

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """z of some patients at a time."""
        step = max(CELLS // self.schema.width // TOGETHER, 1) * TOGETHER
        for start in range(0, self.batch.patients, step):
            block = slice(start, start + step)
            z = encoded_values(self.batch.take(block), self.encoder, self.observed[block])
            yield block, z

    @cached_property
    def codes(self) -> Bools:
        """(n, T, C): the codes that count."""
        return counted_codes(self.batch, self.schema)

    @cached_property
    def ever_codes(self) -> Rows:
        """(n, C): 1 for each code that a patient ever has."""
        return np.asarray(self.codes.any(axis=1)).view(np.int8)

    @cached_property
    def missing(self) -> Rows:
        """2U - 1 (n, cells): +1 missing, -1 observed, 0 padding. Centred, a mask has half the
        norm. By the schema's `mask_coding` it is U: 1 missing, 0 observed, 0 padding."""
        marks = 1 - mask_grid(self.schema) * self.observed.view(np.int8)
        if self.schema.length == "variable" or any(self.schema.layout.static):
            marks *= self.in_use.view(np.int8)
        return self.schema.layout.cell_rows(marks)

    @cached_property
    def log_gaps(self) -> tuple[Floats, Floats]:
        """r and r² - ½ (n, T), within [-1, 1] and [-½, ½]; 0 for padding, which has no gap."""
        batch, schema = self.batch, self.schema
        r, unknown = self.encoder.scaling.encode_gaps(batch.gaps), ~np.isfinite(batch.gaps)
        padded = None
        if some_short(batch, schema):
            padded = np.arange(schema.slots) >= batch.length[:, None]
            unknown |= padded
        if unknown.any():
            np.copyto(r, 0.0, where=unknown)
        squares = r * r
        squares -= 0.5
        if padded is not None and schema.length == "variable":
            np.copyto(squares, 0.0, where=padded)
        return r, squares

    @cached_property
    def gaps(self) -> Rows:
        """(n, T): r on the integer grid."""
        return on_grid(self.log_gaps[0], self.encoder.grid)

    @cached_property
    def gap_squares(self) -> Rows:
        """(n, T): r² - ½ on the integer grid."""
        return on_grid(self.log_gaps[1], self.encoder.grid)


def encoded_values(batch: Cohort, encoder: Encoder, observed: Bools) -> Floats:
    """z (n, D) in [-1, 1] before clipping to L. A missing entry is at the public midpoint 0, or by
    the schema's `missing_values` between the patient's own values."""
    schema = encoder.schema
    z = encoder.scaling.encode(batch.values, observed)
    if schema.constants.missing_values == "interpolated":
        z = _interpolated(z, observed, batch, encoder)
    return schema.layout.value_rows(z)


def _interpolated(z: Floats, observed: Bools, batch: Cohort, encoder: Encoder) -> Floats:
    """z (n, T, channels), where a missing value lies on the line in time between the nearest values
    observed before and after; at the ends it is the nearest, and 0 if there is none or in padding.

    Observed values have been clipped, and a point between two numbers is no further out. Gaps
    between slots are clipped too; where no time passes, slots count.
    """
    schema, scaling = encoder.schema, encoder.scaling
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
    left, right, part = (scaling.per_channel(of_variable) for of_variable in (left, right, part))
    low, high = (np.take_along_axis(z, place, axis=1) for place in (left, right))
    return np.where(scaling.per_channel(in_use(batch, schema)), low + part * (high - low), 0.0)


def on_grid(features: Floats, grid: int) -> Rows:
    """Features within [-1, 1] as integers."""
    scaled = features * grid
    return np.rint(scaled, out=scaled).astype(np.int32)


def clip(
    rows: Floats | NDArray[np.float32], squared: int, scale: float = 1.0, out: Rows | None = None
) -> Rows:
    """Round finite rows times `scale` to integers, and clip those outside the ball of radius²
    `squared`."""
    radius, width = sqrt(squared), rows.shape[1]
    # How far a norm may be off: rounding to integers moves a row by at most half the root of its
    # width, and every square and product before that is rounded by its type.
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
    clipped = np.empty(rows.shape, _integer_type(squared)) if out is None else out
    clipped[:] = np.rint(scaled, out=scaled)
    return clipped


def _integer_type(squared: int) -> type[np.signedinteger[Any]]:
    """A type that holds every entry of a row of this norm²."""
    return np.int32 if squared < 1 << 61 else np.int64
