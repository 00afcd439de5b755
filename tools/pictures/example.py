"""Example: simulated patients, and what a fit of some of them releases."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longsynth import fit, model_of, plan, simulate, simulated_schema
from longsynth.bundle import Bundle
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model

PATIENTS, EPSILON, MANY = 504, 1, 20_000


class Seeded:
    """Noise of the right size from a public seed, so that a picture can be drawn again."""

    def __init__(self, size: float = 1.0) -> None:
        self.size, self.rng = size, np.random.default_rng(5)

    def add(
        self, sums: NDArray[np.int64], *, sigma: float, sensitivity: float, rho: float
    ) -> NDArray[np.int64]:
        noise = self.size * sigma * self.rng.standard_normal(len(sums))
        return np.asarray(sums + np.rint(noise).astype(np.int64))


@dataclass(frozen=True)
class Example:
    population: Cohort
    whole: Model  # of the population, without noise
    released: Bundle  # of few patients
    model: Model  # of what they released


def released(cohort: Cohort, epsilon: float, noise: float = 1.0) -> Bundle:
    planned = plan(
        simulated_schema(),
        cohort.patients,
        epsilon=epsilon,
        delta=1e-5,
        method="copula-score",
        accounting="gaussian",
    )
    return fit(cohort, planned, noise=Seeded(noise))


def example() -> Example:
    few, many = simulate(PATIENTS, seed=101), simulate(MANY, seed=9001)
    bundle = released(few, EPSILON)
    return Example(many, model_of(released(many, 50, 0.0)), bundle, model_of(bundle))
