"""Two streams that rise by patient, of patients and of rows, joined batch by batch.

Both are read once and neither is kept: memory is that of one batch of patients, however many
there are. Rows of one patient may come in any order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.reading.slots import Grouped
from longsynth.system.arrays import Floats, Ints

ROWS = 131_072  # a batch, at most
BUFFER = 1 << 18  # bytes of a column that are read at once: a row group can have any size, and
# what is read stays in a processor's cache until it is unpacked


@dataclass(frozen=True, slots=True)
class People:
    """Some patients, in the order of their ids."""

    id: Ints  # (n,), rising
    labels: Ints  # (n, 3): site, group, event
    static: Floats  # (n, V)


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows as they were read. Columns stay in Arrow until it is known which go together."""

    id: Ints  # (R,), rising
    time: Floats  # (R,), hours
    columns: Sequence[pa.Array]  # of what changes over time

    def part(self, start: int, end: int) -> "Block":
        cut = slice(start, end)
        columns = [column.slice(start, end - start) for column in self.columns]
        return Block(self.id[cut], self.time[cut], columns)


@dataclass(frozen=True, slots=True)
class Order:
    """How the ids of a file follow each other."""

    rows: int
    known: int  # rows that have an id
    rising: bool  # none comes before a smaller one; those without an id aside
    distinct: bool  # and none comes twice


def order_of(file: Path, column: str) -> Order:
    """Read whole numbers, and say how they are ordered."""
    rows = known = 0
    rising = distinct = True
    last: int | None = None
    for batch in parquet_batches(file, [column]):
        ids, rows = batch.column(column), rows + batch.num_rows
        ids = numbers(ids.drop_null() if ids.null_count else ids, pa.int64())
        known += len(ids)
        if len(ids) and rising:
            rising = bool((ids[1:] >= ids[:-1]).all()) and (last is None or bool(ids[0] >= last))
            fresh = distinct and bool((ids[1:] > ids[:-1]).all())
            distinct, last = fresh and (last is None or bool(ids[0] > last)), ids[-1]
    return Order(rows, known, rising, rising and distinct)


def parquet_batches(file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield up to ROWS rows at a time; a batch that ends with its row group costs a copy less."""
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER) as opened:
        size = opened.metadata.row_group(0).num_rows if opened.num_row_groups else 0
        rows = ceil(size / ceil(size / ROWS)) if size > ROWS else ROWS
        yield from opened.iter_batches(rows, columns=columns, use_threads=False)


def joined_by_patient(
    people: Iterable[People], blocks: Iterator[Block], places: Sequence[int]
) -> Iterator[Grouped]:
    """Yield the rows of each batch of patients; `places` are the columns' variables. Rows of
    patients who are not in the table are left out."""
    waiting = next(blocks, None)
    for some in people:
        parts: list[Block] = []
        while waiting is not None:
            end = int(np.searchsorted(waiting.id, some.id[-1], side="right"))
            if end:
                parts.append(waiting.part(0, end))
            if end < len(waiting.id):
                waiting = waiting.part(end, len(waiting.id))
                break
            waiting = next(blocks, None)
        yield _grouped(some, parts, places)


def _grouped(people: People, parts: list[Block], places: Sequence[int]) -> Grouped:
    owner, known = _owners(people.id, [part.id for part in parts])
    time = _joined([part.time for part in parts], np.float64)
    values = np.empty((len(time), people.static.shape[1]))
    if len(places) < values.shape[1]:
        values[:] = np.nan
    start = 0
    for part in parts:
        end = start + len(part.id)
        for v, column in zip(places, part.columns, strict=True):
            read_numbers(column, values[start:end, v])
        start = end
    if len(owner) < len(time):
        time, values = time[known], values[known]
    back = np.flatnonzero(time[1:] < time[:-1])  # where the next patient begins, and elsewhere?
    if (owner[back] == owner[back + 1]).any():
        order = np.lexsort((time, owner))
        owner, time, values = owner[order], time[order], values[order]
    return Grouped(owner, time, values, people.labels, people.static)


def _owners(people: Ints, rows: list[Ints]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the position of the patient of each known row, and which rows are known if not all."""
    ids = _joined(rows, np.int64)
    fresh = np.ones(len(ids), np.bool_)
    np.not_equal(ids[1:], ids[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    number, theirs = np.diff(first, append=len(ids)), ids[first]
    place = np.minimum(np.searchsorted(people, theirs), len(people) - 1)
    known = people[place] == theirs
    if known.all():
        return np.repeat(place, number), known
    return np.repeat(place[known], number[known]), np.repeat(known, number)


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, kind), *parts])


def numbers(column: pa.Array, kind: pa.DataType) -> NDArray[Any]:
    """A column without gaps as it stands in memory. `to_numpy` would load pandas, where it is."""
    return np.from_dlpack(column if column.type == kind else column.cast(kind))


def times(column: pa.Array, unit: float) -> Floats:
    """A column in hours, of which so many are a unit; NaN where there is nothing."""
    if column.type == pa.float64() and not column.null_count:
        found = numbers(column, pa.float64())
    else:
        found = np.empty(len(column))
        read_numbers(column, found)
    with np.errstate(over="ignore"):
        return found if unit == 1 else found * unit


def read_numbers(column: pa.Array, out: Floats) -> None:
    """Write a column's numbers, NaN where there is none. Arrow's own way there is slower."""
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    known, data = column.buffers()
    if len(column) == column.null_count or data is None:
        out[:] = np.nan
        return
    stored = np.frombuffer(data, np.float64, len(column), 8 * column.offset)
    if column.null_count == 0:
        out[:] = stored
        return
    bits, end = np.frombuffer(known, np.uint8), column.offset + len(column)
    there = np.unpackbits(bits, count=end, bitorder="little")[column.offset :].view(np.int8)
    there -= 1  # all bits set is a NaN, none leaves a number as it is
    np.bitwise_or(stored.view(np.int64), there.astype(np.int64), out=out.view(np.int64))
