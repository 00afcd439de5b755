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
    """Public bins of one variable on the encoded scale."""

    edges: Floats  # (K + 1,), from -1 to 1

    @property
    def number(self) -> int:  # K
        return len(self.edges) - 1

    def of(self, encoded: Floats) -> Ints:
        return np.clip(np.searchsorted(self.edges, encoded, side="right") - 1, 0, self.number - 1)


def bins_of(schema: Schema) -> list[Bins]:
    """A bin a level for ordinal and binary variables, equal widths for continuous ones."""
    counts = [
        CONTINUOUS_BINS if v.kind == "continuous" else int(v.bounds[1] - v.bounds[0]) + 1
        for v in schema.variables
    ]
    return [Bins(np.linspace(-1.0, 1.0, count + 1)) for count in counts]


@dataclass(frozen=True, slots=True)
class Chains:
    """Draws each variable's course of bins, then a value within each bin."""

    bins: list[Bins]
    start: list[Floats]  # per variable (2, K): first bin by event
    step: list[Floats]  # per variable (2, K, K): next bin by event and bin
    events: Ints  # (S,): the event of each stratum
    slots: int
    scaling: Scaling

    def draw(self, course: Ints, rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        event = self.events[course]
        encoded = np.empty((len(course), self.slots, len(self.bins)))
        for v, bins in enumerate(self.bins):
            start, step = np.cumsum(self.start[v], axis=-1), np.cumsum(self.step[v], axis=-1)
            now = _chosen(start[event], rng)
            for slot in range(self.slots):
                now = now if slot == 0 else _chosen(step[event, now], rng)
                low, high = bins.edges[now], bins.edges[now + 1]
                encoded[:, slot, v] = low + (high - low) * rng.random(len(now))
        return self.scaling.decode(encoded)


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
