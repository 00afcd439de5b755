"""Statistic: what may leave. Always a sum over patients, of one of four kinds with a theorem.

count  non-negative rows in B blocks, each adding up to at most q       Δ = q·√(2B)
cross  left ⊗ right, |left| ≤ Rc, |right| ≤ R                           Δ = 2·Rc·R
gram   svec(x x'), |x| ≤ R                                              Δ = √2·29·R²
joint  histogram, sums by cell and gram at once; left is one cell       Δ = √2·(29·R² + W²/58)

Proofs: docs/privacy.md, section 2. Everything here is public and exact: integer rows, integer
radii, Δ² as a fraction. svec keeps the upper triangle, or a band of it, with integer weights 29 on
the diagonal and 41 off it (41² ≤ 2·29²). `lift`, a public factor on the sums, makes noise fine
against its rounding and changes no ρ. `raw` has no theorem: it can be disclosed, never released.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import Literal

import numpy as np

from longsynth.privacy.errors import Refused
from longsynth.privacy.noise import Integers

Kind = Literal["count", "cross", "gram", "joint", "raw"]
DIAGONAL, OFF_DIAGONAL = 29, 41
FINEST = 1 << 52  # the lift makes every Δ² at least this


@dataclass(frozen=True)
class Statistic:
    """A ledger line before it has a price. `meaning` is for people; the rest is for the proof."""

    name: str
    meaning: str
    kind: Kind
    right: int  # entries of the right vector
    right_squared: int = 0  # cross, gram, joint: R²
    left: int = 0  # cross, joint: entries of the left vector; of a joint, its cells
    left_squared: int = 0  # cross: Rc²; joint: 1
    blocks: int = 1  # count: B
    sum_weight: int = 0  # joint: W, the weight of the sums by cell
    band: tuple[int, ...] = ()  # gram, joint: entry i meets those from i to band[i] - 1; (): all
    grid: int = 1  # integers in one unit, q; no entry of the right vector exceeds one unit

    def __post_init__(self) -> None:
        within = all(i < end <= self.right for i, end in enumerate(self.band))
        fits = within and len(self.band) in (0, self.right) and self.right % self.blocks == 0
        if self.kind != "raw" and (self.row_sensitivity_squared <= 0 or not fits):
            remedy = "Give it a radius above zero, blocks of one size, and a band."
            raise Refused("statistic-unusable", f"'{self.name}' has no valid shape.", remedy)

    @property
    def row_sensitivity_squared(self) -> Fraction:
        """Δ² of the integer sums before the lift."""
        if self.kind == "raw":
            raise Refused("statistic-unusable", f"'{self.name}' is a raw fact.", "Release a sum.")
        gram = DIAGONAL * self.right_squared
        return {
            "count": Fraction(2 * self.blocks * self.grid**2),
            "cross": Fraction(4 * self.left_squared * self.right_squared),
            "gram": Fraction(2 * gram**2),
            "joint": 2 * (gram + Fraction(self.sum_weight**2, 2 * DIAGONAL)) ** 2,
        }[self.kind]

    @property
    def count_weight(self) -> int:
        """The largest weight with which the histogram of a joint release rides free."""
        return self.sum_weight**2 // (2 * DIAGONAL)

    @property
    def dimension(self) -> int:
        """How many integers are released."""
        pairs = (sum(self.band) or self.right**2) - self.right * (self.right - 1) // 2
        joint = self.left * (1 + self.right) + pairs
        sizes = {"cross": self.left * self.right, "gram": pairs, "joint": joint}
        return sizes.get(self.kind, self.right)

    @property
    def box(self) -> int:
        """No entry of the right vector is larger."""
        return self.grid if self.kind == "count" else min(isqrt(self.right_squared), self.grid)

    @cached_property
    def lift(self) -> int:
        lift = 1
        while self.kind != "raw" and lift * lift * self.row_sensitivity_squared < FINEST:
            lift *= 2
        return lift

    @property
    def sensitivity_squared(self) -> Fraction:
        """Δ² of the integers that are noised."""
        return self.lift**2 * self.row_sensitivity_squared


@lru_cache(4)  # batch after batch asks for the same
def kept(statistic: Statistic) -> Integers:
    """Return rows and columns (2, k) of what a Gram matrix keeps, in the order of its integers."""
    ends = np.array(statistic.band or [statistic.right] * statistic.right)
    return np.array(np.nonzero(np.triu(np.arange(statistic.right) < ends[:, None])))
