"""Exact sums: integers in, integers out, the same bits for any chunking, order or engine.

Rows are integers of any width. They become float64 once, and each is held to its radius by a test
on the very array that is summed; the test is exact, as all numbers in it are whole and below 2⁵³.
A row that fails becomes the zero row, in silence: an error would itself be an output about one
patient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longsynth.privacy.errors import Refused
from longsynth.privacy.noise import Integers
from longsynth.privacy.products import CHUNK, PRIME, Floats, Product
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic

Rows = NDArray[np.signedinteger[Any]]  # (n, d): whole numbers of any width

BLOCK = 1024  # rows at a time: few enough to stay in a processor's cache
EXACT = 1 << 53  # float64 holds every whole number up to here


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
    projected = max(CHUNK, statistic.left, statistic.right) * max(left, right) * 2 * PRIME
    total = patients * statistic.largest_entry * statistic.lift
    if max(CHUNK * product, row, projected) >= EXACT or total >= 1 << 62:
        raise Refused(
            f"'{statistic.name}' is too fine for exact 64-bit sums over {patients} patients: "
            "lower grid_bits or clip_radius in the schema."
        )


def add_up(statistic: Statistic, contribution: Contribution) -> Sums:
    """Return the exact sum of a batch, each row first held to the statistic's radius."""
    return add_up_all([statistic], {statistic.name: contribution})[0]


def add_up_all(
    statistics: Sequence[Statistic], contributions: Mapping[str, Contribution]
) -> list[Sums]:
    """Return the same for several; rows that they share are held to a radius once."""
    running = [_Running(s, contributions[s.name]) for s in statistics]
    for start in range(0, max((one.rows for one in running), default=0), BLOCK):
        held: dict[tuple[int, int, int], Floats] = {}
        for one in running:
            one.add(slice(start, start + BLOCK), held)
    return [one.sums() for one in running]


class _Running:
    """The sum of one statistic, while blocks of rows are added to it."""

    def __init__(self, statistic: Statistic, part: Contribution) -> None:
        kind = statistic.kind
        _require_rows(part.right, statistic.right)
        if kind in ("cross", "joint"):
            _require_rows(part.left, statistic.left)
            if len(part.left) != len(part.right):
                raise TypeError("the parts of a contribution must have a row for each patient")
        if kind == "raw" or (kind == "joint" and statistic.left_squared != 1):
            raise TypeError(f"'{statistic.name}' has no theorem")
        self._statistic, self._part, self.rows = statistic, part, len(part.right)
        self._counts = np.zeros(statistic.right if kind == "count" else statistic.left, np.int64)
        squared = statistic.right if kind in ("gram", "joint") else 0
        crossed = statistic.right if kind in ("cross", "joint") else 0
        self._gram, self._cross = Product(squared, squared), Product(statistic.left, crossed)

    def add(self, block: slice, held: dict[tuple[int, int, int], Floats]) -> None:
        """Add some rows. `held` has those of the block that another statistic has held already."""
        statistic, part = self._statistic, self._part
        if statistic.kind == "count":
            self._counts += _counts(part.right[block], statistic).sum(axis=0, dtype=np.int64)
            return

        def inside(rows: Rows, box: int, squared: int) -> Floats:
            key = id(rows), box, squared  # the contribution keeps the array alive
            if key not in held:
                held[key] = _inside(rows[block], box, squared)
            return held[key]

        right = inside(part.right, statistic.box, statistic.right_squared)
        if statistic.kind in ("gram", "joint"):
            self._gram.add(right, right)
        if statistic.kind in ("cross", "joint"):
            left = inside(part.left, isqrt(statistic.left_squared), statistic.left_squared)
            if statistic.kind == "joint":
                left = np.abs(left)  # one cell or none: a whole row of norm 1
                self._counts += left.sum(axis=0).astype(np.int64)
            self._cross.add(left, right)

    def sums(self) -> Sums:
        statistic = self._statistic
        match statistic.kind:
            case "count":
                total = self._counts
            case "cross":
                total = self._cross.total().ravel()
            case "gram":
                total = _svec(self._gram.total())
            case _:
                counts = statistic.count_weight * self._counts
                cross = statistic.sum_weight * self._cross.total().ravel()
                total = np.concatenate([counts, cross, _svec(self._gram.total())])
        return Sums(statistic, self.rows, total)


def _inside(rows: Rows, box: int, squared: int) -> Floats:
    """Return the rows, each outside the box or the ball of radius² `squared` set to zero.

    Of a row inside the box every square is exact, and so is their sum. A number that float64 has
    to round is far outside any box, rounded or not.
    """
    held = rows.astype(np.float64, order="C")
    inside = np.einsum("ij,ij->i", held, held) <= squared
    if rows.max(initial=0) > box or rows.min(initial=0) < -box:
        inside &= (np.abs(held) <= box).all(axis=1)
    if not inside.all():
        held[~inside] = 0.0
    return held


def _counts(rows: Rows, statistic: Statistic) -> Rows:
    """Return the rows, each with a negative entry or a block above the grid set to zero."""
    inside: NDArray[np.bool_] = np.ones(len(rows), np.bool_)
    if rows.max(initial=0) > statistic.grid or rows.min(initial=0) < 0:
        inside = np.asarray(((rows >= 0) & (rows <= statistic.grid)).all(axis=1))
        rows = np.where(inside[:, None], rows, 0)  # so that no block overflows
    blocks = rows.reshape(len(rows), statistic.blocks, rows.shape[1] // statistic.blocks)
    inside &= (blocks.sum(axis=2, dtype=np.int64) <= statistic.grid).all(axis=1)
    return rows if inside.all() else np.where(inside[:, None], rows, 0)


def _require_rows(rows: Rows, width: int) -> None:
    if rows.dtype.kind != "i" or rows.ndim != 2 or rows.shape[1] != width:
        raise TypeError(f"a contribution must be an array of integers with {width} columns")


def _svec(gram: Integers) -> Integers:
    """The upper triangle, row by row, with its weights."""
    weighted = OFF_DIAGONAL * gram
    np.fill_diagonal(weighted, DIAGONAL * np.diagonal(gram))
    return np.concatenate([row[i:] for i, row in enumerate(weighted)])
