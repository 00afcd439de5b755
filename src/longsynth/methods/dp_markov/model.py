"""The model of `dp-markov`, from its bundle alone: one chain per variable and event."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.bundle import Bundle
from longsynth.methods.dp_markov.settings import (
    FIRST,
    STEPS,
    Bins,
    Settings,
    bins_of,
    moving,
    widest,
)
from longsynth.sampling.auxiliary import released_masses, unconditional_parts
from longsynth.sampling.model import Model
from longsynth.sampling.strata import strata_of
from longsynth.system.arrays import Floats, Ints, sizes_only


def markov_model(bundle: Bundle, settings: Settings) -> Model:
    schema, bins = bundle.schema, bins_of(bundle.schema, settings.bins)
    size, variables = widest(bins), moving(schema)
    first, first_noise = counts_in(bundle, FIRST)
    moves, step_noise = counts_in(bundle, STEPS)
    events = len(schema.levels("event"))
    steps = np.zeros((len(bins), events, size, size))  # a static variable has none
    steps[variables] = moves.reshape(len(variables), events, size, size)
    first = first.reshape(len(bins), events, size)
    mass = released_masses(bundle)
    lengths, masks, gaps = unconditional_parts(bundle, mass)
    return Model(
        schema=schema,
        strata=strata_of(mass, mass),
        lengths=lengths,
        values=Chains(
            bins=bins,
            start=[
                distributions(first[v, :, : b.number], settings.threshold * first_noise)
                for v, b in enumerate(bins)
            ],
            step=[
                distributions(steps[v, :, : b.number, : b.number], settings.threshold * step_noise)
                for v, b in enumerate(bins)
            ],
            events=schema.strata[:, 2],
            slots=schema.slots,
        ),
        masks=masks,
        gaps=gaps,
        fingerprint=bundle.fingerprint,
    )


def counts_in(bundle: Bundle, name: str) -> tuple[Floats, float]:
    """Return noisy counts and the standard deviation of their noise."""
    released = bundle.released[name]
    lift = released.entry.statistic.lift
    return released.values / lift, released.entry.sigma / lift


def distributions(counts: Floats, noise: float) -> Floats:
    """Return rows (…, K) as distributions. A count below its noise is no evidence; a row without
    any evidence is even."""
    kept = np.where(counts > noise, counts, 0.0)
    empty = kept.sum(axis=-1, keepdims=True) == 0
    kept = np.where(empty, 1.0, kept)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Chains:
    """Draws each variable's sequence of bins, then its level, or a value within each bin."""

    bins: list[Bins]
    start: list[Floats]  # for each variable (E, K): first bin by event
    step: list[Floats]  # for each variable (E, K, K): next bin by event and bin
    events: Ints  # (S,): the event of each stratum
    slots: int

    __repr__ = sizes_only

    def draw(self, stratum: Ints, rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        event = self.events[stratum]
        values = np.empty((len(stratum), self.slots, len(self.bins)))
        for v, bins in enumerate(self.bins):
            place = np.empty(values.shape[:2], np.int64)
            start, step = np.cumsum(self.start[v], axis=-1), np.cumsum(self.step[v], axis=-1)
            place[:, 0] = _chosen(start[event], rng)
            for slot in range(1, self.slots):
                place[:, slot] = _chosen(step[event, place[:, slot - 1]], rng)
            values[:, :, v] = bins.within(place, rng)
        return values


def _chosen(cumulative: Floats, rng: Generator) -> Ints:
    """One index for each row of cumulative probabilities."""
    uniform = rng.random((len(cumulative), 1))
    return np.asarray(np.minimum((cumulative < uniform).sum(axis=1), cumulative.shape[1] - 1))
