"""Scene: a few bystanders and one seat. What a record in that seat gives to the noise source.

No line and no σ depends on the number of patients once the schema is resolved, so the claim's own
lines are played with three patients, where a real `fit` takes milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.reading.records import Cohort


class PassedNoNoise(Exception):
    """Some numbers were released without the noise source ever being asked."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the noise source was asked to hide, and with how much noise."""

    sums: Integers  # exact, after the lift
    sigma: float


class Replayed:
    """No noise: notes what it is given, and answers with given outputs or with the sums."""

    def __init__(self, outputs: Sequence[Integers] | None = None) -> None:
        self.given: list[Given] = []
        self._outputs = outputs

    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        place = len(self.given)
        self.given.append(Given(sums.copy(), sigma))
        if self._outputs is None or place >= len(self._outputs):
            return sums.copy()
        return self._outputs[place].copy()


def given_by(
    cohort: Cohort, plan: Plan, outputs: Sequence[Integers] | None = None
) -> tuple[Given, ...]:
    """Return what the real fit hands to the noise source, a line each.

    `outputs` are what each line is taken to have released; a later stage may depend on them.
    """
    source = Replayed(outputs)
    bundle = fit(cohort, plan, noise=source)
    released = [len(line.values) for line in bundle.released.values()]
    if [len(given.sums) for given in source.given] != released:
        asked = sum(len(given.sums) for given in source.given)
        raise PassedNoNoise(
            f"{sum(released):,} numbers were released on {len(released)} lines, and the noise "
            f"source was asked for {asked:,} in {len(source.given)} calls: some left without noise"
        )
    return tuple(source.given)


@dataclass(frozen=True, slots=True)
class Scene:
    """The claim's plan, for a few patients."""

    plan: Plan
    bystanders: Cohort
    outputs: tuple[Integers, ...]  # what every line is taken to have released while searching

    def cohort(self, record: Cohort) -> Cohort:
        return Cohort.joined([record, self.bystanders])

    def given(self, record: Cohort) -> tuple[Given, ...]:
        return given_by(self.cohort(record), self.plan, self.outputs)


def scene_of(plan: Plan, bystanders: Cohort, ordinary: Cohort) -> Scene:
    """Return the scene whose earlier releases are those of an ordinary record, without noise."""
    few = replace(plan, ledger=replace(plan.ledger, patients=1 + bystanders.patients))
    outputs = [given.sums for given in given_by(Cohort.joined([ordinary, bystanders]), few)]
    return Scene(few, bystanders, tuple(outputs))


def squared_length(difference: Integers) -> int:
    """Exact, whatever the size of the integers."""
    numbers = difference[np.flatnonzero(difference)].tolist()
    return sum(number * number for number in numbers)
