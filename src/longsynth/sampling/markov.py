"""Markov chains over public bins: one chain a variable and event, values within a bin."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Bins:
    """Public bins of one variable: its levels, or intervals that are narrow about its centre."""

    number: int  # K
    lowest: float  # the first level, or the lower bound
    edges: tuple[float, ...] | None  # (K + 1), transformed; None: levels
    log: bool = False
    ordered: bool = True  # whether neighbours in the list have anything in common

    def of(self, values: Floats) -> Ints:
        """The bin of each value in clinical units; what lies outside is in the nearest."""
        if self.edges is None:
            place = np.rint(values - self.lowest)
        else:
            raw = np.log(np.maximum(values, self.lowest)) if self.log else values
            place = np.searchsorted(self.edges, raw, side="right") - 1.0
        return np.clip(place, 0, self.number - 1).astype(np.int64)

    def within(self, place: Ints, rng: Generator) -> Floats:
        """A level, or a value somewhere in its bin."""
        if self.edges is None:
            return self.lowest + place.astype(np.float64)
        edges = np.array(self.edges)
        raw = edges[place] + rng.random(place.shape) * np.diff(edges)[place]
        return np.asarray(np.exp(raw) if self.log else raw)


def bins_of(schema: Schema, number: int, focus: float) -> list[Bins]:
    """A bin a level, and so many intervals of each continuous variable."""
    return [_bins(v, number, focus) for v in schema.variables]


def _bins(variable: Variable, number: int, focus: float) -> Bins:
    """Intervals are even in asinh of the distance from the public centre, in `focus` scales: about
    even near it and by ratio far from it. Without a centre they are even."""
    low, high = variable.bounds
    if variable.kind != "continuous":
        return Bins(int(high - low) + 1, low, None, ordered=variable.kind != "nominal")
    log = variable.transform == "log"
    first, last = (float(np.log(end)) if log else end for end in (low, high))
    centre, scale = variable.centre, variable.scale
    if centre is None or scale is None or not focus:
        return Bins(number, low, tuple(np.linspace(first, last, number + 1).tolist()), log)
    if log:
        centre, scale = float(np.log(centre)), float(np.log1p(scale / centre))
    reach = focus * scale
    near, far = (float(np.arcsinh((end - centre) / reach)) for end in (first, last))
    edges = centre + reach * np.sinh(np.linspace(near, far, number + 1))
    edges[0], edges[-1] = first, last
    return Bins(number, low, tuple(edges.tolist()), log)


@dataclass(frozen=True, slots=True)
class Chains:
    """Draws each variable's course of bins, then its level, or a value within each bin."""

    bins: list[Bins]
    start: list[Floats]  # per variable (2, K): first bin by event
    step: list[Floats]  # per variable (2, K, K): next bin by event and bin
    events: Ints  # (S,): the event of each stratum
    slots: int

    def draw(self, course: Ints, rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        event = self.events[course]
        values = np.empty((len(course), self.slots, len(self.bins)))
        for v, bins in enumerate(self.bins):
            place = np.empty(values.shape[:2], np.int64)
            start, step = np.cumsum(self.start[v], axis=-1), np.cumsum(self.step[v], axis=-1)
            place[:, 0] = _chosen(start[event], rng)
            for slot in range(1, self.slots):
                place[:, slot] = _chosen(step[event, place[:, slot - 1]], rng)
            values[:, :, v] = bins.within(place, rng)
        return values


def _chosen(cumulative: Floats, rng: Generator) -> Ints:
    """One index a row of cumulative probabilities."""
    drawn = rng.random((len(cumulative), 1))
    return np.asarray(np.minimum((cumulative < drawn).sum(axis=1), cumulative.shape[1] - 1))
