"""Cells: public cells on the line from -1 to 1, smooth waves over them, the code of the cell that a
value is in, and the distribution of one measure over its cells.

A code is one whole number for what a slot shows of a measure: 0 is not observed, from 1 on are the
cells, and the last is a slot past the end of the record. A marginal is read from noisy wave sums: a
normal curve of unknown place and width is fitted first (its posterior mean, under public priors);
what the waves say beyond it is kept as far as it stands out from the known noise.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from longsynth.system.arrays import Bools, Floats, Ints

Whole = NDArray[np.int32]
Floats32 = NDArray[np.float32]  # made of codes: it rounds far below the integers of a row

FINE = 256  # cells of a continuous measure; finer than any released detail
USUAL_SCALE = 0.25  # of the half range, where the schema names no centre and scale
REACH = 1.5  # scales of the logistic curve: patients spread further than the public reference
NOT_OBSERVED = 0
PARTS, SLACK = 1 << 15, 1e-12  # of the line from -1 to 1; a sum may round to the part beside it
PLACES = np.linspace(-4.0, 4.0, 41)  # in public scales from the public centre
WIDTHS = np.geomspace(0.15, 5.0, 25)
PLACE_SD, WIDTH_MIDDLE, WIDTH_SD = 1.5, 1.2, 0.7  # priors: patients are near the reference
LEAST_TAU, MOST_TAU = 0.01, 0.5  # how far the slowest wave may be from a normal curve's
THIN = 1e-6  # chance of a cell that no release rules out
FARTHEST = 3.0  # normal score


@dataclass(frozen=True)
class Cells:
    """Levels are cells of their own. A continuous measure has cells of equal chance under a
    logistic curve at its public centre and scale: fine where values are expected, coarse beyond."""

    levels: int | None = None  # None: continuous
    centre: float = 0.0
    scale: float = USUAL_SCALE
    ordered: bool = True
    lowest: float = -1.0  # no measure is lower

    @property
    def number(self) -> int:  # G
        return self.levels or FINE

    def of(self, unit: Floats) -> Ints:
        """Return the cell of each number in [-1, 1], and some cell for any other or NaN."""
        if self.levels:
            place = np.rint((unit + 1) / 2 * (self.levels - 1))
        else:
            place = np.floor(FINE * self._curve(unit))
        return np.fmin(np.fmax(place, 0), self.number - 1).astype(np.int64)

    def unit(self, position: Floats) -> Floats:
        """Return the number at a position from 0 to G, the inverse of `of`."""
        if self.levels:
            level = np.minimum(np.floor(position), self.levels - 1)
            return np.asarray(2 * level / max(self.levels - 1, 1) - 1)
        low, high = self._ends
        chance = np.clip(low + (high - low) * position / FINE, 1e-12, 1 - 1e-12)
        return np.clip(self.centre + self._width * np.log(chance / (1 - chance)), self.lowest, 1.0)

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
        above = self.edges * self.scale + self.centre - self.lowest
        centre = max(self.centre - self.lowest, 1e-3)
        return np.asarray(np.log(np.maximum(above, 1e-9) / centre) / np.log1p(self.scale / centre))

    def waves(self, number: int) -> Floats:
        """(G, K): cosines over the cells from slow to fast; G - 1 of them are a complete basis."""
        k = np.arange(1, min(number, self.number - 1) + 1)
        return np.asarray(np.cos(np.pi * k * (np.arange(self.number)[:, None] + 0.5) / self.number))

    @property
    def _width(self) -> float:
        return REACH * self.scale

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = (np.array([self.lowest, 1.0]) - self.centre) / self._width
        return float(_logistic(low)), float(_logistic(high))

    def _curve(self, unit: Floats) -> Floats:
        low, high = self._ends
        reached = _logistic((unit - self.centre) / self._width)
        return np.asarray((reached - low) / max(high - low, 1e-12))


def _logistic(x: Floats) -> Floats:
    from scipy.special import expit  # here, to keep planning fast

    return np.asarray(expit(x))  # no overflow, however small a scale is


def past_end(cells: Cells) -> int:
    return cells.number + 1


def code_number(cells: Cells) -> int:
    return cells.number + 2


class Codes:
    """Codes of rows of numbers in [-1, 1], each column by its own cells."""

    def __init__(self, measures: tuple[Cells, ...]) -> None:
        self._cells = list(dict.fromkeys(measures))  # columns share them
        self._which = np.array([self._cells.index(cells) for cells in measures])  # of each column
        self._parts = np.concatenate([_codes_of_parts(cells) for cells in self._cells])
        self._first = (self._which * (PARTS + 1)).astype(np.int32)  # part of each column

    def of(self, unit: Floats, observed: Bools) -> Whole:
        """(n, columns): looked up by the part of the line that a number is in. A cell that is
        not observed may hold any number, or NaN."""
        with np.errstate(invalid="ignore", over="ignore"):
            place = unit * (PARTS / 2)
            place += self._first + PARTS / 2
            part = place.astype(np.int32)
        np.maximum(part, self._first, out=part)  # no number, and no NaN, is in another's table
        np.minimum(part, self._first + PARTS, out=part)
        codes: Whole = np.multiply(np.take(self._parts, part), observed, dtype=np.int32)
        self._search(unit, codes, np.flatnonzero((codes == NOT_OBSERVED) & observed))
        return codes

    def _search(self, unit: Floats, codes: Whole, where: NDArray[np.intp]) -> None:
        """Find the cell of the few numbers whose part lies in two cells."""
        which, numbers = self._which[where % len(self._which)], np.take(unit, where)
        for measure, cells in enumerate(self._cells):
            here = which == measure
            np.put(codes, where[here], cells.of(numbers[here]) + 1)


@lru_cache(maxsize=256)  # the same public tables for every fit
def _codes_of_parts(cells: Cells) -> NDArray[np.int16]:
    """(PARTS + 1,): the code of each part of the line that lies in one cell. Small integers, so
    that they stay in a processor's cache."""
    begins = np.linspace(-1.0, 1 + 2 / PARTS, PARTS + 2)
    first, last = cells.of(begins[:-1] - SLACK), cells.of(begins[1:] + SLACK)
    inside = (first == last) & (first < np.iinfo(np.int16).max)
    return np.where(inside, first + 1, NOT_OBSERVED).astype(np.int16)


