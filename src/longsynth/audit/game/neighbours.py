"""The worst neighbours: two cohorts that differ in one record, and that the released lines tell
apart best.

No line and no σ depends on the number of patients once the schema is resolved. So the claim's own
lines are played with three patients, where a real `fit` takes milliseconds: one record that changes
and two that stay. The search tries all pairs of structured records first, and then improves the
best pair by random changes. It measures what the real fit hands to the noise source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.random import Generator

from longsynth.audit.game.candidates import (
    bystanders,
    changed,
    chosen_strata,
    in_stratum,
    ordinary,
    structured,
)
from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.reading.records import Cohort
from longsynth.system.arrays import Floats, sizes_only

NEAR = 0.999  # of what the claim allows: the search stops here
ALIKE, MOST_ALIKE = 0.999, 50  # of the best: pairs that reach this are as good


class NoiseBypassed(Exception):
    """Some numbers were released although the noise source was never asked to add noise to them."""


@dataclass(frozen=True, slots=True)
class NoiseRequest:
    """What the noise source was asked to hide, and with how much noise."""

    sums: Integers  # exact, after the lift
    sigma: float

    __repr__ = sizes_only


class RecordingSource:
    """Adds no noise: records each request, and answers with given outputs or with the sums."""

    def __init__(self, outputs: Sequence[Integers] | None = None) -> None:
        self.requests: list[NoiseRequest] = []
        self._outputs = outputs

    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        place = len(self.requests)
        self.requests.append(NoiseRequest(sums.copy(), sigma))
        if self._outputs is None or place >= len(self._outputs):
            return sums.copy()
        return self._outputs[place].copy()


def noise_requests(
    cohort: Cohort, plan: Plan, outputs: Sequence[Integers] | None = None
) -> tuple[NoiseRequest, ...]:
    """Return what the real fit hands to the noise source, one request per line.

    `outputs` are what each line is assumed to have released; a later stage may depend on them.
    """
    source = RecordingSource(outputs)
    bundle = fit(cohort, plan, noise=source)
    released = [len(line.values) for line in bundle.released.values()]
    if [len(request.sums) for request in source.requests] != released:
        asked = sum(len(request.sums) for request in source.requests)
        raise NoiseBypassed(
            f"{sum(released):,} numbers were released on {len(released)} lines, but the noise "
            f"source was asked for {asked:,} in {len(source.requests)} calls: some were released "
            "without noise"
        )
    return tuple(source.requests)


def squared_length(difference: Integers) -> int:
    """Exact, whatever the size of the integers."""
    numbers = difference[np.flatnonzero(difference)].tolist()
    return sum(number * number for number in numbers)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The claim's plan for three patients, and the two of them who stay."""

    plan: Plan
    bystanders: Cohort
    outputs: tuple[Integers, ...]  # what each line is assumed to have released during the search

    __repr__ = sizes_only

    def cohort(self, record: Cohort) -> Cohort:
        return Cohort.joined([record, self.bystanders])

    def requests(self, record: Cohort) -> tuple[NoiseRequest, ...]:
        return noise_requests(self.cohort(record), self.plan, self.outputs)


def surroundings_of(plan: Plan, others: Cohort, first: Cohort) -> Surroundings:
    """Return surroundings whose earlier releases are those of the first record, without noise."""
    few = replace(plan, ledger=replace(plan.ledger, patients=1 + others.patients))
    requests = noise_requests(Cohort.joined([first, others]), few)
    return Surroundings(few, others, tuple(request.sums for request in requests))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring cohorts, and what each gives to the noise source, line by line."""

    one: Cohort
    other: Cohort
    requests_one: tuple[NoiseRequest, ...]
    requests_other: tuple[NoiseRequest, ...]

    __repr__ = sizes_only

    def difference(self, line: int) -> Integers:
        return self.requests_one[line].sums - self.requests_other[line].sums

    def attained(self, plan: Plan, lines: Sequence[int]) -> float:
        """The share of the claimed μ that this pair reaches, if the noise is as claimed."""
        entries = plan.ledger.entries
        rhos = [entries[k].rho or Fraction(0) for k in lines]
        reached = [
            float(squared_length(self.difference(k)) / entries[k].statistic.sensitivity_squared)
            for k in lines
        ]
        spent = sum(share * float(rho) for share, rho in zip(reached, rhos, strict=True))
        return sqrt(spent / float(sum(rhos)))


@dataclass(frozen=True, slots=True)
class WorstPairs:
    """The pairs to play with."""

    plan: Plan  # the claim's, for the few patients of a pair
    lines: tuple[Pair, ...]  # one per ledger line
    bundle: Pair

    __repr__ = sizes_only


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record, and what the real fit hands to its noise source if the record is in the cohort."""

    record: Cohort
    requests: tuple[NoiseRequest, ...]

    __repr__ = sizes_only


