"""Observation masks: conditional missing probabilities and the repair (eq:auxiliary)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEAST_OBSERVATIONS = 2  # of each variable in a trajectory


@dataclass(frozen=True, slots=True)
class Masks:
    missing: Floats  # p̂(U = 1 | c_s) (S, T, V)

    def draw(self, stratum: NDArray[np.int64], rng: Generator) -> Bools:
        """Return M (n, T, V) with at least two observations of each variable."""
        probability = self.missing[stratum]
        scores = rng.random(probability.shape) - probability  # a cell is observed where positive
        return repaired(scores)


def repaired(scores: Floats) -> Bools:
    """Observe where the score is positive; where that is too rare, at the largest scores too."""
    slots = scores.shape[1]
    rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray((scores >= 0) | (rank < min(LEAST_OBSERVATIONS, slots)))
