"""Scaling: public maps between clinical units and [-1, 1] (eq:encoding), both ways.

A nominal variable has no scale: each of its levels is a channel that holds 1 or 0, and the largest
channel names the level.
"""

from fractions import Fraction
from math import ceil, gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats

FARTHEST_GAP = 1e12  # hours: sums of gaps stay finite
REFERENCE_SCALES = 3.0  # `encoding: reference` maps centre ± three scales to ±1


class _Tiled(NamedTuple):
    """Rows of the scaling, once for each slot."""

    middle: Floats
    half: Floats
    per_half: Floats  # its reciprocal: to divide would take twice as long
    bounds: Floats  # (2, …)
    ends: Floats  # (2, …)


class Scaling:
    """What the schema alone says about units. The last axis is V in clinical units, and the
    channels once encoded."""

    def __init__(self, schema: Schema) -> None:
        variables = schema.variables
        self.layout = schema.layout
        channels = np.array(self.layout.channels)
        self._first = np.concatenate([[0], np.cumsum(channels)[:-1]])  # channel of each variable
        self._nominal = [i for i, v in enumerate(variables) if v.kind == "nominal"]
        self._bounds = np.array([v.bounds for v in variables]).T  # (2, V)
        self._log = np.array([v.transform == "log" for v in variables])
        self._whole = np.array([v.kind != "continuous" for v in variables])
        self._step = np.array(schema.steps)
        low, high = self._transform(self._bounds)
        if schema.constants.encoding == "reference":
            for v, variable in enumerate(variables):
                if variable.centre is not None and variable.scale is not None:
                    low[v], high[v] = self._reference(variable.centre, variable.scale, v)
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        # What the bounds become: to clip there is to clip at the bounds, as all steps are monotone.
        ends = (self._transform(self._bounds) - self._middle) / self._half
        near = np.abs(np.abs(ends) - 1) < 1e-12
        self._ends = np.clip(np.where(near, np.sign(ends), ends), -1.0, 1.0)
        self._longest = np.log1p(schema.max_gap)
        self._max_gap = schema.max_gap
        self._visits, self._starts_at_zero = schema.visits, schema.time.first == "zero"
        self._time, self._shortest = schema.time, min(schema.slot_rule.merge, schema.max_gap)
        self._last: tuple[int, _Tiled] | None = None

    def unit(self, values: Floats, known: Bools | None = None) -> Floats:
        """Return values (…, V) in [-1, 1], by position where there are levels; clipped first to
        the public bounds. A value that is not known becomes 0."""
        rows, together = self._long_rows(values)
        tiled = self._tiled(together)
        with np.errstate(over="ignore"):  # no warning may reveal a wild value; it is clipped below
            unit = rows - tiled.middle
        for v in np.flatnonzero(self._log):
            every = slice(v, None, len(self._log))
            column = np.clip(rows[:, every], *self._bounds[:, v])
            np.subtract(np.log(column, out=column), self._middle[v], out=unit[:, every])
        if known is not None:  # all bits of a number, or none: a product with 0 would keep a NaN
            there = np.negative(known.reshape(unit.shape).view(np.int8)).astype(np.int64)
            np.bitwise_and(unit.view(np.int64), there, out=unit.view(np.int64))
        with np.errstate(over="ignore"):
            unit *= tiled.per_half
        if (self._ends[0] == -1).all() and (self._ends[1] == 1).all():
            np.clip(unit, -1.0, 1.0, out=unit)
        else:
            np.maximum(unit, tiled.ends[0], out=unit)
            np.minimum(unit, tiled.ends[1], out=unit)
        return unit.reshape(values.shape)

    def encode(self, values: Floats, known: Bools | None = None) -> Floats:
        """Return values in [-1, 1], levels of nominal variables in channels of their own. A value
        that is not known becomes 0."""
        encoded = self.unit(values, known)
        if not self._nominal:
            return encoded
        encoded = self.per_channel(encoded)
        for v in self._nominal:
            level = np.rint(np.clip(values[..., v, None], *self._bounds[:, v]))
            channels = level == np.arange(self.layout.channels[v])
            encoded[..., self._channels(v)] = (
                channels if known is None else channels & known[..., v, None]
            )
        return encoded

    def decode(self, encoded: Floats) -> Floats:
        """Return clinical units inside the public bounds; levels as whole numbers."""
        if not self._nominal:
            return self.from_unit(encoded)
        unit = np.take(encoded, self._first, axis=-1)
        for v in self._nominal:
            level = encoded[..., self._channels(v)].argmax(axis=-1)
            unit[..., v] = (level - self._middle[v]) / self._half[v]
        return self.from_unit(unit)

    def from_unit(self, unit: Floats) -> Floats:
        """The inverse of `unit`, for any number."""
        rows, together = self._long_rows(unit)
        tiled = self._tiled(together)
        rows = rows * tiled.half
        rows += tiled.middle
        for v in np.flatnonzero(self._log | self._whole | (self._step > 0)):
            column = rows[:, v :: len(self._log)]
            if self._log[v]:
                with np.errstate(over="ignore"):  # may overflow: clipped at the bound below
                    np.exp(column, out=column)
            if self._whole[v]:
                np.rint(column, out=column)
            if step := self._step[v]:  # in steps from zero, as a device or a laboratory records
                column[:] = np.round(np.rint(column / step) * step, 12)
        np.maximum(rows, tiled.bounds[0], out=rows)
        np.minimum(rows, tiled.bounds[1], out=rows)
        return rows.reshape(unit.shape)

    def per_channel(self, of_variable: NDArray[Any]) -> NDArray[Any]:
        """Repeat an entry per variable for each of its channels."""
        if not self._nominal:
            return of_variable
        return np.repeat(of_variable, self.layout.channels, axis=-1)

    def encode_gaps(self, gaps: Floats) -> Floats:
        """Return gaps (n, T) in [-1, 1]: their logarithm or, if there is a plan, how far each visit
        is from its planned time, in windows."""
        if self._visits is not None:
            known = np.clip(np.where(np.isfinite(gaps), gaps, 0.0), 0.0, FARTHEST_GAP)
            late = (np.cumsum(known, axis=1) - self._visits.hours) / self._visits.window_hours
            return np.clip(late, -1.0, 1.0)
        encoded = np.clip(gaps, 0.0, self._max_gap)
        np.log1p(encoded, out=encoded)
        encoded *= 2
        encoded /= self._longest
        encoded -= 1
        return encoded

    def decode_gaps(self, encoded: Floats) -> Floats:
        if self._visits is not None:
            late = np.clip(encoded, -1.0, 1.0) * self._visits.window_hours
            times = np.maximum(self._visits.hours + late, 0.0)
            if self._starts_at_zero:
                times[:, 0] = 0.0
            return np.diff(times, axis=1, prepend=0.0)
        return np.asarray(np.expm1((np.clip(encoded, -1.0, 1.0) + 1) / 2 * self._longest))

    @property
    def shortest(self) -> float:
        """The encoded gap between two slots that lie as close as the slot rule lets them."""
        return -1.0 if self._visits else float(self.encode_gaps(np.array([self._shortest]))[0])

    def usual_gap(self, scale: float) -> tuple[float, float]:
        """Return the public centre and scale of gaps, encoded; without them the middle and this
        scale."""
        time = self._time
        if self._visits or time.gap_centre is None or time.gap_scale is None:
            return 0.0, scale
        places = time.gap_centre + time.gap_scale * np.array([-1.0, 0.0, 1.0])
        low, middle, high = self.encode_gaps(places)
        return float(middle), max(float(high - low) / 2, 1e-6)

    def half_ranges(self) -> Floats:
        """(V,): what one encoded unit is worth in clinical units, or in their logarithm where that
        is the scale."""
        return np.array(self._half)

    def reference_in_unit(self, v: int, centre: float, scale: float) -> tuple[float, float]:
        """Return a public centre and scale of a variable on [-1, 1]."""
        low, high = self._reference(centre, scale, v)
        middle = ((low + high) / 2 - self._middle[v]) / self._half[v]
        return float(middle), float((high - low) / (2 * REFERENCE_SCALES) / self._half[v])

    def _long_rows(self, values: Floats) -> tuple[Floats, int]:
        """Many records side by side, and how many slots that makes: numpy is slow where the last
        axis is short."""
        together = values.shape[-2] * gcd(len(values), 64) if values.ndim > 2 else 1
        return values.reshape(-1, together * len(self._log)), together

    def _tiled(self, together: int) -> "_Tiled":
        last = self._last  # threads share a scaling
        if last is None or last[0] != together:
            rows = self._middle, self._half, 1 / self._half, self._bounds, self._ends
            self._last = last = together, _Tiled(*(np.tile(x, together) for x in rows))
        return last[1]

    def _channels(self, v: int) -> slice:
        return slice(self._first[v], self._first[v] + self.layout.channels[v])

    def _transform(self, values: Floats) -> Floats:
        return np.where(self._log, np.log(np.where(self._log, values, 1.0)), values)

    def _reference(self, centre: float, scale: float, v: int) -> tuple[float, float]:
        """Three public scales either side of the centre; on a log scale, the same in ratios."""
        reach = REFERENCE_SCALES * scale
        if self._log[v]:
            ratio = np.log1p(reach / centre)
            return float(np.log(centre) - ratio), float(np.log(centre) + ratio)
        return centre - reach, centre + reach


