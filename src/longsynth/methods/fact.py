"""Fact: what is known about released numbers before any noise, whoever the patients are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Fact:
    """Weighted sums of released numbers that come out the same for every possible patient.

    The integers are those that a patient adds to a line: with the weights of the statistic's kind
    and before the lift. No number has a part in two of the sums, so their noise is independent.
    """

    says: str
    weights: Mapping[str, "csr_array"]  # by line (sums, numbers of the line)
    value: int = 0  # of every sum, for one patient


def weighted(weights: NDArray[Any]) -> "csr_array":
    """One sum over a whole line."""
    from scipy.sparse import csr_array  # here, to keep planning fast

    return csr_array(np.atleast_2d(weights))


def by_column(weights: NDArray[Any], columns: int) -> "csr_array":
    """A line of rows and columns: the same sum over its rows for every column."""
    from scipy.sparse import csr_array, eye_array, kron

    return csr_array(kron(np.atleast_2d(weights), eye_array(columns)))


def each(places: NDArray[Any], numbers: int) -> "csr_array":
    """Every number at these places, by itself."""
    from scipy.sparse import csr_array

    ones, each = np.ones(len(places), np.int64), np.arange(len(places))
    return csr_array((ones, (each, places)), shape=(len(places), numbers))


def empty(name: str, never: NDArray[np.bool_]) -> Fact:
    """Numbers to which nobody can add anything."""
    places = each(np.flatnonzero(never), never.size)
    return Fact(f"'{name}' is 0 where nothing can be", {name: places})
