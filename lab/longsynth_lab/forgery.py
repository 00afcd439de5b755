"""Forged releases: true sums with less noise than the ledger states, to try the noise check on.

Only ever in memory, and only for patients whom nobody has to protect.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence

from longsynth.audit.game.neighbours import noise_requests
from longsynth.audit.game.trials import FastNoise
from longsynth.bundle import Bundle
from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.ledger import Entry, Released
from longsynth.privacy.noise import Integers
from longsynth.reading.records import Cohort

Forgery = Callable[[Integers, Entry, Generator], Integers]  # true sums to what is released


@dataclass(frozen=True)
class Exposed:
    """A plan's lines with the sums behind them; what later passes saw of earlier ones is honest."""

    plan: Plan
    sums: Mapping[str, Integers]  # after the lift

    def release(
        self, rng: Generator, forgery: Forgery | None = None, only: str | None = None
    ) -> Bundle:
        """Return a bundle that claims honest noise: forged on one line, or on all."""
        released = {}
        for entry in self.plan.ledger.entries:
            name = entry.statistic.name
            make = forgery if forgery is not None and only in (None, name) else less_noise(1)
            released[name] = Released(make(self.sums[name], entry, rng), entry)
        return Bundle(self.plan.method.name, self.plan.schema, self.plan.ledger, released)


def exposed(cohort: Cohort, plan: Plan, seed: int) -> Exposed:
    honest = fit(cohort, plan, noise=FastNoise(SeedSequence(seed)))
    outputs = [line.values for line in honest.released.values()]
    requests = noise_requests(cohort, plan, outputs)
    return Exposed(plan, {n: r.sums for n, r in zip(honest.released, requests, strict=True)})


def no_noise(sums: Integers, entry: Entry, rng: Generator) -> Integers:
    return sums.copy()


def one_or_two(sums: Integers, entry: Entry, rng: Generator) -> Integers:
    return sums + rng.integers(1, 3, len(sums))


def less_noise(divisor: float) -> Forgery:
    """Rounded normals, as in `FastNoise`, of a part of the stated size."""

    def forge(sums: Integers, entry: Entry, rng: Generator) -> Integers:
        drawn = np.rint(rng.standard_normal(len(sums)) * (entry.sigma / divisor))
        return sums + drawn.astype(np.int64)

    return forge


def below_the_lift(sums: Integers, entry: Entry, rng: Generator) -> Integers:
    """Random residues, and hardly any noise."""
    return sums + rng.integers(0, entry.statistic.lift, len(sums))


def on_every_other(sums: Integers, entry: Entry, rng: Generator) -> Integers:
    noised = less_noise(1)(sums, entry, rng)
    noised[::2] = sums[::2]
    return noised


def the_same_on_all(sums: Integers, entry: Entry, rng: Generator) -> Integers:
    return sums + less_noise(1)(np.zeros(1, np.int64), entry, rng)


FORGERIES: Mapping[str, Forgery] = {
    "no noise": no_noise,
    "no noise, plus 1 or 2": one_or_two,
    "a thousandth of the noise": less_noise(1000),
    "a tenth of the noise": less_noise(10),
    "half the noise": less_noise(2),
    "noise on every other number only": on_every_other,
    "the same noise on all numbers of a line": the_same_on_all,
    "random numbers below the lift": below_the_lift,
    "the right noise, from a known seed": less_noise(1),
}
