"""Times to event: hazards on a public grid, from released counts, and the times of patients.

A method generates a time like any other static variable. Its rank among patients who ended in the
same way is kept, because it carries what the time has to do with all other variables; the time
itself comes from the released hazards. A record ends with the time.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from longsynth.bundle import Bundle
from longsynth.schema.columns import HOURS
from longsynth.schema.outcomes import Outcome
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

TIMES = "times"
INTERVALS = 12  # of [0, horizon]; one more cell holds those who reached the horizon
ROUGHNESS = (0.03, 0.1, 0.2, 0.4, 0.8)  # prior deviations of a hazard's steps, averaged over
LEAST = 0.02  # of a constant hazard: a hazard stays positive
STANDS_OUT = 2.0  # deviations of noise that an event at the horizon itself has to exceed
STILL_THERE = 0.5  # patients at risk at the least: a decline to none has no rate
TOO_FEW = 50  # generated patients for ranks of their own


def timed_outcomes(schema: Schema) -> tuple[Outcome, ...]:
    return tuple(o for o in schema.outcomes if o.kind == "time_to_event")


def time_edges(horizon: float) -> Floats:
    """Finer at first, where most patients are still at risk."""
    return np.asarray(horizon * (np.arange(INTERVALS + 1) / INTERVALS) ** 2)


def block_size(schema: Schema) -> int:
    """Cells of each outcome in the line: those of the outcome with the most levels."""
    return max(len(o.levels or ()) for o in timed_outcomes(schema)) * (INTERVALS + 1)


def hazards(counts: Floats, noise: float, horizon: float) -> tuple[Floats, Floats]:
    """Return hazards (K, intervals) for each level of the status, censored included, and the share
    of each level among those at the horizon (K,), from counts (K, intervals + 1), each with noise
    of this deviation.

    A count is a hazard times the time at risk. The hazard is a constant times a random walk over
    intervals; we average over its roughness, weighted by how well each explains the counts.
    """
    width, total = np.diff(time_edges(horizon)), np.maximum(counts.sum(axis=0), 0.0)
    staying = np.cumsum(total[::-1])[::-1]
    before, after = np.maximum(staying, STILL_THERE)[:-1], np.maximum(staying, STILL_THERE)[1:]
    apart = np.log(before / after)  # of an exponential decline, whose mean is the logarithmic one
    some = apart > 1e-9
    risk = np.divide(before - after, apart, out=before.copy(), where=some) * width
    risk = np.maximum(risk, 1e-9 * max(float(risk.max()), 1e-300))
    rates = np.stack([_smooth(row[:-1], risk, noise) for row in counts])
    reached = np.where(counts[:, -1] > STANDS_OUT * noise, counts[:, -1], 0.0)
    reached[0] = max(float(counts[0, -1]), 1e-9)
    return rates, reached / reached.sum()


def _smooth(counts: Floats, risk: Floats, noise: float) -> Floats:
    constant = max(float(counts.sum()), noise, 1e-9) / float(risk.sum())
    expected = constant * risk
    variance = np.diag(noise**2 + np.maximum(expected, 1e-3))  # noise, and other patients by chance
    steps = np.arange(1, len(counts) + 1.0)
    walk = 1 + np.minimum.outer(steps, steps)  # a level of its own, then steps
    found, evidence = [], []
    for rough in ROUGHNESS:
        prior = rough**2 * walk * np.outer(expected, expected)
        both, apart = prior + variance, counts - expected
        solved = np.linalg.solve(both, apart)
        evidence.append(-(apart @ solved + np.linalg.slogdet(both)[1]) / 2)
        found.append(1 + (prior @ solved) / np.maximum(expected, 1e-300))
    weight = np.exp(np.array(evidence) - max(evidence))
    factor = np.tensordot(weight / weight.sum(), np.array(found), 1)
    return np.asarray(constant * np.maximum(factor, LEAST))


def distributions(rates: Floats, reached: Floats, horizon: float) -> Floats:
    """Return (K, intervals + 1): when patients of each level of the status leave, the last of them
    at the horizon."""
    width, together = np.diff(time_edges(horizon)), rates.sum(axis=0)
    left = np.exp(-np.concatenate([[0.0], np.cumsum(together * width)]))
    leaving = -np.diff(left) * rates / together
    whole = np.concatenate([leaving, (left[-1] * reached)[:, None]], axis=1)
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a generated number stands among those of a reference, by weight."""

    numbers: Floats  # ascending
    reached: Floats  # the weight below each, and in the end the whole

    def of(self, numbers: Floats, rng: Generator) -> Floats:
        """Return ranks in (0, 1). Equal numbers share their part of the line at random."""
        low = self.reached[np.searchsorted(self.numbers, numbers, side="left")]
        high = self.reached[np.searchsorted(self.numbers, numbers, side="right")]
        nearest = 0.5 / len(self.reached)  # a number between two of the reference
        low, high = np.maximum(low - nearest, 0.0), np.minimum(high + nearest, 1.0)
        return np.asarray(low + rng.random(len(numbers)) * (high - low))


