"""Latent: a Gaussian over all channels and slots, drawn along the score path, and the maps from its
numbers to cells, values and gaps. Also the masses of strata, from two releases: how many events,
and who is where."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from longsynth.encoding.scaling import Scaling
from longsynth.methods.copula_score.balanced import FEWEST
from longsynth.methods.copula_score.cells import Marginal
from longsynth.methods.copula_score.courses import even_steps, held
from longsynth.methods.copula_score.nearest import halves_of, nearest, spectrum_of, whole_of
from longsynth.sampling.auxiliary import repaired
from longsynth.sampling.model import SharedDraw
from longsynth.sampling.moments import Spectrum
from longsynth.sampling.score import Draws, ScorePath
from longsynth.sampling.strata import Strata, masses_from_tables, strata_of
from longsynth.schema.record import Layout
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

STEPS = 1 << 13  # of a map: finer than its knots
FEW_CUTS = 16  # that are compared one by one
MANY = 4_096  # patients: the spread of more is left as it falls
USUAL_RATE, RATE_SD = 0.15, 1.2  # prior of an event's rate: one in seven, give or take a factor 3
LOGITS = np.linspace(-7.0, 7.0, 1401)
RATES = 1 / (1 + np.exp(-LOGITS))
RANKS = (np.arange(100) + 0.5) / 100  # at which the spread is evened


class Drawing(NamedTuple):
    """What the parts of a patient share."""

    stratum: Ints  # (n,)
    latent: Draws  # (n, T, m)


@dataclass(frozen=True)
class Latent:
    path: ScorePath
    slots: int

    def __call__(self, stratum: Ints, rng: Generator) -> Drawing:
        z = self.path.encoded(stratum, rng)
        return Drawing(stratum, z.reshape(len(stratum), self.slots, -1))


@dataclass(frozen=True)
class Evened:
    """Drawings whose channels, over patients and slots together, are spread as their law says: what
    chance adds to a small sample is removed. A large sample hardly needs it, and it takes time."""

    latent: SharedDraw
    law: Floats  # (m, ranks): quantiles of each channel in the population
    weight: Floats  # (S,): what a patient of each stratum counts there

    def __call__(self, stratum: Ints, rng: Generator) -> Drawing:
        shared: Drawing = self.latent(stratum, rng)
        if FEWEST <= len(stratum) <= MANY:
            weight = np.repeat(self.weight[stratum], shared.latent.shape[1])
            for channel, law in enumerate(self.law):
                z = shared.latent[:, :, channel]
                have = _quantiles(z.ravel(), weight)
                z += np.interp(z, have, law - have)
        return shared


def _quantiles(numbers: Draws, weight: Floats) -> Floats:
    order = np.argsort(numbers)
    mass = np.cumsum(weight[order])
    return np.interp(RANKS, (mass - weight[order] / 2) / mass[-1], numbers[order])


@dataclass(frozen=True)
class FullLength:
    slots: int

    def draw(self, shared: Drawing, rng: Generator) -> Ints:
        return np.full(len(shared.stratum), self.slots)


@dataclass(frozen=True)
class Map:
    """From latent numbers to a measure: rank among all patients, then the measure's quantile."""

    knots: Floats  # ascending latent numbers
    ranks: Floats  # the chance of each or less
    marginal: Marginal

    def unit(self, latent: Draws) -> Floats:
        """Return quantiles in [-1, 1]. Searching for the place of each number would take longer
        than the rest of a sample, so it is looked up."""
        if self.marginal.cells.levels:
            return np.take(self._levels, _above(self._cuts, latent))
        start, steps, at, rise = self._table
        place = np.clip((latent - start) * steps, 0.0, STEPS)
        step = place.astype(np.int32)
        unit = np.take(rise, step)
        unit *= place - step
        unit += np.take(at, step)
        return np.asarray(unit)

    def searched(self, latent: Floats) -> Floats:
        """The same by definition."""
        return self.marginal.unit(np.interp(latent, self.knots, self.ranks))

    @property
    def slope(self) -> float:
        """How far a measure usually moves per step of its latent number."""
        return float(self.searched(self.knots).std() / max(self.knots.std(), 1e-12))

    @cached_property
    def _table(self) -> tuple[float, float, Floats, Floats]:
        """Where steps begin and how many there are to a unit; what stands at each step, and by how
        much more at the next."""
        places = np.linspace(self.knots[0], self.knots[-1], STEPS + 1)
        at, width = self.searched(places), max(places[-1] - places[0], 1e-12)
        return float(places[0]), float(STEPS / width), at, np.diff(at, append=at[-1])

    @cached_property
    def _cuts(self) -> Floats:
        """(G - 1,): latent numbers at which one level gives way to the next."""
        reached = self.marginal.reached[:-1]
        return np.interp(reached, self.ranks, self.knots, left=-np.inf, right=np.inf)

    @cached_property
    def _levels(self) -> Floats:
        return self.marginal.cells.unit(np.asarray(np.arange(self.marginal.cells.number) + 0.5))


