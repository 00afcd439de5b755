"""Exact products left'right of whole numbers, through BLAS and checked.

The numbers are whole float64, block by block. So few rows are added up in float64 that every
partial sum stays below 2⁵³, where it is exact in any order; from there on they are 64-bit
integers. Each part is checked by random projections modulo a prime (Freivalds).
"""

import secrets

import numpy as np
from numpy.typing import NDArray

from longsynth.privacy.errors import ArithmeticFault
from longsynth.privacy.noise import Integers

Floats = NDArray[np.float64]

CHUNK = 4096  # rows that are added up in float64
PRIME = (1 << 20) - 3  # no power of two is a multiple: a flipped bit cannot hide
PROJECTIONS = 2  # a wrong product passes all of them with a chance of 2⁻⁴⁰


class Product:
    """left'right, while blocks of at most CHUNK rows are added. For a Gram matrix both are one."""

    _rows: int  # in float64
    _gram: bool
    _part: Floats  # their product, transposed, as BLAS has it
    _random: Floats  # r
    _mapped: Floats  # left'(right r), modulo the prime

    def __init__(self, left: int, right: int) -> None:
        self._total = np.zeros((left, right), np.int64)
        self._begin()

    def add(self, left: Floats, right: Floats) -> None:
        from scipy.linalg.blas import dgemm, dsyrk  # here, so that planning need not wait for it

        if self._rows + len(right) > CHUNK:
            self._finish()
        onto = {"beta": 1.0, "c": self._part, "overwrite_c": 1}
        if left is right:
            self._part = dsyrk(1.0, right.T, **onto)  # the upper triangle
        else:
            self._part = dgemm(1.0, right.T, left.T, trans_b=1, **onto)
        mapped = right @ self._random
        mapped -= PRIME * np.floor(mapped / PRIME)  # within twice the prime, whatever is rounded
        self._mapped += left.T @ mapped
        self._rows, self._gram = self._rows + len(right), left is right

    def total(self) -> Integers:
        """Return the sum over all rows, or raise if it is wrong."""
        self._finish()
        return self._total

    def _begin(self) -> None:
        left, right = self._total.shape
        self._rows, self._gram = 0, False
        self._part = np.zeros((right, left), order="F")
        drawn = np.frombuffer(secrets.token_bytes(8 * right * PROJECTIONS), np.uint64)
        self._random = (drawn % PRIME).astype(np.float64).reshape(right, PROJECTIONS)
        self._mapped = np.zeros((left, PROJECTIONS))

    def _finish(self) -> None:
        """Add what is in float64 to the integers, if it maps random vectors as left'right does.

        `require_exact` keeps every number here below 2⁵³, or 2⁶³ where they are integers.
        """
        product = self._part.T.astype(np.int64)
        if self._gram:
            product = product.T
            product = product + np.triu(product, 1).T
        found = (product % PRIME) @ self._random.astype(np.int64) % PRIME
        if not np.array_equal(found, self._mapped.astype(np.int64) % PRIME):
            raise ArithmeticFault(
                "an exact sum failed its check on this machine; nothing was released"
            )
        self._total += product
        self._begin()
