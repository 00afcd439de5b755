"""Chains from noisy tables, each shrunk toward a simpler one as far as noise explains the rest."""

from dataclasses import dataclass

import numpy as np

from longsynth.methods.dp_markov.settings import Bins
from longsynth.system.arrays import Floats, Ints
from longsynth_lab.markov_tables import (
    balanced,
    correlation_of,
    moved,
    pairs_of,
    pairs_of_event,
    rows_of,
    shares_of,
    shrunk_shares,
    shrunken,
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Noisy counts of one variable and the standard deviation of their noise."""

    bins: Bins
    state: Ints  # (K,): the state of each bin; transitions are between states
    first: Floats  # (halves, 2, K): readings in each part of the record, by event
    steps: Floats  # (1 or 2, S, S): transitions of everybody, or by event
    first_noise: float
    step_noise: float


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed before any count: public numbers."""

    effect: float  # spread of an event's effect, in spreads of a variable
    between: float  # spread of patients' own means, in spreads of a variable
    temper: float  # part of an effect that is kept: a chain has no lasting level, so that its
    # readings seem to say more together than they do
    spread: float  # of variables' persistence about their mean


def shrunk_chains(
    variables: list[Counts], rate: float, patients: int, prior: Prior
) -> tuple[list[Floats], list[Floats]]:
    """Return first bins (2, K) and steps (2, K, K) of each variable by event.

    Everybody's transitions are shrunk toward those of a Gaussian chain with the same shares and
    correlation. An event moves the shares along the bins, in the first part of the record where a
    chain starts and in the last where it tends to.
    """
    shares = [shares_of(v.first.sum(axis=(0, 1))) for v in variables]
    told = _persistence(variables, shares, prior.spread)
    start, step = [], []
    for v, share, correlation in zip(variables, shares, told, strict=True):
        pooled = pairs_of(_even(v).sum(axis=0), share, v.state, correlation, _pooled_noise(v))
        start.append(np.empty((2, v.bins.number)))
        step.append(np.empty((2, v.bins.number, v.bins.number)))
        for event, part in enumerate((1 - rate, rate)):
            parts = [_shares(v, one, share, event, part, patients, prior) for one in v.first]
            pairs = balanced(pooled, parts[-1])
            if len(v.steps) == 2:
                pairs = pairs_of_event(_even(v)[event], pairs, parts[-1], v.state, v.step_noise)
            start[-1][event], step[-1][event] = parts[0], rows_of(pairs)
    return start, step


def _shares(
    v: Counts, counts: Floats, share: Floats, event: int, part: float, patients: int, prior: Prior
) -> Floats:
    """The shares of bins among those with one outcome, in one part of the record."""
    expected = max(float(counts.sum()) * part, 1.0)
    given = counts[event], share, expected
    if not v.bins.ordered:
        return shrunk_shares(*given, v.first_noise)
    few = prior.between**2 / max(patients * part, 1.0)
    temper = prior.temper if v.steps.any() else 1.0  # what is read once is not counted too often
    return moved(*given, v.first_noise, few, prior.effect, temper)


def _persistence(variables: list[Counts], shares: list[Floats], spread: float) -> Floats:
    """Neighbours' correlation of each variable, shrunk toward the mean over variables."""
    pairs = [
        correlation_of(_even(v).sum(axis=0), share, v.state, _pooled_noise(v))
        if v.bins.ordered
        else (0.0, 0.0)
        for v, share in zip(variables, shares, strict=True)
    ]
    known = np.flatnonzero([v.bins.ordered and bool(v.steps.any()) for v in variables])
    told, error = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    return shrunken(told, error**2, known, spread)


def _even(v: Counts) -> Floats:
    """Transitions there and back count alike."""
    return np.asarray((v.steps + v.steps.transpose(0, 2, 1)) / 2)


def _pooled_noise(v: Counts) -> float:
    return float(v.step_noise * np.sqrt(len(v.steps)))
