"""The shape of a record: as arrays by slot and variable, and as one row of numbers.

A row goes slot by slot, and within each slot variable by variable. A variable takes one channel; a
nominal variable takes one channel per level. A static variable is measured once per patient: it
stands in the first slot, even if the patient has no slots, and nowhere else. A cell is one slot of
one variable: a place where a value can be observed or missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from longsynth.system.arrays import Bools, Bytes, Floats, Ints

Array = NDArray[Any]


@runtime_checkable
class Trajectories(Protocol):
    """N patients in T slots of V variables, real or synthetic. See `Cohort` for the arrays."""

    @property
    def patients(self) -> int: ...
    @property
    def values(self) -> Floats: ...
    @property
    def observed(self) -> Bools: ...
    @property
    def gaps(self) -> Floats: ...
    @property
    def length(self) -> Ints: ...
    @property
    def group(self) -> Ints: ...
    @property
    def event(self) -> Ints: ...
    @property
    def site(self) -> Ints: ...
    @property
    def codes(self) -> Bytes: ...


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
        """(D,): the slot of each number in a row of values; -1 for static variables."""
        return self._slots(self._values, np.repeat(self.static, self.channels))

    @property
    def cell_slot(self) -> Ints:
        """(cells,): the slot of each number in a row of masks; -1 for static variables."""
        return self._slots(self._cells, np.array(self.static))

    def value_rows(self, encoded: Array) -> Array:
        """(n, T, channels) to (n, D)."""
        return _taken(encoded, self._values)

    def cell_rows(self, cells: Array) -> Array:
        """(n, T, V) to (n, cells)."""
        return _taken(cells, self._cells)

    def values_of(self, rows: Array) -> Array:
        """(n, D) to (n, T, channels); 0 where there is nothing."""
        return self._spread(rows, self._values, 0)

    def cells_of(self, rows: Array, elsewhere: float) -> Array:
        """(n, cells) to (n, T, V); `elsewhere` fills the places where a record has no cell."""
        return self._spread(rows, self._cells, elsewhere)

    def up_to(self, length: Ints) -> Bools:
        """(n, T, V): the cells of records of these lengths: the slots in use, and static cells."""
        lengths, which = np.unique(np.clip(length, 0, self.slots), return_inverse=True)
        slot = np.arange(self.slots)[:, None]
        by_length = np.where(self.static, slot == 0, slot < lengths[:, None, None])
        return np.asarray(by_length[which])  # looking a record up is faster than making it

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


def packed_codes(
    shape: tuple[int, int], codes: int, patient: Ints, slot: Ints, code: Ints
) -> Bytes:
    """(n, T, bytes): one bit for each code, from the places where a code is given."""
    packed = np.zeros((*shape, -(-codes // 8)), np.uint8)
    np.bitwise_or.at(packed, (patient, slot, code >> 3), (128 >> (code & 7)).astype(np.uint8))
    return packed


def given_codes(packed: Bytes) -> tuple[Ints, Ints, Ints]:
    """Return patient, slot and code wherever a code is given, in this order."""
    patient, slot, byte = np.nonzero(packed)
    row, bit = np.nonzero(np.unpackbits(packed[patient, slot, byte][:, None], axis=1))
    return patient[row], slot[row], 8 * byte[row] + bit


def unpacked_codes(packed: Bytes, codes: int) -> Bools:
    """(…, codes): True where a code is given, from bits along the last axis."""
    return np.unpackbits(packed, axis=-1, count=codes).view(np.bool_)


def _taken(arrays: Array, places: Ints) -> Array:
    flat = arrays.reshape(len(arrays), -1)
    return flat if len(places) == flat.shape[1] else flat[:, places]


@lru_cache
def layout_of(slots: int, channels: tuple[int, ...], static: tuple[bool, ...]) -> Layout:
    """Return the same object each time, so that its cached properties are computed once."""
    return Layout(slots, channels, static)
