"""Nearest: covariances of records that are the same read forwards and backwards.

Channels whose covariance depends on the distance between slots have such a matrix. In sums and in
differences of each slot and the one as far from the end it falls into two halves, and eigenvectors
of two halves take a quarter of the time of those of the whole.
"""

from collections.abc import Iterable

import numpy as np

from longsynth.sampling.moments import Spectrum
from longsynth.system.arrays import Floats

LEAST_EIGEN = 1e-4
PROJECTIONS = 8

Halves = list[Floats]  # of sums, with the middle slot; of differences


def halves_of(matrix: Floats, slots: int) -> Halves:
    turned = _folded(_folded(matrix, slots).T, slots)
    sums = len(matrix) // slots * (slots - slots // 2)
    return [turned[:sums, :sums], turned[sums:, sums:]]


def whole_of(halves: Halves, slots: int) -> Floats:
    return _unfolded(_unfolded(_side_by_side(halves), slots).T, slots)


def nearest(near: Halves, diagonal: Floats, slots: int) -> Halves:
    """Return the nearest covariance with this diagonal (T·m,), the same backwards too, by Higham's
    alternating projections."""
    last = [np.zeros_like(half) for half in near]
    for _ in range(PROJECTIONS):
        start = [half - gone for half, gone in zip(near, last, strict=True)]
        positive, least = _positive(start)
        if least >= LEAST_EIGEN:
            break
        last = [after - before for after, before in zip(positive, start, strict=True)]
        near = positive
        lacking = diagonal - _diagonal(near, slots)
        for half in near:
            half[np.diag_indices(len(half))] += lacking[: len(half)]
    positive, _ = _positive(near)
    fix = np.sqrt(diagonal / _diagonal(positive, slots))
    return [half * fix[: len(half), None] * fix[: len(half)] for half in positive]


def spectrum_of(halves: Halves, slots: int) -> Spectrum:
    """Return eigenvalues, none below zero, and eigenvectors."""
    values, vectors = zip(*map(np.linalg.eigh, halves), strict=True)
    every = np.concatenate(values)
    order = np.argsort(every, kind="stable")
    turned = _side_by_side(vectors)[:, order]
    return Spectrum(np.maximum(every[order], 0.0), _unfolded(turned, slots))


def _positive(halves: Halves) -> tuple[Halves, float]:
    """Return both with no eigenvalue below the least, and the smallest that they had."""
    positive, least = [], LEAST_EIGEN
    for half in halves:
        values, vectors = _below(half)
        positive.append(half + (vectors * (LEAST_EIGEN - values)) @ vectors.T)
        least = min(least, values.min(initial=LEAST_EIGEN))
    return positive, least


def _below(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues below the least, and their vectors. They are few, so only they are searched for;
    where that fails, among equal ones, all are."""
    from scipy.linalg import LinAlgError, eigh  # here, to keep planning fast

    try:
        if len(matrix) > 1:
            return tuple(eigh(matrix, driver="evr", subset_by_value=(-np.inf, LEAST_EIGEN)))
    except LinAlgError:
        pass
    values, vectors = np.linalg.eigh(matrix)
    return values[values < LEAST_EIGEN], vectors[:, values < LEAST_EIGEN]


def _side_by_side(halves: Iterable[Floats]) -> Floats:
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*halves))


def _diagonal(halves: Halves, slots: int) -> Floats:
    """(T·m,): of the whole, in its own order."""
    sums, differences = map(np.diag, halves)
    first = (sums[: len(differences)] + differences) / 2
    m = len(first) // max(slots // 2, 1)
    last = first.reshape(-1, m)[::-1].ravel() if m else first
    return np.concatenate([first, sums[len(differences) :], last])


def _folded(rows: Floats, slots: int) -> Floats:
    """(T·m, ·): sums of a slot and the one as far from the end, the middle slot, differences."""
    at, half = rows.reshape(slots, -1, rows.shape[1]), slots // 2
    first, last = at[:half], at[::-1][:half]
    parts = [(first + last) / np.sqrt(2), at[half : slots - half], (first - last) / np.sqrt(2)]
    return np.concatenate(parts).reshape(rows.shape)


def _unfolded(rows: Floats, slots: int) -> Floats:
    """(T·m, ·): slots from sums and differences."""
    at, half = rows.reshape(slots, -1, rows.shape[1]), slots // 2
    sums, differences = at[:half], at[slots - half :]
    parts = [sums + differences, sums - differences]
    first, last = (part / np.sqrt(2) for part in parts)
    return np.concatenate([first, at[half : slots - half], last[::-1]]).reshape(rows.shape)
