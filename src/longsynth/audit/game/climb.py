"""A climb: one record of a pair is changed, and stays so if that tells the two apart better."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.audit.game.candidates import changed, chosen_strata, in_stratum
from longsynth.audit.game.scene import Given, Scene
from longsynth.reading.records import Cohort

NEAR = 0.999  # of what the claim allows: nothing is left to climb to


@dataclass(frozen=True, slots=True)
class Seated:
    """A record in the seat, and what the real fit then hands to its noise source."""

    record: Cohort
    given: tuple[Given, ...]


class Climb:
    """Towards the pair that is worst for some lines, each with its weight; weights add up to 1."""

    def __init__(self, scene: Scene, weight: NDArray[np.float64], rng: Generator) -> None:
        self.weight = weight
        self._scene, self._rng = scene, rng
        lines = zip(scene.plan.ledger.entries, weight.tolist(), strict=True)
        self._scales = [
            (line, share / float(entry.statistic.sensitivity_squared))
            for line, (entry, share) in enumerate(lines)
            if share
        ]

    def score(self, one: Seated, other: Seated) -> float:
        """The mean of |sums - sums'|²/Δ² over the lines; 1 is all that the claim allows."""
        found = 0.0
        for line, scale in self._scales:
            apart = (one.given[line].sums - other.given[line].sums).astype(np.float64)
            found += scale * float(apart @ apart)
        return found

    def over_strata(self, one: Seated, other: Seated) -> tuple[Seated, Seated]:
        """Move either record to every stratum in turn."""
        for stratum in chosen_strata(self._scene.plan.schema):
            for first in (True, False):
                if self.score(one, other) < NEAR**2:
                    parent = one if first else other
                    moved = in_stratum(parent.record, self._scene.plan.schema, stratum)
                    one, other = self._better(one, other, moved, first)
        return one, other

    def up(self, one: Seated, other: Seated, tries: int) -> tuple[Seated, Seated]:
        """Try random changes of either record."""
        for _ in range(tries):
            if self.score(one, other) >= NEAR**2:
                break
            first = bool(self._rng.integers(2))
            parent = one if first else other
            tried = changed(parent.record, self._scene.plan.schema, self._rng)
            one, other = self._better(one, other, tried, first)
        return one, other

    def _better(
        self, one: Seated, other: Seated, record: Cohort, first: bool
    ) -> tuple[Seated, Seated]:
        new = Seated(record, self._scene.given(record))
        tried = (new, other) if first else (one, new)
        return tried if self.score(*tried) > self.score(one, other) else (one, other)
