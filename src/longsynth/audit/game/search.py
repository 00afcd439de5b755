"""The worst neighbours: two records in the same seat that a line, or all lines, tell apart best.

Structured pairs first, all against all; then each best pair is improved by random changes for as
long as that pays. What counts is measured on what the real fit hands to the noise source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.random import Generator

from longsynth.audit.game.candidates import bystanders, ordinary, structured
from longsynth.audit.game.climb import Climb, Seated
from longsynth.audit.game.scene import Given, scene_of, squared_length
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.reading.records import Cohort
from longsynth.system.arrays import Floats

ALIKE, MOST_ALIKE = 0.999, 50  # of the best: pairs that reach this are as good


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring cohorts, and what each gives to the noise source, line by line."""

    one: Cohort
    other: Cohort
    given_one: tuple[Given, ...]
    given_other: tuple[Given, ...]

    def difference(self, line: int) -> Integers:
        return self.given_one[line].sums - self.given_other[line].sums

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
class Worst:
    """The pairs to play with."""

    plan: Plan  # the claim's, for the few patients of a pair
    lines: tuple[Pair, ...]  # one a ledger line
    bundle: Pair


def worst_pairs(plan: Plan, rng: Generator, *, tries: int) -> Worst:
    """Return the worst pair found for each line and for all together. `tries` is a climb's."""
    scene = scene_of(plan, bystanders(plan.schema), ordinary(plan.schema))
    records = [Seated(record, scene.given(record)) for record in structured(plan.schema)]
    shares = _pairwise(plan, records)  # (lines, records, records)
    number = len(plan.ledger.entries)
    weights = [np.eye(number)[line] for line in range(number)]
    weights.append(np.array([float(entry.rho or 0) for entry in plan.ledger.entries]))
    found = []
    for weight in weights:
        climb = Climb(scene, weight / weight.sum(), rng)
        total = np.tensordot(climb.weight, shares, axes=1)
        lines = np.flatnonzero(climb.weight).tolist()
        start = (records[place] for place in _sparsest(total, records, lines))
        one, other = climb.up(*climb.over_strata(*start), tries)
        cohorts = scene.cohort(one.record), scene.cohort(other.record)
        found.append(Pair(*cohorts, one.given, other.given))
    return Worst(scene.plan, tuple(found[:-1]), found[-1])


def _sparsest(total: Floats, records: Sequence[Seated], lines: Sequence[int]) -> tuple[int, int]:
    """Of the pairs that are as good as the best, the one that changes the fewest numbers: the
    attacker reads only those."""
    best = np.argwhere(np.triu(total) >= ALIKE * total.max())[:MOST_ALIKE]

    def numbers(pair: tuple[int, int]) -> int:
        one, other = (records[place].given for place in pair)
        return sum(int(np.count_nonzero(one[k].sums != other[k].sums)) for k in lines)

    i, j = min(((int(i), int(j)) for i, j in best), key=numbers)
    return i, j


def _pairwise(plan: Plan, records: Sequence[Seated]) -> Floats:
    """|sums - sums'|²/Δ² for every line and pair of records."""
    found = []
    for line, entry in enumerate(plan.ledger.entries):
        scale = sqrt(entry.statistic.sensitivity_squared)
        origin = records[0].given[line].sums
        rows = np.stack([one.given[line].sums - origin for one in records]) / scale
        gram = rows @ rows.T
        norms = np.diag(gram)
        found.append(norms[:, None] + norms[None, :] - 2 * gram)
    return np.stack(found)
