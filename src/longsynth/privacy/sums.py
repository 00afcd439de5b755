"""Exact sums: integers in, integers out, the same bits for any chunking, order or engine.

Every row is held to its radius by an integer test on the very array that is summed. A row that
fails becomes the zero row, in silence: an error would itself be an output about one patient.
Products run in float64 through BLAS on chunks so short that every partial sum stays below 2⁵³,
and each is checked by a random projection modulo 2⁶⁴ (Freivalds).
"""

import secrets
from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

import numpy as np

from longsynth.privacy.errors import ArithmeticFault, Refused
from longsynth.privacy.noise import Integers
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic

CHUNK = 4096  # rows a product


class Contribution(NamedTuple):
    """What a batch of patients adds to one statistic: a row each."""

    right: Integers  # (n, d)
    left: Integers = np.zeros((0, 0), np.int64)  # (n, p)  cross, joint


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
    row = max(statistic.left * left**2, statistic.right * right**2)
    total = patients * statistic.largest_entry * statistic.lift
    if CHUNK * product >= 1 << 53 or row >= 1 << 62 or total >= 1 << 62:
        raise Refused(
            f"'{statistic.name}' is too fine for exact 64-bit sums over {patients} patients: "
            "lower grid_bits or clip_radius in the schema."
        )


def add_up(statistic: Statistic, contribution: Contribution) -> Sums:
    """Return the exact sum of a batch, each row first held to the statistic's radius."""
    left, right = contribution.left, contribution.right
    if statistic.kind == "count":
        return Sums(statistic, len(right), _counts(right, statistic).sum(axis=0))
    right = _inside(right, statistic.right, statistic.box, statistic.right_squared)
    if statistic.kind == "gram":
        return Sums(statistic, len(right), _svec(_product(right, right)))
    left = _inside(left, statistic.left, isqrt(statistic.left_squared), statistic.left_squared)
    if len(left) != len(right):
        raise TypeError("the parts of a contribution must have a row for each patient")
    if statistic.kind == "cross":
        return Sums(statistic, len(right), _product(left, right).ravel())
    if statistic.kind != "joint" or statistic.left_squared != 1:
        raise TypeError(f"'{statistic.name}' has no theorem")
    left = np.abs(left)  # one cell or none: a whole row of norm 1
    counts = statistic.count_weight * left.sum(axis=0)
    sums = statistic.sum_weight * _product(left, right).ravel()
    total = np.concatenate([counts, sums, _svec(_product(right, right))])
    return Sums(statistic, len(right), total)


def _inside(rows: Integers, width: int, box: int, squared: int) -> Integers:
    """Return the rows, each outside the box or the ball of radius² `squared` set to zero."""
    _require_rows(rows, width)
    boxed = ((rows <= box) & (rows >= -box)).all(
        axis=1, keepdims=True
    )  # so that no square overflows
    rows = np.where(boxed, rows, 0)
    norms: Integers = np.einsum("ij,ij->i", rows, rows)
    return np.where(np.less_equal(norms, squared)[:, None], rows, 0)


def _counts(rows: Integers, statistic: Statistic) -> Integers:
    """Return the rows, each with a negative entry or a block above the grid set to zero."""
    _require_rows(rows, statistic.right)
    boxed = ((rows >= 0) & (rows <= statistic.grid)).all(axis=1, keepdims=True)
    rows = np.where(boxed, rows, 0)
    sums = rows.reshape(len(rows), statistic.blocks, rows.shape[1] // statistic.blocks).sum(axis=2)
    return np.where((sums <= statistic.grid).all(axis=1, keepdims=True), rows, 0)


def _require_rows(rows: Integers, width: int) -> None:
    if rows.dtype != np.int64 or rows.ndim != 2 or rows.shape[1] != width:
        raise TypeError(f"a contribution must be an int64 array with {width} columns")


def _product(left: Integers, right: Integers) -> Integers:
    """Return left'right; for a Gram matrix pass the same array twice."""
    from scipy.linalg.blas import dgemm, dsyrk  # here, so that planning need not wait for it

    total = np.zeros((left.shape[1], right.shape[1]), np.int64)
    for start in range(0, len(right), CHUNK):
        a, b = left[start : start + CHUNK], right[start : start + CHUNK]
        if left is right:
            upper = np.triu(dsyrk(1.0, b.T.astype(np.float64)))
            product = upper + np.triu(upper, 1).T
        else:
            product = dgemm(1.0, a.T.astype(np.float64), b.T.astype(np.float64), trans_b=1)
        total += _checked(product.astype(np.int64), a, b)
    return total


def _checked(product: Integers, left: Integers, right: Integers) -> Integers:
    """Return the product left'right, if it maps a random vector as left'(right r) does."""
    width = right.shape[1]
    r = np.frombuffer(secrets.token_bytes(8 * width), np.uint64)
    mapped = left.view(np.uint64).T @ (right.view(np.uint64) @ r)  # exact modulo 2⁶⁴
    if not np.array_equal(product.view(np.uint64) @ r, mapped):
        raise ArithmeticFault("an exact sum failed its check on this machine; nothing was released")
    return product


def _svec(gram: Integers) -> Integers:
    upper = np.triu_indices(len(gram))
    weight = np.where(upper[0] == upper[1], DIAGONAL, OFF_DIAGONAL).astype(np.int64)
    return np.multiply(gram[upper], weight)
