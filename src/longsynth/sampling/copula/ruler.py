"""Ruler: public cells on the line from -1 to 1, and smooth features of the cell a value is in."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from longsynth.system.arrays import Floats, Ints

FINE = 256  # cells of a continuous measure; finer than any released detail
PLAIN_SCALE = 0.25  # of the half range, where the schema names no centre and scale
REACH = 1.5  # scales of the logistic curve: patients spread further than the public reference


@dataclass(frozen=True)
class Ruler:
    """Levels are cells of their own. A continuous measure has cells of equal chance under a
    logistic curve at its public centre and scale: fine where values are expected, coarse beyond."""

    levels: int | None = None  # None: continuous
    centre: float = 0.0
    scale: float = PLAIN_SCALE
    ordered: bool = True

    @property
    def cells(self) -> int:  # G
        return self.levels or FINE

    def cell(self, unit: Floats) -> Ints:
        """Return the cell of each number in [-1, 1], and one for any other or none."""
        if self.levels:
            place = np.rint((unit + 1) / 2 * (self.levels - 1))
        else:
            place = np.floor(FINE * self._curve(unit))
        return np.fmin(np.fmax(place, 0), self.cells - 1).astype(np.int64)

    def unit(self, position: Floats) -> Floats:
        """Return the number at a position from 0 to G, the inverse of `cell`."""
        if self.levels:
            level = np.minimum(np.floor(position), self.levels - 1)
            return np.asarray(2 * level / max(self.levels - 1, 1) - 1)
        low, high = self._ends
        chance = np.clip(low + (high - low) * position / FINE, 1e-12, 1 - 1e-12)
        return np.clip(self.centre + self._width * np.log(chance / (1 - chance)), -1.0, 1.0)

    @cached_property
    def edges(self) -> Floats:
        """(G - 1,): where the cells meet, in scales from the centre."""
        if self.levels:
            middles = 2 * (np.arange(self.levels - 1) + 0.5) / max(self.levels - 1, 1) - 1
            return np.asarray((middles - self.centre) / self.scale)
        return np.asarray((self.unit(np.arange(1.0, FINE)) - self.centre) / self.scale)

    @cached_property
    def log_edges(self) -> Floats:
        """(G - 1,): the same on a log scale from the lowest value."""
        above = self.edges * self.scale + self.centre + 1
        centre = max(self.centre + 1, 1e-3)
        return np.asarray(np.log(np.maximum(above, 1e-9) / centre) / np.log1p(self.scale / centre))

    def waves(self, number: int) -> Floats:
        """(G, K): cosines over the cells from slow to fast; G - 1 of them are a complete basis."""
        return _waves(self.cells, min(number, self.cells - 1))

    @property
    def _width(self) -> float:
        return REACH * self.scale

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = (np.array([-1.0, 1.0]) - self.centre) / self._width
        return float(_logistic(low)), float(_logistic(high))

    def _curve(self, unit: Floats) -> Floats:
        low, high = self._ends
        reached = _logistic((unit - self.centre) / self._width)
        return np.asarray((reached - low) / max(high - low, 1e-12))


@lru_cache(maxsize=32)
def _waves(cells: int, number: int) -> Floats:
    k = np.arange(1, number + 1)
    found = np.asarray(np.cos(np.pi * k * (np.arange(cells)[:, None] + 0.5) / cells))
    found.setflags(write=False)  # many share it
    return found


def _logistic(x: Floats) -> Floats:
    from scipy.special import expit  # here, so that planning need not wait for it

    return np.asarray(expit(x))  # no overflow, however small a scale is