class HillClimb:
    """A search for the pair that is worst for some lines. Weights of the lines sum to 1."""

    def __init__(self, surroundings: Surroundings, weight: Floats, rng: Generator) -> None:
        self.weight = weight
        self._surroundings, self._rng = surroundings, rng
        self._schema = surroundings.plan.schema
        lines = zip(surroundings.plan.ledger.entries, weight.tolist(), strict=True)
        self._scales = [
            (line, share / float(entry.statistic.sensitivity_squared))
            for line, (entry, share) in enumerate(lines)
            if share
        ]

    def score(self, one: Candidate, other: Candidate) -> float:
        """The mean of |sums - sums'|²/Δ² over the lines; 1 is all that the claim allows."""
        total = 0.0
        for line, scale in self._scales:
            apart = (one.requests[line].sums - other.requests[line].sums).astype(np.float64)
            total += scale * float(apart @ apart)
        return total

    def over_strata(self, one: Candidate, other: Candidate) -> tuple[Candidate, Candidate]:
        """Move either record to every stratum in turn."""
        for stratum in chosen_strata(self._schema):
            for first in (True, False):
                if self.score(one, other) < NEAR**2:
                    parent = one if first else other
                    moved = in_stratum(parent.record, self._schema, stratum)
                    one, other = self._better(one, other, moved, first)
        return one, other

    def improve(self, one: Candidate, other: Candidate, tries: int) -> tuple[Candidate, Candidate]:
        """Try random changes of either record; keep a change that tells the two apart better."""
        for _ in range(tries):
            if self.score(one, other) >= NEAR**2:
                break
            first = bool(self._rng.integers(2))
            parent = one if first else other
            tried = changed(parent.record, self._schema, self._rng)
            one, other = self._better(one, other, tried, first)
        return one, other

    def _better(
        self, one: Candidate, other: Candidate, record: Cohort, first: bool
    ) -> tuple[Candidate, Candidate]:
        new = Candidate(record, self._surroundings.requests(record))
        tried = (new, other) if first else (one, new)
        return tried if self.score(*tried) > self.score(one, other) else (one, other)


def worst_pairs(plan: Plan, rng: Generator, *, tries: int) -> WorstPairs:
    """Return the worst pair for each line and for all lines together; `tries` limits each climb."""
    around = surroundings_of(plan, bystanders(plan.schema), ordinary(plan.schema))
    candidates = [Candidate(record, around.requests(record)) for record in structured(plan.schema)]
    shares = _pairwise(plan, candidates)  # (lines, records, records)
    number = len(plan.ledger.entries)
    weights = [np.eye(number)[line] for line in range(number)]
    weights.append(np.array([float(entry.rho or 0) for entry in plan.ledger.entries]))
    pairs = []
    for weight in weights:
        climb = HillClimb(around, weight / weight.sum(), rng)
        total = np.tensordot(climb.weight, shares, axes=1)
        lines = np.flatnonzero(climb.weight).tolist()
        start = (candidates[place] for place in _sparsest(total, candidates, lines))
        one, other = climb.improve(*climb.over_strata(*start), tries)
        cohorts = around.cohort(one.record), around.cohort(other.record)
        pairs.append(Pair(*cohorts, one.requests, other.requests))
    return WorstPairs(around.plan, tuple(pairs[:-1]), pairs[-1])


def _sparsest(
    total: Floats, candidates: Sequence[Candidate], lines: Sequence[int]
) -> tuple[int, int]:
    """Of the pairs that are as good as the best, the one that changes the fewest numbers: the
    attacker reads only those."""
    best = np.argwhere(np.triu(total) >= ALIKE * total.max())[:MOST_ALIKE]

    def numbers(pair: tuple[int, int]) -> int:
        one, other = (candidates[place].requests for place in pair)
        return sum(int(np.count_nonzero(one[k].sums != other[k].sums)) for k in lines)

    i, j = min(((int(i), int(j)) for i, j in best), key=numbers)
    return i, j


def _pairwise(plan: Plan, candidates: Sequence[Candidate]) -> Floats:
    """|sums - sums'|²/Δ² for every line and pair of records."""
    squares = []
    for line, entry in enumerate(plan.ledger.entries):
        scale = sqrt(entry.statistic.sensitivity_squared)
        origin = candidates[0].requests[line].sums
        apart = np.stack([one.requests[line].sums - origin for one in candidates]) / scale
        gram = apart @ apart.T
        norms = np.diag(gram)
        squares.append(norms[:, None] + norms[None, :] - 2 * gram)
    return np.stack(squares)
