"""How a cohort's two tables are read in the order of patients.

A file that rises by patient is read as it stands: by Arrow where every cell is a number, otherwise
by DuckDB. What does not rise, and ids that are text, DuckDB sorts first, on disk where it must.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.by_patient import (
    ROWS,
    Block,
    Order,
    People,
    joined_by_patient,
    numbers,
    order_of,
    parquet_batches,
    read_numbers,
    times,
)
from longsynth.reading.reading import unreadable
from longsynth.reading.records import BATCH
from longsynth.reading.slots import Grouped
from longsynth.schema.schema import TIME_UNITS, Schema
from longsynth.system.reader_errors import without_cells

CELLS = 1 << 22  # that come together at the most, so that wide records need no more memory
_NUMBERED = "(SELECT *, row_number() OVER (ORDER BY id) AS number FROM people)"


class Streams:
    """Reads the views `people` and `rows` of a connection, as often as asked."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
        schema: Schema,
        rows: Path,
        people: Path,
        *,
        whole: bool,  # ids are whole numbers: they can be compared without DuckDB
    ) -> None:
        self._connection, self._schema = connection, schema
        self._problem = unreadable(folder)
        self._rows, self._whole = rows, whole
        with without_cells(self._problem):
            patient = schema.patient.column
            self.people_order: Order | None = order_of(people, patient) if whole else None
            self._rise = whole and order_of(rows, patient).rising
            self._plain = whole and _has_numbers_alone(schema, rows)
        self._batch = max(min(BATCH, CELLS // schema.width), 1)
        self._static = [v for v, variable in enumerate(schema.variables) if variable.static]
        self._moving = [v for v, variable in enumerate(schema.variables) if not variable.static]

    def by_patient(self) -> Iterator[Grouped]:
        """Yield the rows of the same number of patients each time: how many come together must not
        tell of rows."""
        blocks = self._plain_blocks() if self._rise and self._plain else self._blocks()
        return joined_by_patient(self._some_people(), blocks, self._moving)

    def _some_people(self) -> Iterator[People]:
        about = ", ".join(["site", "grp", "event", *(f"v{v}" for v in self._static)])
        query = f"SELECT id, {about} FROM people ORDER BY id"
        if self.people_order and self.people_order.rising:
            query = f"SELECT id, {about} FROM people"
        elif not self._whole:
            query = f"SELECT number, {about} FROM {_NUMBERED} ORDER BY number"
        for table in _in_steps(self._read(query), self._batch):
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
        order = "" if self._rise else "ORDER BY 1"
        for batch in self._read(f"{query} {order}"):
            id_, time, *columns = batch.columns
            if len(batch):
                yield Block(numbers(id_, pa.int64()), numbers(time, pa.float64()), columns)

    def _plain_blocks(self) -> Iterator[Block]:
        """The same where every cell is a number already."""
        schema = self._schema
        patient, clock = schema.patient.column, schema.time.column
        unit = TIME_UNITS.get(schema.time.unit, 1.0)  # stamps were copied as hours
        values = [schema.variables[v].column or schema.variables[v].name for v in self._moving]
        batches = parquet_batches(self._rows, list(dict.fromkeys([patient, clock, *values])))
        while True:
            with without_cells(self._problem):
                batch = next(batches, None)
                if batch is None:
                    return
                time = times(batch.column(clock), unit)
                usable = np.isfinite(time)
                if batch.column(patient).null_count:
                    usable &= batch.column(patient).is_valid().to_numpy(zero_copy_only=False)
                if not usable.all():
                    batch, time = batch.filter(pa.array(usable)), time[usable]
                id_ = numbers(batch.column(patient), pa.int64())
            if len(batch):
                yield Block(id_, time, [batch.column(name) for name in values])

    def _read(self, query: str) -> Iterator[pa.RecordBatch]:
        with without_cells(self._problem):
            reader = self._connection.cursor().sql(query).to_arrow_reader(ROWS)
        while True:
            with without_cells(self._problem):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch


def _has_numbers_alone(schema: Schema, rows: Path) -> bool:
    """Whether DuckDB would read every cell as the number that stands there."""
    if any(v.levels is not None for v in schema.variables if not v.static):
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