@dataclass(frozen=True)
class Marginal:
    cells: Cells
    chances: Floats  # (G,)

    @cached_property
    def reached(self) -> Floats:
        """(G,): the chance of a cell or one before it."""
        return np.cumsum(self.chances)

    @cached_property
    def scores(self) -> Floats:
        """(G,): the mean of a standard normal variable within the cell's share of it."""
        from scipy.special import ndtri  # here, to keep planning fast

        cuts = ndtri(np.clip(np.concatenate([[0.0], self.reached]), 0.0, 1.0))
        density = np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
        middle = -np.diff(density) / self.chances
        return np.asarray(np.clip(middle, -FARTHEST, FARTHEST))

    @cached_property
    def gain(self) -> float:
        """Mean of score × normal variable: what is left of a correlation after the cells."""
        return float(self.chances @ self.scores**2)

    def unit(self, chance: Floats) -> Floats:
        """Return the quantiles, in [-1, 1]."""
        cell = np.minimum(np.searchsorted(self.reached, chance), self.cells.number - 1)
        start = np.where(cell > 0, self.reached[cell - 1], 0.0)
        within = np.clip((chance - start) / self.chances[cell], 0.0, 1.0 - 1e-9)
        return self.cells.unit(cell + within)


def marginal(cells: Cells, waves: Floats, noise: Floats) -> Marginal:
    """Return the marginal whose mean waves (K,) were released with these noise deviations (K,)."""
    table = cells.waves(len(waves))
    curves = _curves(cells)
    expected = curves @ table
    fit = -(((waves - expected) / noise) ** 2).sum(axis=1) / 2
    if cells.ordered:
        fit = fit + np.tile(_prior(), len(curves) // (len(PLACES) * len(WIDTHS)))
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    curve = weight @ curves
    beyond = waves - curve @ table
    k = np.arange(1, len(waves) + 1)
    tau = np.clip(np.mean(k**2 * (beyond**2 - noise**2)), LEAST_TAU**2, MOST_TAU**2) / k**2
    kept = beyond * tau / (tau + noise**2)
    chances = np.maximum(curve + 2 / cells.number * table @ kept, THIN)
    return Marginal(cells, chances / chances.sum())


@lru_cache(maxsize=256)  # the same public tables for every fit
def _curves(cells: Cells) -> Floats:
    """(curves, G): normal curves over the cells, and the same on a log scale above the lowest
    value; one even curve where there is no order."""
    if not cells.ordered:
        return np.full((1, cells.number), 1 / cells.number)
    scales = [cells.edges] if cells.levels else [cells.edges, cells.log_edges]
    return np.vstack([_normal_curves(edges, bounded=not cells.levels) for edges in scales])


def _normal_curves(edges: Floats, *, bounded: bool) -> Floats:
    from scipy.special import ndtr  # likewise

    scaled = (edges - PLACES[:, None, None]) / WIDTHS[None, :, None]
    reached = ndtr(scaled).reshape(len(PLACES) * len(WIDTHS), -1)
    if not bounded:  # what lies beyond the last level counts to it
        return np.diff(reached, axis=1, prepend=0.0, append=1.0)
    inner = np.diff(reached, axis=1) + 1e-12
    whole = np.concatenate([inner[:, :1], inner, inner[:, -1:]], axis=1)
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))


def mean_noise(cells: Cells, noise: Floats) -> float:
    """How well mean waves with these noise deviations (K,) tell the mean of a measure, on the line
    from -1 to 1, if patients spread like the public reference: the Cramér-Rao bound for a place
    whose width is known. Without an order: how well they tell the chance of a level."""
    if not cells.ordered:
        return float(np.sqrt(2 * (noise**2).sum()) / cells.number)
    if cells.number == 2:
        return float(2 * noise[0] / np.ptp(cells.waves(1)))
    step, table = 0.1, cells.waves(len(noise))
    before, after = (_reference_curve(cells, place) @ table for place in (-step, step))
    return cells.scale / float(np.linalg.norm((after - before) / (2 * step) / noise))


def _reference_curve(cells: Cells, place: float) -> Floats:
    """(G,): a normal curve so many scales from the public centre."""
    scaled = (cells.edges - place) / (WIDTH_MIDDLE * sqrt(2))
    reached = [(1 + erf(x)) / 2 for x in scaled]  # few numbers: scipy would slow planning down
    return np.diff([0.0, *reached, 1.0])


def _prior() -> Floats:
    place = -((PLACES / PLACE_SD) ** 2) / 2
    width = -((np.log(WIDTHS / WIDTH_MIDDLE) / WIDTH_SD) ** 2) / 2
    return np.asarray((place[:, None] + width).ravel())
