"""Strata of site, group and event: released masses, the floor and the weights (eq:fair)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.system.arrays import Floats

NOTHING = 1e-100  # shares below it are none: dividing by them would overflow


@dataclass(frozen=True, slots=True)
class Strata:
    """Where synthetic patients come from, and what each counts for in the population."""

    mass: Floats  # p (S,), released population masses
    draw: Floats  # q (S,), synthesis probabilities
    weight: Floats  # w = p/q (S,), restores the released masses

    def drawn(self, patients: int, rng: Generator, *, evenly: bool = True) -> NDArray[np.int64]:
        """Return a stratum for each patient: each alone has the law q. If they are dealt evenly,
        together they have it as nearly as whole patients can; else each is drawn by itself."""
        if evenly:
            number = (rng.permutation(patients) + rng.random(patients)) / patients
        else:
            number = rng.random(patients)
        reached = np.cumsum(self.draw)
        below = np.minimum(number, np.nextafter(1.0, 0.0))  # a sum may round up to 1
        return np.searchsorted(reached / reached[-1], below, side="right")

    def given(self, allowed: NDArray[np.bool_]) -> "Strata":
        """Return the strata conditioned on a subset, with weights to match."""
        mass, draw = np.where(allowed, self.mass, 0.0), np.where(allowed, self.draw, 0.0)
        if draw.sum() == 0:  # the released masses rule it out: then evenly over the subset
            draw = allowed / allowed.sum()
        if mass.sum() == 0:
            mass = draw
        return strata_of(mass / mass.sum(), draw / draw.sum())


def population_masses(histogram: Floats) -> Floats:
    """Return p: the noised histogram as a distribution. Noise can make a cell negative."""
    positive = np.where(histogram > NOTHING, histogram, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(histogram), 1 / len(histogram))


def synthesis_strata(mass: Floats, protected: NDArray[np.bool_], floor: float) -> Strata:
    """Return q and w (eq:fair) for floor α on the protected strata."""
    lifted = np.maximum(mass, np.where(protected, floor, 0.0))
    return strata_of(mass, lifted / lifted.sum())


def strata_of(mass: Floats, draw: Floats) -> Strata:
    """Return strata of these masses that are drawn so often; weights make up for it."""
    weight = np.divide(mass, draw, out=np.zeros_like(mass), where=draw > 0)
    return Strata(mass, draw, weight)
