"""A cohort's two tables, read in the order of patients and joined batch by batch.

A file that is sorted by patient is read as it is: by Arrow if every cell is a number, otherwise by
DuckDB. DuckDB first sorts files that are not sorted, and ids that are text, on disk if necessary.
The two streams are read once and neither is kept: memory is that of one batch of patients, however
many there are. Rows of one patient may come in any order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.reading.parquet import numbers, parquet_batches, read_numbers, times, unread
from longsynth.reading.records import BATCH
from longsynth.reading.session import Session
from longsynth.reading.slots import Grouped
from longsynth.schema.columns import TIME_UNITS
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints, sizes_only

CELLS = 1 << 22  # that are read together, at most, so that wide records need no more memory
_NUMBERED = "(SELECT *, row_number() OVER (ORDER BY id) AS number FROM people)"


@dataclass(frozen=True, slots=True)
class People:
    """Some patients, in the order of their ids."""

    id: Ints  # (n,), ascending
    labels: Ints  # (n, 3): site, group, event
    static: Floats  # (n, V)

    __repr__ = sizes_only


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows as they were read. Columns stay in Arrow until their rows are joined."""

    id: Ints  # (R,), ascending
    time: Floats  # (R,), hours
    columns: Sequence[pa.Array]  # of the variables over time

    __repr__ = sizes_only

    def part(self, start: int, end: int) -> "Block":
        cut = slice(start, end)
        columns = [column.slice(start, end - start) for column in self.columns]
        return Block(self.id[cut], self.time[cut], columns)


@dataclass(frozen=True, slots=True)
class Order:
    """How the ids of a file follow each other."""

    rows: int
    known: int  # rows that have an id
    rising: bool  # no id comes before a smaller one, ignoring rows without an id
    distinct: bool  # and no id comes twice


@dataclass(frozen=True, slots=True)
class Stored:
    """What a whole file was seen to hold, on the way."""

    rows: int
    timed: int  # rows that have a time
    unread: dict[str, int]  # of each variable: cells that are not empty and no finite number