def as_stated(gaps: Floats, schema: Schema) -> Floats:
    """Return generated gaps (n, T) that agree with the public facts: a first row at time zero,
    visits within the windows of the plan, and otherwise times in steps of their resolution and
    slots no closer than the slot rule lets them be."""
    if schema.visits is not None:
        scaling = Scaling(schema)
        return scaling.decode_gaps(scaling.encode_gaps(gaps))
    step, shortest = schema.time.resolution, min(schema.slot_rule.merge, schema.max_gap)
    if step:
        gaps, shortest = np.round(np.rint(gaps / step) * step, 12), ceil(shortest / step) * step
    gaps = np.concatenate([gaps[:, :1], np.maximum(gaps[:, 1:], shortest)], axis=1)
    if schema.time.first == "zero":
        return gaps * (np.arange(schema.slots) > 0)
    return gaps


def grid_of(schema: Schema) -> int:
    """Integers in one encoded unit."""
    return 1 << schema.resolved_constants.grid_bits


def mask_grid(schema: Schema) -> int:
    """Integers in one unit of a mask: centred, it goes from -1 to 1."""
    return 2 if schema.constants.mask_coding == "centred" else 1


def value_radius_squared(schema: Schema) -> int:
    """R²: the clip radius L on the integer grid."""
    return max(int((Fraction(schema.resolved_constants.clip_radius) * grid_of(schema)) ** 2), 1)
