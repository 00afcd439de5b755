"""Conditional means: the condition Gram matrix and the ridge solution (eq:beta)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def gram_of_strata(mass: Floats, conditions: NDArray[np.int64]) -> Floats:
    """Return A = Σ p_s c_s c_s': a linear image of the histogram, so it costs nothing more."""
    return np.asarray((conditions * mass[:, None]).T @ conditions)


def positive_part(gram: Floats) -> Floats:
    """Return Π_PSD(A): the nearest positive-semidefinite matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def ridge_solution(gram: Floats, cross: Floats, ridge: float) -> Floats:
    """Return β̂ = (A + λI)⁻¹ B (eq:beta)."""
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), cross), np.float64)
