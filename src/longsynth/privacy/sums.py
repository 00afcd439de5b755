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
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic, kept

Rows = NDArray[np.signedinteger[Any]]  # (n, d): whole numbers of any width
Floats = NDArray[np.float64]
Shared = dict[tuple[int, int, int], tuple[Rows, Floats]]  # rows, and what was made of them

CHUNK, STEP = 4096, 1024  # patients a product, and at a time, as BLAS is slow with more
STRIP = 128  # rows of a Gram matrix at a time: what a band leaves out is hardly multiplied
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
    row = max(statistic.left * left**2, statistic.right * right**2)  # a norm², being added up
    projected = max(CHUNK, statistic.left, statistic.right) * max(left, right) * PRIME
    pair = max(statistic.sum_weight, OFF_DIAGONAL * right)
    entry = right * {"count": 1, "cross": left}.get(statistic.kind, pair)  # of one patient
    total = patients * max(entry, statistic.count_weight) * statistic.lift
    if max(CHUNK * max(left, right) * right, row, projected) >= 1 << 53 or total >= 1 << 62:
        fine = f"'{statistic.name}' has too many digits to be summed exactly."
        raise Refused("too-fine-to-sum", fine, "Lower grid_bits or clip_radius in the schema.")


def add_up(statistic: Statistic, contribution: Contribution, shared: Shared | None = None) -> Sums:
    """Return the exact sum of rows, each held to its radius, once for all who share them."""
    n, shared = len(contribution.right), {} if shared is None else shared
    for rows, width in zip(contribution, (statistic.right, statistic.left), strict=True):
        if (width or rows.size) and (rows.dtype.kind != "i" or rows.shape != (n, width)):
            raise TypeError(f"a contribution must have a row for each patient, of {width} integers")
    if statistic.kind == "count":
        return Sums(statistic, n, _counts(contribution.right, statistic))
    x = _inside(contribution.right, statistic.box, statistic.right_squared, shared)
    if statistic.kind == "gram":
        return Sums(statistic, n, _pairs(x, statistic))
    c = _inside(contribution.left, isqrt(statistic.left_squared), statistic.left_squared, shared)
    if statistic.kind == "cross":
        return Sums(statistic, n, _product(c, x).ravel())
    if statistic.kind != "joint" or statistic.left_squared != 1:
        raise TypeError(f"'{statistic.name}' has no theorem")
    c = np.abs(c)  # one cell or none: a whole row of norm 1
    counts = statistic.count_weight * c.sum(axis=0).astype(np.int64)
    sums = statistic.sum_weight * _product(c, x).ravel()
    return Sums(statistic, n, np.concatenate([counts, sums, _pairs(x, statistic)]))


def _inside(rows: Rows, box: int, squared: int, shared: Shared) -> Floats:
    """Return the rows, each outside the box or the ball of radius² `squared` set to zero. Within
    the box all squares and sums are exact; what float64 has to round is far outside any box."""
    key = id(rows), box, squared
    if key not in shared:
        held = rows.astype(np.float64, order="C")
        inside = np.vecdot(held, held) <= squared
        if rows.max(initial=0) > box or rows.min(initial=0) < -box:
            inside &= (np.abs(held) <= box).all(axis=1)
        held[~inside] = 0.0
        held.flags.writeable = False  # what was tested is what is added, every time
        shared[key] = rows, held  # with the rows: while they are kept, nothing else has their id
    return shared[key][1]


def _counts(rows: Rows, statistic: Statistic) -> Integers:
    """Add up the rows but those with a negative entry or a block above the grid."""
    x, size = rows.astype(np.float64, order="C"), rows.shape[1] // statistic.blocks
    blocks = (x.reshape(-1, size) @ np.ones(size)).reshape(len(x), statistic.blocks)
    outside = (blocks > statistic.grid).any(axis=1)
    if rows.min(initial=0) < 0:
        outside |= (rows < 0).any(axis=1)
    x[outside] = 0.0
    return _product(np.ones((len(x), 1)), x).ravel()


def _pairs(x: Floats, statistic: Statistic) -> Integers:
    """Return what is kept of x'x, with its weights."""
    i, j = kept(statistic)
    sums = []
    for first in range(0, statistic.right, STRIP):
        here = slice(*np.searchsorted(i, [first, first + STRIP]))
        product = _product(x[:, first : first + STRIP], x[:, first : j[here].max() + 1])
        sums.append(product[i[here] - first, j[here] - first])
    return np.asarray(np.where(i == j, DIAGONAL, OFF_DIAGONAL) * np.concatenate(sums))


def _product(left: Floats, right: Floats) -> Integers:
    """Return left'right. What is exact for a chunk is so for each step of it, in float64."""
    total = np.zeros((left.shape[1], right.shape[1]), np.int64)
    for start in range(0, len(right), CHUNK):
        a, b = left[start : start + CHUNK], right[start : start + CHUNK]
        steps = (slice(i, i + STEP) for i in range(0, len(b), STEP))
        product = sum(np.matmul(a[i].T, b[i]) for i in steps)
        total += _checked(np.asarray(product, np.int64), a, b)
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
