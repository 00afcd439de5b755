"""Scaling: public maps between clinical units and [-1, 1] (eq:encoding), both ways.

A nominal variable has no scale: each of its levels is a channel that holds 1 or 0, and the channel
that is largest names the level.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.schema import Schema

REFERENCE_SCALES = 3.0  # `encoding: reference` maps centre ± three scales to ±1

Floats = NDArray[np.float64]


class Scaling:
    """What the schema alone says about units: the last axis is V in clinical units, and the
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
        self._step = np.array([v.resolution or 0.0 for v in variables])
        low, high = self._transform(self._bounds)
        if schema.constants.encoding == "reference":
            for v, variable in enumerate(variables):
                if variable.centre is not None and variable.scale is not None:
                    low[v], high[v] = self._reference(variable.centre, variable.scale, v)
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        self._longest = np.log1p(schema.max_gap)
        self._max_gap = schema.max_gap

    def unit(self, values: Floats) -> Floats:
        """Return values (…, V) in [-1, 1], by position where there are levels; clipped first to
        the public bounds."""
        inside = self._transform(np.clip(values, *self._bounds))
        return np.asarray(np.clip((inside - self._middle) / self._half, -1.0, 1.0))

    def encode(self, values: Floats) -> Floats:
        """Return values in [-1, 1], levels of nominal variables in channels of their own."""
        encoded = self.unit(values)
        if not self._nominal:
            return encoded
        encoded = self.per_channel(encoded)
        for v in self._nominal:
            level = np.rint(np.clip(values[..., v, None], *self._bounds[:, v]))
            encoded[..., self._channels(v)] = level == np.arange(self.layout.channels[v])
        return encoded

    def decode(self, encoded: Floats) -> Floats:
        """Return clinical units inside the public bounds; levels as whole numbers."""
        if not self._nominal:
            return self.from_unit(encoded)
        plain = np.take(encoded, self._first, axis=-1)
        for v in self._nominal:
            level = encoded[..., self._channels(v)].argmax(axis=-1)
            plain[..., v] = (level - self._middle[v]) / self._half[v]
        return self.from_unit(plain)

    def from_unit(self, unit: Floats) -> Floats:
        """The inverse of `unit`, for any number."""
        raw = self._middle + unit * self._half
        with np.errstate(over="ignore"):  # what is beyond any number is cut at the bound below
            raw = np.where(self._log, np.exp(np.where(self._log, raw, 0.0)), raw)
        raw = np.where(self._whole, np.rint(raw), raw)
        if self._step.any():  # in steps from zero, as a device or a laboratory records
            step = np.where(self._step > 0, self._step, 1.0)
            raw = np.where(self._step > 0, np.round(np.rint(raw / step) * step, 12), raw)
        return np.asarray(np.clip(raw, *self._bounds))

    def per_channel(self, found: NDArray[Any]) -> NDArray[Any]:
        """Repeat what is said of a variable for each of its channels."""
        if not self._nominal:
            return found
        return np.repeat(found, self.layout.channels, axis=-1)

    def encode_gaps(self, gaps: Floats) -> Floats:
        return np.asarray(2 * np.log1p(np.clip(gaps, 0.0, self._max_gap)) / self._longest - 1)

    def decode_gaps(self, encoded: Floats) -> Floats:
        return np.asarray(np.expm1((np.clip(encoded, -1.0, 1.0) + 1) / 2 * self._longest))

    def half_ranges(self) -> Floats:
        """(V,): what one encoded unit is worth in clinical units, where the scale is linear."""
        return np.where(self._log, np.nan, self._half)

    def reference_in_unit(self, v: int, centre: float, scale: float) -> tuple[float, float]:
        """Return a public centre and scale of a variable on [-1, 1]."""
        low, high = self._reference(centre, scale, v)
        middle = ((low + high) / 2 - self._middle[v]) / self._half[v]
        return float(middle), float((high - low) / (2 * REFERENCE_SCALES) / self._half[v])

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
