"""Temporal covariance: residual, block band and stabilised spectrum (eq:covraw, eq:banding)."""

from dataclasses import dataclass

import numpy as np

from longsynth.sampling.lengths import LEAST_SHARE, Users
from longsynth.system.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Σ̂ = U diag(λ) U'."""

    values: Floats  # λ (D,), ascending
    vectors: Floats  # U (D, D), one eigenvector a column

    @property
    def matrix(self) -> Floats:
        return np.asarray((self.vectors * self.values) @ self.vectors.T)


def residual_covariance(second: Floats, means: Floats, users: Users, slot: Ints) -> Floats:
    """Return Σ̃₀ = S - Σ_s p_s μ̂_s μ̂_s': eq:covraw without its second look at the conditions.

    Each entry is about the patients who use both of its slots, so sums over everybody are divided
    by their share, and a stratum counts by its part of them. Without padding all shares are one.
    """
    later = np.maximum(slot[:, None], slot)
    explained, everybody = np.zeros_like(second), np.zeros_like(second)
    patterns, pattern_of = np.unique(users.shares, axis=0, return_inverse=True)
    for p, share in enumerate(patterns):  # few: lengths depend on the event alone
        weight = np.where(pattern_of == p, users.mass, 0.0)
        both = np.where(later >= 0, share[later], 1.0)
        explained += both * (means.T @ (weight[:, None] * means))
        everybody += both * weight.sum()
    return np.asarray((second - explained) / np.maximum(everybody, LEAST_SHARE))


def residual_variance(squares: Floats, means: Floats, users: Users, slot: Ints) -> Floats:
    """Return the diagonal of the same (D,) from means of z² - ½ over all patients."""
    explained = users.mass @ (users.of(slot) * means**2)
    everybody = users.mass @ users.of(slot)
    return np.asarray((squares + everybody / 2 - explained) / users.divisor(slot))


def within_band(slot: Ints, bandwidth: int) -> Bools:
    """Return which pairs of numbers are in slots at most `bandwidth` apart. What is static, slot
    -1, goes with every slot."""
    near = np.abs(slot[:, None] - slot) <= bandwidth
    return np.asarray(near | (slot < 0) | (slot < 0)[:, None])


def block_band(matrix: Floats, slot: Ints, bandwidth: int) -> Floats:
    """Return B_b: the pairs within the band, and 0 for the others (eq:banding)."""
    return np.where(within_band(slot, bandwidth), matrix, 0.0)


def clipped_spectrum(matrix: Floats, floor: float, cap: float) -> Spectrum:
    """Return Π_[η,κ] of the symmetric part of a matrix (eq:banding)."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return Spectrum(np.clip(values, floor, max(cap, floor)), vectors)
