"""Layout: a record as one row of numbers, slot by slot and in each slot variable by variable.

A variable takes one channel, a nominal one a channel for each level. What is static is measured
once a patient: it stands in the first slot, whether or not the patient has a slot, and nowhere
else. A cell is a place where something can be observed or missing: a slot and a variable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.system.arrays import Bools, Ints

Array = NDArray[Any]


@dataclass(frozen=True)
class Layout:
    slots: int  # T
    channels: tuple[int, ...]  # of each variable
    static: tuple[bool, ...]  # of each variable

    @property
    def width(self) -> int:  # D
        """Numbers in a row of values."""
        return sum(c * (1 if s else self.slots) for c, s in self._sizes)

    @property
    def cells(self) -> int:
        """Numbers in a row of masks."""
        return sum(1 if static else self.slots for static in self.static)

    @cached_property
    def exists(self) -> Bools:
        """(T, V): which cells a record has."""
        return np.asarray((np.arange(self.slots)[:, None] == 0) | ~np.array(self.static))

    @property
    def value_slot(self) -> Ints:
        """(D,): the slot of each number in a row of values; -1 for what is static."""
        return self._slots(self._values, np.repeat(self.static, self.channels))

    @property
    def cell_slot(self) -> Ints:
        """(cells,): the slot of each number in a row of masks; -1 for what is static."""
        return self._slots(self._cells, np.array(self.static))

    def value_rows(self, encoded: Array) -> Array:
        """(n, T, channels) to (n, D)."""
        return _taken(encoded, self._values)

    def cell_rows(self, found: Array) -> Array:
        """(n, T, V) to (n, cells)."""
        return _taken(found, self._cells)

    def values_of(self, rows: Array) -> Array:
        """(n, D) to (n, T, channels); 0 where there is nothing."""
        return self._spread(rows, self._values, 0)

    def cells_of(self, rows: Array, elsewhere: float) -> Array:
        """(n, cells) to (n, T, V), with what stands where a record has no cell."""
        return self._spread(rows, self._cells, elsewhere)

    def up_to(self, length: Ints) -> Bools:
        """(n, T, V): the cells of records of these lengths: their slots, and what is static."""
        lengths, which = np.unique(np.clip(length, 0, self.slots), return_inverse=True)
        slot = np.arange(self.slots)[:, None]
        found = np.where(self.static, slot == 0, slot < lengths[:, None, None])
        return np.asarray(found[which])  # to look a record up is quicker than to make it

    @property
    def _sizes(self) -> Iterator[tuple[int, bool]]:
        return zip(self.channels, self.static, strict=True)

    @cached_property
    def _cells(self) -> Ints:
        return np.flatnonzero(self.exists)

    @cached_property
    def _values(self) -> Ints:
        return np.flatnonzero(np.repeat(self.exists, self.channels, axis=1))

    def _slots(self, places: Ints, static: Bools) -> Ints:
        slot, column = np.divmod(places, len(static))
        return np.where(static[column], -1, slot)

    def _spread(self, rows: Array, places: Ints, elsewhere: float) -> Array:
        columns = len(self.static) if places is self._cells else sum(self.channels)
        if len(places) == self.slots * columns:
            return rows.reshape(len(rows), self.slots, columns)
        whole = np.full((len(rows), self.slots * columns), elsewhere, rows.dtype)
        whole[:, places] = rows
        return whole.reshape(len(rows), self.slots, columns)


def _taken(found: Array, places: Ints) -> Array:
    flat = found.reshape(len(found), -1)
    return flat if len(places) == flat.shape[1] else flat[:, places]


@lru_cache
def layout_of(slots: int, channels: tuple[int, ...], static: tuple[bool, ...]) -> Layout:
    """The same object each time: what it has worked out is kept."""
    return Layout(slots, channels, static)
