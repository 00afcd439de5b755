"""Temporal covariance: residual, block band and stabilised spectrum (eq:covraw, eq:banding)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Σ̂ = U diag(λ) U'."""

    values: Floats  # λ (D,), ascending
    vectors: Floats  # U (D, D), one eigenvector a column

    @property
    def matrix(self) -> Floats:
        return np.asarray((self.vectors * self.values) @ self.vectors.T)


def residual_covariance(second: Floats, gram: Floats, beta: Floats) -> Floats:
    """Return Σ̃₀ = S - β̂'Aβ̂: eq:covraw without its second look at the raw conditions."""
    return np.asarray(second - beta.T @ gram @ beta)


def block_band(matrix: Floats, variables: int, bandwidth: int) -> Floats:
    """Return B_b: only the V×V blocks of slots at most `bandwidth` apart (eq:banding)."""
    slot = np.arange(len(matrix)) // variables
    return np.where(np.abs(slot[:, None] - slot) <= bandwidth, matrix, 0.0)


def clipped_spectrum(matrix: Floats, floor: float, cap: float) -> Spectrum:
    """Return Π_[η,κ] of the symmetric part of a matrix (eq:banding)."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return Spectrum(np.clip(values, floor, max(cap, floor)), vectors)