def _above(cuts: Floats, latent: Draws) -> Ints:
    """How many of these ascending cuts each number lies above."""
    if len(cuts) > FEW_CUTS:
        return np.searchsorted(cuts, latent)
    return np.asarray(sum((latent > cut for cut in cuts), np.zeros(latent.shape, np.int64)))


@dataclass(frozen=True)
class LatentLengths:
    """Lengths by their own channel, each event with its own distribution."""

    maps: tuple[Map, ...]  # for each level of the event
    events: Ints  # (S,): the event of each stratum
    slots: int

    def draw(self, shared: Drawing, rng: Generator) -> Ints:
        """Return slots in use (n,)."""
        lengths = np.empty(len(shared.stratum), np.int64)
        event = self.events[shared.stratum]
        for y in range(len(self.maps)):
            unit = self.maps[y].unit(shared.latent[event == y, 0, -1])
            lengths[event == y] = np.rint((unit + 1) / 2 * self.slots)
        return lengths


@dataclass(frozen=True)
class Values:
    maps: tuple[Map, ...]
    scaling: Scaling
    constant: Bools  # (V,): the same value in every slot
    slow: Bools  # (V,)

    def draw(self, shared: Drawing, rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        unit = np.empty((*shared.latent.shape[:2], len(self.maps)))
        for v, to_unit in enumerate(self.maps):
            slots = slice(0, 1) if self.constant[v] else slice(None)
            latent = shared.latent[:, slots, v]
            unit[:, :, v] = to_unit.unit(latent)
            if self.slow[v]:
                unit[:, :, v] = even_steps(unit[:, :, v], latent, to_unit.slope)
        return self.scaling.from_unit(unit)


@dataclass(frozen=True)
class Thresholds:
    """A cell is observed where its mark lies above the threshold."""

    cuts: Floats  # (V,)
    layout: Layout
    least: int

    def draw(self, shared: Drawing, length: Ints, rng: Generator) -> Bools:
        """Return M (n, T, V)."""
        variables = len(self.cuts)
        marks = shared.latent[:, :, variables : 2 * variables]
        return repaired(marks - self.cuts.astype(marks.dtype), length, self.layout, self.least)


@dataclass(frozen=True)
class LatentGaps:
    channel: int
    first: Map
    later: Map
    scaling: Scaling

    def draw(self, shared: Drawing, rng: Generator) -> Floats:
        """Return gaps (n, T) in hours."""
        latent = shared.latent[:, :, self.channel]
        unit = np.concatenate(
            [self.first.unit(latent[:, :1]), self.later.unit(latent[:, 1:])], axis=1
        )
        return self.scaling.decode_gaps(unit)


def toeplitz(blocks: Floats) -> Floats:
    """(T, m, m) by distance to (T·m, T·m)."""
    slots, m, _ = blocks.shape
    lag = np.abs(np.arange(slots)[:, None] - np.arange(slots))
    return np.asarray(blocks[lag].transpose(0, 2, 1, 3).reshape(slots * m, slots * m))


def within(
    correlations: Floats, means: Floats, mass: Floats, steady: Bools, values: int
) -> Spectrum:
    """Return Σ̂ within strata: all correlations less what the strata's means (S, T, m) explain,
    pooled over time, as a covariance. The first channels, the values, keep their own memory, and
    steady ones (m,) all of it: none of it is what the means explain. Marks do not: those of one
    panel are nearly the same, and maps of their own would tear them apart."""
    slots, m = means.shape[1:]
    explained = np.zeros_like(correlations)
    for lag in range(slots):
        early, late = means[:, : slots - lag], means[:, lag:]
        weighted = mass[:, None, None] * early
        product = weighted.reshape(-1, m).T @ late.reshape(-1, m) / (slots - lag)
        explained[lag] = (product + product.T) / 2
    left = correlations - explained
    room = np.maximum(np.diag(left[0]), 0.1)  # however strong the effects, patients differ
    left[0][np.diag_indices(m)] = room
    steadily = np.diagonal(correlations, axis1=1, axis2=2) * room  # (T, m)
    left[:, steady, steady] = steadily[:, steady]
    memory = np.diagonal(left, axis1=1, axis2=2)
    own = np.stack([toeplitz(memory[:, j, None, None]) for j in range(values)])
    for j in np.flatnonzero(~steady[:values]):
        alone = nearest(halves_of(own[j], slots), memory[[0] * slots, j], slots)
        own[j] = whole_of(alone, slots)
    possible = nearest(halves_of(toeplitz(left), slots), np.tile(room, slots), slots)
    return spectrum_of(halves_of(held(whole_of(possible, slots), own), slots), slots)


def event_share(released: float, noise: float) -> float:
    """Return the posterior mean of the events' share, released with noise of this deviation."""
    usual = np.log(USUAL_RATE / (1 - USUAL_RATE))
    prior = -(((LOGITS - usual) / RATE_SD) ** 2) / 2
    fit = prior - ((released - RATES) / max(noise, 1e-6)) ** 2 / 2
    weight = np.exp(fit - fit.max())
    return float(weight @ RATES / weight.sum())


def masses(events: Floats, counts: Floats, noise: float, schema: Schema) -> Floats:
    """(S,): places by their counts; events (E,) as rare in each as everywhere, as far as the noise
    on the counts leaves it open (positive-part James-Stein)."""
    if schema.counted_in_pairs:
        mass = masses_from_tables(counts, noise, schema).reshape(-1, len(events))
        return np.asarray((mass * (events / mass.sum(axis=0))).ravel())
    table = counts.reshape(-1, len(events))  # (sites · groups, event)
    place = np.maximum(table.sum(axis=1), 0.2 * noise)
    place = place / place.sum()
    expected = place[:, None] * events
    apart = table / max(table.sum(), 1e-9) - expected
    apart -= apart.mean(axis=0)
    apart -= apart.mean(axis=1, keepdims=True)
    spread, chance = (apart**2).sum(), (noise / max(table.sum(), 1e-9)) ** 2 * apart.size / 2
    keep = max(0.0, 1 - chance / spread) if spread > 0 else 0.0
    shrunk = np.maximum(expected + keep * apart, 0.02 * expected)
    shrunk *= events / shrunk.sum(axis=0)
    return np.asarray(shrunk.ravel())


def synthesis(mass: Floats, strata: Ints, protected: Bools, floor: float, balance: float) -> Strata:
    """Return where to draw patients: events at least a public part of them, and no protected
    stratum below its floor; weights restore the population."""
    event = strata[:, 2] > 0
    events = mass[event].sum()
    wanted = min(max(events, balance), 1.0)
    draw = mass.copy()
    if 0 < events < 1:
        draw = np.where(event, mass / events * wanted, mass / (1 - events) * (1 - wanted))
    draw = np.maximum(draw, np.where(protected, floor, 0.0))
    draw /= draw.sum()
    return strata_of(mass, draw)
