"""Exact sums: integers in, integers out, the same bits for any chunking, order or engine.

Rows become float64 once, and each is held to its radius by a test on the very array that is summed.
A row that fails becomes the zero row, in silence: an error would itself be an output about one
patient. Products run through BLAS on chunks so short that every partial sum stays below 2⁵³, where
whole numbers are exact, and each is checked by random projections modulo a prime (Freivalds).
"""

import secrets
from dataclasses import dataclass
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longsynth.privacy.errors import ArithmeticFault, Refused
from longsynth.privacy.noise import Integers
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic

Rows = NDArray[np.signedinteger[Any]]  # (n, d): whole numbers of any width
Floats = NDArray[np.float64]

CHUNK, STEP = 4096, 1024  # rows a product; rows at a time where BLAS is slow with more
PRIME = (1 << 20) - 3  # no power of two is a multiple: a flipped bit cannot hide
PROJECTIONS = 2  # a wrong product passes all of them with a chance of 2⁻⁴⁰


class Contribution(NamedTuple):
    """What a batch of patients adds to one statistic: a row each."""

    right: Rows  # (n, d)
    left: Rows = np.zeros((0, 0), np.int64)  # (n, p)  cross, joint


@dataclass(frozen=True)
class Sums:
    """An exact sum over `rows` patients. It can only be added."""

    statistic: Statistic
    rows: int
    total: Integers  # (dimension,), before the lift

    def __add__(self, other: "Sums") -> "Sums":
        if self.statistic != other.statistic:
            raise TypeError("sums of different statistics cannot be added")
        return Sums(self.statistic, self.rows + other.rows, self.total + other.total)


def require_exact(statistic: Statistic, patients: int) -> None:
    """Refuse a statistic whose integers could leave their 64 or 53 bits, from public facts."""
    left, right = isqrt(statistic.left_squared), statistic.box
    product = 0 if statistic.kind == "count" else max(left, right) * right
    row = max(statistic.left * left**2, statistic.right * right**2)  # a norm², being added up
    projected = max(CHUNK, statistic.left, statistic.right) * max(left, right) * PRIME
    total = patients * statistic.largest_entry * statistic.lift
    if max(CHUNK * product, row, projected) >= 1 << 53 or total >= 1 << 62:
        raise Refused(
            f"'{statistic.name}' is too fine for exact 64-bit sums over {patients} patients: "
            "lower grid_bits or clip_radius in the schema."
        )


def add_up(statistic: Statistic, contribution: Contribution) -> Sums:
    """Return the exact sum of a batch, each row first held to the statistic's radius."""
    n = len(contribution.right)
    for rows, width in zip(contribution, (statistic.right, statistic.left), strict=True):
        if (width or rows.size) and (rows.dtype.kind != "i" or rows.shape != (n, width)):
            raise TypeError(f"a contribution must have a row for each patient, of {width} integers")
    if statistic.kind == "count":
        return Sums(statistic, n, _counts(contribution.right, statistic))
    x = _inside(contribution.right, statistic.box, statistic.right_squared)
    if statistic.kind == "gram":
        return Sums(statistic, n, _svec(_product(x, x)))
    c = _inside(contribution.left, isqrt(statistic.left_squared), statistic.left_squared)
    if statistic.kind == "cross":
        return Sums(statistic, n, _product(c, x).ravel())
    if statistic.kind != "joint" or statistic.left_squared != 1:
        raise TypeError(f"'{statistic.name}' has no theorem")
    c = np.abs(c)  # one cell or none: a whole row of norm 1
    counts = statistic.count_weight * c.sum(axis=0).astype(np.int64)
    sums = statistic.sum_weight * _product(c, x).ravel()
    return Sums(statistic, n, np.concatenate([counts, sums, _svec(_product(x, x))]))


def _inside(rows: Rows, box: int, squared: int) -> Floats:
    """Return the rows, each outside the box or the ball of radius² `squared` set to zero. Within
    the box all squares and sums are exact; what float64 has to round is far outside any box."""
    held = rows.astype(np.float64, order="C")
    inside = np.vecdot(held, held) <= squared
    if rows.max(initial=0) > box or rows.min(initial=0) < -box:
        inside &= (np.abs(held) <= box).all(axis=1)
    held[~inside] = 0.0
    return held


def _counts(rows: Rows, statistic: Statistic) -> Integers:
    """Add up the rows but those with a negative entry or a block above the grid."""
    x = np.where(rows < 0, np.inf, rows)  # float64, where no block of other entries overflows
    blocks = x.reshape(len(rows), statistic.blocks, rows.shape[1] // statistic.blocks)
    inside = (np.vecdot(blocks, np.ones(blocks.shape[2])) <= statistic.grid).all(axis=1)
    return np.asarray(rows[inside].sum(axis=0, dtype=np.int64))


def _product(left: Floats, right: Floats) -> Integers:
    """Return left'right; for a Gram matrix pass the same array twice."""
    from scipy.linalg.blas import dgemm, dsyrk  # here, so that planning need not wait for it

    total = np.zeros((left.shape[1], right.shape[1]), np.int64)
    for start in range(0, len(right), CHUNK):
        a, b = left[start : start + CHUNK], right[start : start + CHUNK]
        if left is right:
            upper = dsyrk(1.0, b.T).astype(np.int64)  # zero below the diagonal
            product = upper + np.triu(upper, 1).T
        else:  # added up in float64: what is exact for a chunk is so for each part of it
            steps = (slice(i, i + STEP) for i in range(0, len(b), STEP))
            product = np.array(sum(dgemm(1.0, a[i].T, b[i].T, trans_b=1) for i in steps), np.int64)
        total += _checked(product, a, b)
    return total


def _checked(product: Integers, left: Floats, right: Floats) -> Integers:
    """Return the product left'right, if it maps random vectors as left'(right r) does."""
    drawn = np.frombuffer(secrets.token_bytes(8 * right.shape[1] * PROJECTIONS), np.uint64)
    r = (drawn % PRIME).astype(np.float64).reshape(-1, PROJECTIONS)
    y = right @ r  # below 2⁵³, where no quotient is rounded to a whole number that it is not:
    expected = ((y - PRIME * np.trunc(y / PRIME)).T @ left).T.astype(np.int64) % PRIME  # fmod, fast
    if not np.array_equal((product % PRIME) @ r.astype(np.int64) % PRIME, expected):
        raise ArithmeticFault("an exact sum failed its check on this machine; nothing was released")
    return product


def _svec(gram: Integers) -> Integers:
    """The upper triangle, row by row, with its weights."""
    upper = np.triu_indices(len(gram))
    return np.multiply(gram[upper], np.where(upper[0] == upper[1], DIAGONAL, OFF_DIAGONAL))
