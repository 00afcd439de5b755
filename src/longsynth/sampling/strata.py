"""Strata of site, group and event: released masses, the floor and the weights (eq:fair); and how
many slots the patients of each stratum use."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.schema.schema import PAIRS, Schema
from longsynth.system.arrays import Floats, Ints, sizes_only

NOTHING = 1e-100  # shares below it are none: dividing by them would overflow
ROUNDS = 20  # of proportional fitting


@dataclass(frozen=True, slots=True)
class Strata:
    """Where synthetic patients come from, and what each counts for in the population."""

    mass: Floats  # p (S,), released population masses
    draw: Floats  # q (S,), synthesis probabilities
    weight: Floats  # w = p/q (S,), restores the released masses

    __repr__ = sizes_only

    def drawn(self, patients: int, rng: Generator, *, evenly: bool = True) -> NDArray[np.int64]:
        """Return a stratum for each patient: each alone has the law q. If they are dealt evenly,
        together they have it as nearly as whole patients can; else each is drawn by itself."""
        if evenly:
            number = (rng.permutation(patients) + rng.random(patients)) / patients
        else:
            number = rng.random(patients)
        reached = np.cumsum(self.draw)
        below = np.minimum(number, np.nextafter(1.0, 0.0))  # a sum may round up to 1
        return np.searchsorted(reached / reached[-1], below, side="right")

    def given(self, allowed: NDArray[np.bool_]) -> "Strata":
        """Return the strata conditioned on a subset, with weights to match."""
        mass, draw = np.where(allowed, self.mass, 0.0), np.where(allowed, self.draw, 0.0)
        if draw.sum() == 0:  # the released masses rule it out: then evenly over the subset
            draw = allowed / allowed.sum()
        if mass.sum() == 0:
            mass = draw
        return strata_of(mass / mass.sum(), draw / draw.sum())


def masses_from_tables(cells: Floats, noise: float, schema: Schema) -> Floats:
    """Return p (S,) from the shares of patients in `counted_tables`, each with noise of this
    deviation. Of each pair of labels, as much dependence is kept as stands out from the noise
    (positive-part James-Stein); beyond pairs there is none (the maximum-entropy distribution)."""
    if not schema.counted_in_pairs:
        return population_masses(cells)
    sizes, tables = schema.label_sizes, cells.reshape(len(PAIRS), -1)
    pairs = [t[: sizes[a] * sizes[b]].reshape(sizes[a], sizes[b]) for t, (a, b) in _paired(tables)]
    margins = []
    for label in range(len(sizes)):
        both = [
            p.sum(axis=1 - (a, b).index(label)) for p, (a, b) in _paired(pairs) if label in (a, b)
        ]
        least = 0.2 * noise  # noise could say "nobody"
        margins.append(population_masses(np.maximum(np.mean(both, axis=0), least)))
    mass = np.ones(sizes)
    shrunk = [_shrunken(p, margins[a], margins[b], noise) for p, (a, b) in _paired(pairs)]
    for _ in range(ROUNDS):  # iterative proportional fitting
        for table, (a, b) in _paired(shrunk):
            other = 3 - a - b
            have = mass.sum(axis=other)
            mass = mass * np.expand_dims(table / np.maximum(have, NOTHING), other)
    return np.asarray(mass.ravel() / mass.sum())


def _paired(tables: Any) -> Any:
    return zip(tables, PAIRS, strict=True)


def _shrunken(table: Floats, rows: Floats, columns: Floats, noise: float) -> Floats:
    expected = np.outer(rows, columns)
    apart = table - expected
    apart = apart - apart.mean(axis=0) - apart.mean(axis=1, keepdims=True) + apart.mean()
    chance = noise**2 * (len(rows) - 1) * (len(columns) - 1)
    keep = max(0.0, 1 - chance / max((apart**2).sum(), NOTHING))
    shrunk = np.maximum(expected + keep * apart, 0.02 * expected)
    for _ in range(ROUNDS):
        shrunk *= (rows / shrunk.sum(axis=1))[:, None]
        shrunk *= columns / shrunk.sum(axis=0)
    return np.asarray(shrunk)


def population_masses(histogram: Floats) -> Floats:
    """Return p: the noised histogram as a distribution. Noise can make a cell negative."""
    positive = np.where(histogram > NOTHING, histogram, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(histogram), 1 / len(histogram))


def synthesis_strata(mass: Floats, protected: NDArray[np.bool_], floor: float) -> Strata:
    """Return q and w (eq:fair) for floor α on the protected strata."""
    lifted = np.maximum(mass, np.where(protected, floor, 0.0))
    return strata_of(mass, lifted / lifted.sum())


def strata_of(mass: Floats, draw: Floats) -> Strata:
    """Return strata of these masses that are drawn so often; weights make up for it."""
    weight = np.divide(mass, draw, out=np.zeros_like(mass), where=draw > 0)
    return Strata(mass, draw, weight)


MOST_BINS = 32  # with many slots, a table of every length would be mostly noise
LEAST_SHARE = 0.05  # of the patients in a slot, as a divisor: below it a mean is mostly noise


def length_edges(slots: int) -> Ints:
    """Bin b holds the lengths from edge b up to but not including edge b + 1."""
    bins = min(slots + 1, MOST_BINS)
    return np.concatenate([[0], np.rint(np.linspace(1, slots + 1, bins)).astype(np.int64)])


@dataclass(frozen=True, slots=True)
class Lengths:
    shares: Floats  # (E, bins): of the lengths' bins, by event
    events: Ints  # (S,): the event of each stratum
    slots: int  # T

    __repr__ = sizes_only

    def draw(self, shared: Ints, rng: Generator) -> Ints:
        """Return lengths (n,), within a bin evenly."""
        cumulative = np.cumsum(self.shares, axis=1)[self.events[shared]]
        place = (cumulative < rng.random((len(shared), 1))).sum(axis=1)
        edges = length_edges(self.slots)
        low, high = edges[:-1], edges[1:]
        place = np.minimum(place, len(low) - 1)
        within = (rng.random(len(shared)) * (high - low)[place]).astype(np.int64)
        return np.asarray(low[place] + within)

    @property
    def chances(self) -> Floats:
        """(E, T + 1): of each length, by event."""
        edges = length_edges(self.slots)
        bin_of = np.searchsorted(edges, np.arange(self.slots + 1), side="right") - 1
        return np.asarray(self.shares[:, bin_of] / np.diff(edges)[bin_of])

    @property
    def in_use(self) -> Floats:
        """(S, T): the chance that a patient of a stratum uses a slot."""
        return np.asarray(1 - np.cumsum(self.chances, axis=1)[:, :-1])[self.events]


@dataclass(frozen=True, slots=True)
class AllSlots:
    """Every patient uses every slot."""

    strata: int
    slots: int

    def draw(self, shared: Ints, rng: Generator) -> Ints:
        return np.full(len(shared), self.slots)

    @property
    def in_use(self) -> Floats:
        return np.ones((self.strata, self.slots))


def lengths_of(counts: Floats | None, noise: float, schema: Schema) -> Lengths | AllSlots:
    """Return lengths from counts of patients by event and bin (E · bins,), each with noise of this
    standard deviation; None where the schema says that all slots are used.

    The tables of events are shrunk toward their pooled table, by as much of their difference as
    the noise explains (positive-part James-Stein).
    """
    if counts is None:
        return AllSlots(len(schema.strata), schema.slots)
    table = counts.reshape(len(schema.levels("event")), -1)
    pooled = _share(table.sum(axis=0))
    sizes = np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    apart = table - sizes * pooled
    spread = (apart**2).sum(axis=1, keepdims=True)
    expected = noise**2 * table.shape[1]
    keep = np.clip(1 - expected / np.maximum(spread, 1e-300), 0.0, 1.0) if noise else 1.0
    mixed = sizes * pooled + keep * apart
    return Lengths(np.stack([_share(row) for row in mixed]), schema.strata[:, 2], schema.slots)


@dataclass(frozen=True, slots=True)
class SlotUse:
    """Which share of the patients uses each slot: the divisor of sums over all patients."""

    mass: Floats  # p (S,)
    shares: Floats  # (S, T): of each stratum

    def of(self, slot: Ints) -> Floats:
        """(S, d): the share that uses each column's slot; all use a static variable, slot -1."""
        return np.where(slot >= 0, self.shares[:, slot], 1.0)

    def divisor(self, slot: Ints) -> Floats:
        """(d,): the share of all patients, but never so small that it would raise the noise."""
        return np.maximum(self.mass @ self.of(slot), LEAST_SHARE)


def _share(counts: Floats) -> Floats:
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    if total > 0:
        return np.asarray(positive / total)
    even = np.zeros(len(counts))
    even[-1] = 1.0  # no evidence at all: the longest
    return even
