"""Markov chains over public bins: one chain a variable and event, values within a bin."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.scaling import Scaling
from longsynth.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONTINUOUS_BINS = 10  # equal widths between the public bounds


@dataclass(frozen=True, slots=True)
class Bins:
    """Public bins of one variable: its levels, or equal widths of the encoded scale."""

    number: int  # K
    lowest: float | None  # the first level; None: equal widths

    def of(self, values: Floats, encoded: Floats) -> Ints:
        """The bin of each value, given in clinical units and encoded."""
        widths = np.floor((encoded + 1) / 2 * self.number)
        place = widths if self.lowest is None else np.rint(values - self.lowest)
        return np.clip(place, 0, self.number - 1).astype(np.int64)


def bins_of(schema: Schema) -> list[Bins]:
    """A bin a level for ordinal and binary variables, equal widths for continuous ones."""
    return [
        Bins(CONTINUOUS_BINS, None)
        if v.kind == "continuous"
        else Bins(int(v.bounds[1] - v.bounds[0]) + 1, v.bounds[0])
        for v in schema.variables
    ]


@dataclass(frozen=True, slots=True)
class Chains:
    """Draws each variable's course of bins, then its level, or a value within each bin."""

    bins: list[Bins]
    start: list[Floats]  # per variable (2, K): first bin by event
    step: list[Floats]  # per variable (2, K, K): next bin by event and bin
    events: Ints  # (S,): the event of each stratum
    slots: int
    scaling: Scaling

    def draw(self, course: Ints, rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        event = self.events[course]
        place = np.empty((len(course), self.slots, len(self.bins)), np.int64)
        for v in range(len(self.bins)):
            start, step = np.cumsum(self.start[v], axis=-1), np.cumsum(self.step[v], axis=-1)
            place[:, 0, v] = _chosen(start[event], rng)
            for slot in range(1, self.slots):
                place[:, slot, v] = _chosen(step[event, place[:, slot - 1, v]], rng)
        numbers = np.array([b.number for b in self.bins])
        within = self.scaling.from_unit(2 * (place + rng.random(place.shape)) / numbers - 1)
        levels = np.array([np.nan if b.lowest is None else b.lowest for b in self.bins]) + place
        return np.asarray(np.where(np.isnan(levels), within, levels))


def distributions(counts: Floats, noise: float) -> Floats:
    """Return rows (…, K) as distributions. A count below its noise is no evidence; a row without
    any evidence is even."""
    kept = np.where(counts > noise, counts, 0.0)
    empty = kept.sum(axis=-1, keepdims=True) == 0
    kept = np.where(empty, 1.0, kept)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _chosen(cumulative: Floats, rng: Generator) -> Ints:
    """One index a row of cumulative probabilities."""
    drawn = rng.random((len(cumulative), 1))
    return np.asarray(np.minimum((cumulative < drawn).sum(axis=1), cumulative.shape[1] - 1))
