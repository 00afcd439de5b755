"""Moments: conditional means by ridge (eq:beta), and the temporal covariance: residual, block band
and stabilised spectrum (eq:covraw, eq:banding)."""

from dataclasses import dataclass

import numpy as np

from longsynth.sampling.strata import LEAST_SHARE, SlotUse
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only


def gram_of_strata(mass: Floats, conditions: Ints) -> Floats:
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
    gram: Floats, cross: Floats, conditions: Ints, slot_use: SlotUse, slot: Ints, ridge: float
) -> Floats:
    """Return the mean of each stratum (S, d) among those who use a column's slot (eq:beta).

    Padding adds 0 to the cross moment, so the regression of a slot is one over the patients who
    use it; their condition Gram follows from the histogram and the lengths. Where everybody does,
    it is `gram`. The ridge on a condition is relative to all patients, because noise does not
    shrink with a slot; the constant gets a ridge only in a slot that hardly anyone uses.
    """
    means, shares = np.empty((len(conditions), len(slot))), slot_use.of(slot)
    patterns, pattern_of = np.unique(shares.T, axis=0, return_inverse=True)
    for p, share in enumerate(patterns):
        columns, of_users, ridges = np.flatnonzero(pattern_of == p), gram, np.full(len(gram), ridge)
        if (share < 1).any():
            of_users = gram_of_strata(slot_use.mass * share, conditions)
            everybody = slot_use.mass @ share
            ridges[0] = ridge * everybody + max(LEAST_SHARE - everybody, 0.0)
        means[:, columns] = conditions @ ridge_solution(of_users, cross[:, columns], ridges)
    return means


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Σ̂ = U diag(λ) U'."""

    values: Floats  # λ (D,), ascending
    vectors: Floats  # U (D, D), one eigenvector per column

    __repr__ = sizes_only

    @property
    def matrix(self) -> Floats:
        return np.asarray((self.vectors * self.values) @ self.vectors.T)


def residual_covariance(second: Floats, means: Floats, slot_use: SlotUse, slot: Ints) -> Floats:
    """Return Σ̃₀ = S - Σ_s p_s μ̂_s μ̂_s': eq:covraw without its second look at the conditions.

    Each entry is about the patients who use both of its slots, so sums over everybody are divided
    by their share, and a stratum counts by its part of them. Without padding all shares are one.
    """
    later = np.maximum(slot[:, None], slot)
    explained, everybody = np.zeros_like(second), np.zeros_like(second)
    patterns, pattern_of = np.unique(slot_use.shares, axis=0, return_inverse=True)
    for p, share in enumerate(patterns):  # few: lengths depend on the event alone
        weight = np.where(pattern_of == p, slot_use.mass, 0.0)
        both = np.where(later >= 0, share[later], 1.0)
        explained += both * (means.T @ (weight[:, None] * means))
        everybody += both * weight.sum()
    return np.asarray((second - explained) / np.maximum(everybody, LEAST_SHARE))


def residual_variance(squares: Floats, means: Floats, slot_use: SlotUse, slot: Ints) -> Floats:
    """Return the diagonal of the same (D,) from means of z² - ½ over all patients."""
    explained = slot_use.mass @ (slot_use.of(slot) * means**2)
    everybody = slot_use.mass @ slot_use.of(slot)
    return np.asarray((squares + everybody / 2 - explained) / slot_use.divisor(slot))


def within_band(slot: Ints, bandwidth: int) -> Bools:
    """Return which pairs of numbers are in slots at most `bandwidth` apart. A static variable has
    slot -1 and is near every slot."""
    near = np.abs(slot[:, None] - slot) <= bandwidth
    return np.asarray(near | (slot < 0) | (slot < 0)[:, None])


def block_band(matrix: Floats, slot: Ints, bandwidth: int) -> Floats:
    """Return B_b: the pairs within the band, and 0 for the others (eq:banding)."""
    return np.where(within_band(slot, bandwidth), matrix, 0.0)


def clipped_spectrum(matrix: Floats, floor: float, cap: float) -> Spectrum:
    """Return Π_[η,κ] of the symmetric part of a matrix (eq:banding)."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return Spectrum(np.clip(values, floor, max(cap, floor)), vectors)