def ranks_among(numbers: Floats, weight: Floats) -> Ranks:
    order = np.argsort(numbers, kind="stable")
    mass = np.maximum(weight[order], 1e-12)
    return Ranks(numbers[order], np.concatenate([[0.0], np.cumsum(mass) / mass.sum()]))


@dataclass(frozen=True, slots=True)
class Times:
    """The times of one outcome."""

    outcome: Outcome
    horizon: float
    hours: float  # in one unit of the time
    resolution: float  # 0: none
    from_start: bool  # counted from the record's own time zero
    chances: Floats  # (K, intervals + 1)
    ranks: tuple[Ranks, ...] = ()  # for each level of the status

    def status(self, values: Floats, event: Ints) -> Ints:
        """(n,): how each patient's time ended, from values (n, T, V)."""
        if self.outcome.status is None:
            return event
        return values[:, 0, self.outcome.status].astype(np.int64)

    def time(self, values: Floats, event: Ints, rng: Generator) -> Floats:
        """(n,): each patient's time, in its own unit."""
        place, status = self.outcome.variable, self.status(values, event)
        made, edges = np.empty(len(values)), time_edges(self.horizon)
        edges = np.append(edges, self.horizon)
        for level, ranks in enumerate(self.ranks):
            here = np.flatnonzero(status == level)
            rank = ranks.of(values[here, 0, place], rng)
            reached = np.concatenate([[0.0], np.cumsum(self.chances[level])])
            made[here] = np.interp(rank, reached / reached[-1], edges)
        if self.resolution:
            made = np.round(made / self.resolution) * self.resolution
        return np.clip(made, 0.0, self.horizon)


def released_times(bundle: Bundle) -> tuple[Times, ...]:
    """Return the times that a bundle holds, as yet without ranks; none if the schema has none."""
    outcomes, schema = timed_outcomes(bundle.schema), bundle.schema
    if not outcomes or TIMES not in bundle.released:
        return ()
    released = bundle.released[TIMES]
    if bundle.ledger.budget is None:
        counts, noise = bundle.array(TIMES, len(outcomes), -1), 0.0
    else:
        lift = released.entry.statistic.lift
        counts = (released.values / lift).reshape(len(outcomes), -1)
        noise = released.entry.sigma / lift
    made = []
    for outcome, row in zip(outcomes, counts, strict=True):
        assert outcome.levels and outcome.variable is not None  # for mypy
        variable, levels = schema.variables[outcome.variable], len(outcome.levels)
        table, horizon = row[: levels * (INTERVALS + 1)].reshape(levels, -1), variable.bounds[1]
        chances = distributions(*hazards(table, noise, horizon), horizon)
        step = variable.step if variable.name in schema.constrained else variable.resolution or 0.0
        own = variable.origin == "record"
        made.append(Times(outcome, horizon, HOURS[variable.unit], step, own, chances))
    return tuple(made)


def with_ranks(times: Times, values: Floats, event: Ints, weight: Floats) -> Times:
    """Return the same times with the ranks of a reference: generated patients, before any time."""
    status, place, ranks = times.status(values, event), times.outcome.variable, []
    for level in range(len(times.chances)):
        here = status == level
        chosen = here if here.sum() >= TOO_FEW else np.ones_like(here)
        ranks.append(ranks_among(values[chosen, 0, place], weight[chosen]))
    return replace(times, ranks=tuple(ranks))


def ended(gaps: Floats, length: Ints, hours: Floats) -> tuple[Floats, Ints]:
    """Return gaps and lengths of records in which nothing is later than so many hours. The first
    slot stays: if it would be too late, it is at that time."""
    gaps = gaps.copy()
    gaps[:, 0] = np.minimum(gaps[:, 0], hours)
    in_time = np.cumsum(gaps, axis=1) <= hours[:, None]
    kept = np.minimum(length, np.maximum(in_time.sum(axis=1), 1))
    return gaps, np.asarray(kept)


def observed_times(observed: Bools, times: tuple[Times, ...]) -> Bools:
    """A time to event, and how it ended, are known of every synthetic patient."""
    known = observed.copy()
    for part in times:
        for place in (part.outcome.variable, part.outcome.status):
            if place is not None:
                known[:, 0, place] = True
    return known