def at_once(schema: Schema) -> int:
    """How many patients are read together."""
    codes = schema.slots * len(schema.code_names) // 8  # a code takes one byte, a value eight
    return max(min(BATCH, CELLS // (schema.width + codes)), 1)


def order_of(file: Path, column: str) -> Order:
    """Read a column of whole numbers and return how they are ordered."""
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


class Streams:
    """Reads the views `people` and `rows` of a session, as often as needed."""

    def __init__(
        self,
        session: Session,
        schema: Schema,
        rows: Path,
        people: Path,
        *,
        whole: bool,  # ids are whole numbers: they can be compared without DuckDB
    ) -> None:
        self._session, self._schema = session, schema
        self._rows, self._whole = rows, whole
        patient = schema.patient.column
        with session.guard():
            self.people_order: Order | None = order_of(people, patient) if whole else None
            self._rising = whole and order_of(rows, patient).rising
            self._by_arrow = self._rising and _has_only_numbers(schema, rows)
        self.stored: Stored | None = None  # from the first pass by Arrow that came to the end
        self._batch = at_once(schema)
        self._static = [v for v, variable in enumerate(schema.variables) if variable.static]
        self._moving = [v for v, variable in enumerate(schema.variables) if not variable.static]
        self._moving += [len(schema.variables) + i for i in range(len(schema.codes))]

    def by_patient(self) -> Iterator[Grouped]:
        """Yield the rows of the same number of patients each time: the size of a batch must not
        depend on rows."""
        blocks = self._blocks_by_arrow() if self._by_arrow else self._blocks()
        return joined_by_patient(self._some_people(), blocks, self._moving)

    def _some_people(self) -> Iterator[People]:
        about = ", ".join(["site", "grp", "event", *(f"v{v}" for v in self._static)])
        query = f"SELECT id, {about} FROM people ORDER BY id"
        if self.people_order and self.people_order.rising:
            query = f"SELECT id, {about} FROM people"
        elif not self._whole:
            query = f"SELECT number, {about} FROM {_NUMBERED} ORDER BY number"
        for table in _in_steps(self._session.batches(query), self._batch):
            id_, site, group, event, *cells = (c.combine_chunks() for c in table.columns)
            static = np.full((len(self._schema.variables), len(table)), np.nan)
            for v, column in zip(self._static, cells, strict=True):
                read_numbers(column, static[v])
            labels = [numbers(label, pa.int64()) for label in (site, group, event)]
            yield People(numbers(id_, pa.int64()), np.stack(labels, axis=1), static.T)

    def _blocks(self) -> Iterator[Block]:
        """Yield the rows that have a patient and a time."""
        cells = ", ".join(f"v{v}" for v in self._moving)
        query = f"SELECT id, time, {cells} FROM rows WHERE id IS NOT NULL"
        if not self._whole:
            query = f"SELECT number, time, {cells} FROM rows JOIN {_NUMBERED} USING (id)"
        order = "" if self._rising else "ORDER BY 1"
        for batch in self._session.batches(f"{query} {order}"):
            id_, time, *columns = batch.columns
            if len(batch):
                yield Block(numbers(id_, pa.int64()), numbers(time, pa.float64()), columns)

    def _blocks_by_arrow(self) -> Iterator[Block]:
        """The same, for a sorted file in which every cell is a number."""
        schema = self._schema
        patient, clock = schema.patient.column, schema.time.column
        unit = TIME_UNITS.get(schema.time.unit, 1.0)  # time stamps were copied as hours
        values = [schema.variables[v].column or schema.variables[v].name for v in self._moving]
        columns = list(dict.fromkeys([patient, clock, *values]))
        rows, timed, none = 0, 0, dict.fromkeys(values, 0)
        for batch in self._session.guarded(parquet_batches(self._rows, columns)):
            with self._session.guard():
                time = times(batch.column(clock), unit)
                usable = np.isfinite(time)
                if self.stored is None:
                    rows, timed = rows + len(batch), timed + int(np.count_nonzero(usable))
                    none = {name: n + unread(batch.column(name)) for name, n in none.items()}
                if batch.column(patient).null_count:
                    usable &= batch.column(patient).is_valid().to_numpy(zero_copy_only=False)
                if not usable.all():
                    batch, time = batch.filter(pa.array(usable)), time[usable]
                id_ = numbers(batch.column(patient), pa.int64())
            if len(batch):
                yield Block(id_, time, [batch.column(name) for name in values])
        of_variables = zip(self._moving, values, strict=True)
        cells = {schema.variables[v].name: none[column] for v, column in of_variables}
        self.stored = self.stored or Stored(rows, timed, cells)


def _has_only_numbers(schema: Schema, rows: Path) -> bool:
    """Whether every cell is stored as the number that DuckDB would read."""
    if schema.codes or any(v.levels is not None for v in schema.variables if not v.static):
        return False
    kinds = {field.name: field.type for field in pq.read_schema(rows)}
    wanted = [v.column or v.name for v in schema.variables if not v.static]
    return all(_is_machine_number(kinds[name]) for name in [schema.time.column, *wanted])


def _is_machine_number(kind: pa.DataType) -> bool:
    t = pa.types
    return any(test(kind) for test in (t.is_integer, t.is_float32, t.is_float64, t.is_boolean))


def _in_steps(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Yield the same rows, `size` at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= size:
            table = pa.Table.from_batches(waiting)
            ready = len(table) - len(table) % size
            yield from (table.slice(start, size) for start in range(0, ready, size))
            waiting = table.slice(ready).to_batches()
    if any(map(len, waiting)):
        yield pa.Table.from_batches(waiting)


def joined_by_patient(
    people: Iterable[People], blocks: Iterator[Block], places: Sequence[int]
) -> Iterator[Grouped]:
    """Yield the rows of each batch of patients, without rows of patients who are not in the patient
    table. `places` are the positions of the columns' variables."""
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
    variables = people.static.shape[1]
    cells = np.empty((len(time), max(variables, *(place + 1 for place in places))))
    if len(places) < cells.shape[1]:
        cells[:] = np.nan
    start = 0
    for part in parts:
        end = start + len(part.id)
        for v, column in zip(places, part.columns, strict=True):
            read_numbers(column, cells[start:end, v])
        start = end
    if len(owner) < len(time):
        time, cells = time[known], cells[known]
    back = np.flatnonzero(time[1:] < time[:-1])  # where a patient begins, or rows are unsorted
    if (owner[back] == owner[back + 1]).any():
        order = np.lexsort((time, owner))
        owner, time, cells = owner[order], time[order], cells[order]
    values, codes = cells[:, :variables], cells[:, variables:]
    return Grouped(owner, time, values, people.labels, people.static, codes)


def _owners(people: Ints, rows: list[Ints]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the position of each known row's patient, and which rows are known."""
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
