"""Codes: what a slot shows of a measure, as one whole number: all that is made of it is looked up.

0 is not observed, from 1 on are the cells of the measure's ruler, and the last is a slot past the
end of the record.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from longsynth.sampling.copula.ruler import Ruler
from longsynth.system.arrays import Bools, Floats

Whole = NDArray[np.int32]
Floats32 = NDArray[np.float32]  # made of codes: it rounds far below the integers of a row

UNSEEN = 0
PARTS, SLACK = 1 << 15, 1e-12  # of the line from -1 to 1; a sum may round to the part beside it


def past_end(ruler: Ruler) -> int:
    return ruler.cells + 1


def code_number(ruler: Ruler) -> int:
    return ruler.cells + 2


class Codes:
    """Of rows of numbers in [-1, 1], each column by its own ruler."""

    def __init__(self, rulers: tuple[Ruler, ...]) -> None:
        self._rulers = list(dict.fromkeys(rulers))  # columns share them
        self._ruler = np.array([self._rulers.index(ruler) for ruler in rulers])  # of each column
        self._parts = np.concatenate([_of_parts(ruler) for ruler in self._rulers])
        self._first = (self._ruler * (PARTS + 1)).astype(np.int32)  # part of each column

    def of(self, unit: Floats, seen: Bools) -> Whole:
        """(n, columns): looked up by the part of the line that a number is in. What is not seen
        may be any number, or none."""
        with np.errstate(invalid="ignore", over="ignore"):
            place = unit * (PARTS / 2)
            place += self._first + PARTS / 2
            part = place.astype(np.int32)
        np.maximum(part, self._first, out=part)  # no number, or none, is in another's table
        np.minimum(part, self._first + PARTS, out=part)
        told = np.take(self._parts, part)
        found: Whole = np.multiply(told, seen, dtype=np.int32)
        self._ask(unit, found, np.flatnonzero((found == UNSEEN) & seen))
        return found

    def _ask(self, unit: Floats, found: Whole, where: NDArray[np.intp]) -> None:
        """Ask the rulers about the few numbers whose part does not tell."""
        ruler, numbers = self._ruler[where % len(self._ruler)], np.take(unit, where)
        for which, asked in enumerate(self._rulers):
            here = ruler == which
            np.put(found, where[here], asked.cell(numbers[here]) + 1)


@lru_cache(maxsize=256)
def _of_parts(ruler: Ruler) -> NDArray[np.int16]:
    """(PARTS + 1,): the code of each part of the line that lies in one cell. Small numbers: they
    have to stay in a processor's cache."""
    begins = np.linspace(-1.0, 1 + 2 / PARTS, PARTS + 2)
    first, last = ruler.cell(begins[:-1] - SLACK), ruler.cell(begins[1:] + SLACK)
    told = (first == last) & (first < np.iinfo(np.int16).max)
    return np.where(told, first + 1, UNSEEN).astype(np.int16)
