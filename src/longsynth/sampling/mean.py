"""Conditional means: the condition Gram matrix and the ridge solution (eq:beta)."""

import numpy as np
from numpy.typing import NDArray

from longsynth.sampling.lengths import LEAST_SHARE, Users
from longsynth.system.arrays import Floats, Ints


def gram_of_strata(mass: Floats, conditions: NDArray[np.int64]) -> Floats:
    """Return A = Σ p_s c_s c_s': a linear image of the histogram, so it costs nothing more."""
    return np.asarray((conditions * mass[:, None]).T @ conditions)


def positive_part(gram: Floats) -> Floats:
    """Return Π_PSD(A): the nearest positive-semidefinite matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def ridge_solution(gram: Floats, cross: Floats, ridge: float | Floats) -> Floats:
    """Return β̂ = (A + λI)⁻¹ B (eq:beta); λ may differ by condition."""
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), cross), np.float64)


def means_in_use(
    gram: Floats, cross: Floats, conditions: Ints, users: Users, slot: Ints, ridge: float
) -> Floats:
    """Return the mean of each stratum (S, d) among those who use a column's slot (eq:beta).

    Padding adds 0 to the cross moment, so the regression of a slot is one over the patients who
    use it; their condition Gram follows from the histogram and the lengths. Where everybody does,
    it is `gram`. A condition is held to the ridge by its share of all patients, as noise does not
    shrink with a slot; the constant only in a slot that hardly anyone uses.
    """
    means, shares = np.empty((len(conditions), len(slot))), users.of(slot)
    patterns, pattern_of = np.unique(shares.T, axis=0, return_inverse=True)
    for p, share in enumerate(patterns):
        columns, theirs, held = np.flatnonzero(pattern_of == p), gram, np.full(len(gram), ridge)
        if (share < 1).any():
            theirs, everybody = gram_of_strata(users.mass * share, conditions), users.mass @ share
            held[0] = ridge * everybody + max(LEAST_SHARE - everybody, 0.0)
        means[:, columns] = conditions @ ridge_solution(theirs, cross[:, columns], held)
    return means
