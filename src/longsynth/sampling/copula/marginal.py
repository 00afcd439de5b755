"""Marginal: the distribution of one measure over its cells, from noisy wave sums.

A normal curve of unknown place and width is fitted first (its posterior mean, under public
priors); what the waves say beyond it is kept as far as it stands out from the known noise.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from longsynth.sampling.copula.ruler import Ruler
from longsynth.system.arrays import Floats

PLACES = np.linspace(-4.0, 4.0, 41)  # in public scales from the public centre
WIDTHS = np.geomspace(0.15, 5.0, 25)
PLACE_SD, WIDTH_MIDDLE, WIDTH_SD = 1.5, 1.2, 0.7  # priors: patients are near the reference
LEAST_TAU, MOST_TAU = 0.01, 0.5  # how far the slowest wave may be from a normal curve's
THIN = 1e-6  # chance of a cell that no release rules out
FARTHEST = 3.0  # normal score


@dataclass(frozen=True)
class Marginal:
    ruler: Ruler
    chances: Floats  # (G,)

    @cached_property
    def reached(self) -> Floats:
        """(G,): the chance of a cell or one before it."""
        return np.cumsum(self.chances)

    @cached_property
    def scores(self) -> Floats:
        """(G,): the mean of a standard normal variable within the cell's share of it."""
        from scipy.special import ndtri  # here, so that planning need not wait for it

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
        cell = np.minimum(np.searchsorted(self.reached, chance), self.ruler.cells - 1)
        start = np.where(cell > 0, self.reached[cell - 1], 0.0)
        within = np.clip((chance - start) / self.chances[cell], 0.0, 1.0 - 1e-9)
        return self.ruler.unit(cell + within)


def marginal(ruler: Ruler, waves: Floats, noise: Floats) -> Marginal:
    """Return the marginal whose mean waves (K,) were seen with noise of these deviations (K,)."""
    table = ruler.waves(len(waves))
    curves = _curves(ruler)
    expected = curves @ table
    fit = -(((waves - expected) / noise) ** 2).sum(axis=1) / 2
    if ruler.ordered:
        fit = fit + np.tile(_prior(), len(curves) // (len(PLACES) * len(WIDTHS)))
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    curve = weight @ curves
    beyond = waves - curve @ table
    k = np.arange(1, len(waves) + 1)
    tau = np.clip(np.mean(k**2 * (beyond**2 - noise**2)), LEAST_TAU**2, MOST_TAU**2) / k**2
    kept = beyond * tau / (tau + noise**2)
    chances = np.maximum(curve + 2 / ruler.cells * table @ kept, THIN)
    return Marginal(ruler, chances / chances.sum())


@cache
def _curves(ruler: Ruler) -> Floats:
    """(curves, G): normal curves over the cells, and the same on a log scale above the lowest
    value; one even curve where there is no order."""
    if not ruler.ordered:
        return np.full((1, ruler.cells), 1 / ruler.cells)
    found = [ruler.edges] if ruler.levels else [ruler.edges, ruler.log_edges]
    return np.vstack([_normal_curves(edges, bounded=not ruler.levels) for edges in found])


def _normal_curves(edges: Floats, *, bounded: bool) -> Floats:
    from scipy.special import ndtr  # likewise

    scaled = (edges - PLACES[:, None, None]) / WIDTHS[None, :, None]
    reached = ndtr(scaled).reshape(len(PLACES) * len(WIDTHS), -1)
    if not bounded:  # what lies beyond the last level counts to it
        return np.diff(reached, axis=1, prepend=0.0, append=1.0)
    inner = np.diff(reached, axis=1) + 1e-12
    whole = np.concatenate([inner[:, :1], inner, inner[:, -1:]], axis=1)
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))


def _prior() -> Floats:
    place = -((PLACES / PLACE_SD) ** 2) / 2
    width = -((np.log(WIDTHS / WIDTH_MIDDLE) / WIDTH_SD) ** 2) / 2
    return np.asarray((place[:, None] + width).ravel())
