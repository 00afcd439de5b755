"""What an executor does with its part of the tables.

It reads cells as the local engine does, puts whole patients into slots and adds them up with the
same kernel. No value may leave in a message: whatever goes wrong, Spark and its logs get only the
name of an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from longsynth.engines import Contributions, Facts, added, batch_sums
from longsynth.engines.spark import FAILURE
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.by_patient import at_once
from longsynth.reading.columns import Types
from longsynth.reading.parquet import safe_table
from longsynth.reading.records import Cohort
from longsynth.reading.session import connect
from longsynth.reading.slots import Grouped, placed
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Ints
from longsynth.system.errors import without_cells
from longsynth.system.origin import VERSION

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]
ROWS = 65_536  # that are read together
MEMORY = 256  # MB for the cells of one batch
TOTALS = "part int, name string, rows long, total binary, version string"  # in Spark's words
_TOTALS = pa.schema(
    {
        "part": pa.int32(),
        "name": pa.string(),
        "rows": pa.int64(),
        "total": pa.binary(),
        "version": pa.string(),
    }
)


class ExecutorError(Exception):
    """Carries the name of an error and nothing else."""


def guarded(work: Work) -> Work:
    """Return the same work; its errors carry only their names."""
    return partial(_guarded, work)


def _guarded(work: Work, batches: Batches) -> Batches:
    with without_cells(_named, every=True):
        yield from work(batches)


def _named(error: Exception) -> ExecutorError:
    return ExecutorError(f"{FAILURE} {type(error).__name__}.")


@dataclass(frozen=True, slots=True)
class ReadCells:
    """Reads the cells of a table, called `batch`, with a query.

    Text ids travel as bytes: a cluster may compare letters by rules of its own.
    """

    types: Types
    query: str

    def __call__(self, batches: Batches) -> Batches:
        with connect("", memory=MEMORY, threads=1) as connection:
            for batch in batches:
                yield from self._read(batch, connection).to_batches()

    @property
    def columns(self) -> pa.Schema:
        """The columns that come out: those of the query over no rows."""
        nothing = pa.RecordBatch.from_pylist([], schema=pa.schema(self.types))
        with connect("", memory=MEMORY, threads=1) as connection:
            return self._read(nothing, connection).schema

    def _read(self, batch: pa.RecordBatch, connection: DuckDBPyConnection) -> pa.Table:
        connection.register("batch", _safe(batch, self.types))
        table = connection.sql(self.query).to_arrow_table()
        text = pa.types.is_string(table.schema.field("id").type)
        return table.set_column(0, "id", table.column("id").cast(pa.binary())) if text else table


def _safe(batch: pa.RecordBatch, types: Types) -> pa.Table:
    """Return the cells of a batch in their own types, in a form in which none can stop DuckDB."""
    cells = [
        pa.nulls(len(batch), kind)
        if pa.types.is_null(kind)
        else batch.column(column).cast(kind, safe=False)  # no cell may stop it
        for column, kind in types.items()
    ]
    return safe_table(pa.RecordBatch.from_arrays(cells, list(types)), list(types))


@dataclass(slots=True)
class Totals:
    """Partial sums on their way to the driver: by name, whole numbers that can only be added, and
    the number of patients behind each."""

    rows: dict[str, int] = field(default_factory=dict)
    total: dict[str, Ints] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)  # of longsynth on the executors

    def add(self, name: str, total: Ints, rows: int = 0, version: str = VERSION) -> None:
        known = self.total.get(name)
        self.total[name] = total if known is None else known + total
        self.rows[name] = self.rows.get(name, 0) + rows
        self.versions.add(version)

    def count(self, name: str) -> int:
        """Return a sum that is a single number; 0 if no row contributed."""
        return int(self.total[name][0]) if name in self.total else 0

    def add_rows(self, batch: pa.RecordBatch | pa.Table) -> None:
        for row in batch.to_pylist():
            total = np.frombuffer(row["total"], "<i8").astype(np.int64)
            self.add(row["name"], total, row["rows"], row["version"])

    def as_rows(self, part: int) -> Batches:
        """Yield them as one batch. `part` is the partition they come from, for grouping."""
        version = ", ".join(sorted(self.versions))
        yield pa.RecordBatch.from_pylist(
            [
                {
                    "part": part,
                    "name": name,
                    "rows": self.rows[name],
                    "total": total.astype("<i8").tobytes(),
                    "version": version,
                }
                for name, total in self.total.items()
            ],
            schema=_TOTALS,
        )


def count_cells(batches: Batches, *, types: Types, counts: Mapping[str, str]) -> Batches:
    """Add up SQL counts over the cells, by name."""
    totals = Totals()
    with connect("", memory=MEMORY, threads=1) as connection:
        for batch in batches:
            connection.register("batch", _safe(batch, types))
            query = f"SELECT {', '.join(counts.values())} FROM batch"
            numbers = connection.execute(query).fetchall()[0]
            for name, number in zip(counts, numbers, strict=True):
                totals.add(name, np.array([number], np.int64))
    yield from totals.as_rows(_part())


def sum_patients(
    batches: Batches,
    *,
    schema: Schema,
    statistics: Sequence[Statistic],
    contributions: Contributions,
) -> Batches:
    """Add up the patients of this partition: one exact sum per statistic."""
    sums: dict[str, Sums] = {}
    for number, rows in enumerate(_patients(batches, schema)):
        cohort = placed(rows, schema).cohort()
        sums = added(sums, batch_sums(cohort, statistics, contributions, number))
    totals = Totals()
    for name, total in sums.items():
        totals.add(name, total.total, total.rows)
    yield from totals.as_rows(_part())


def tally_patients(
    batches: Batches, *, schema: Schema, tally: Callable[[Cohort], Facts]
) -> Batches:
    """Add up raw facts about the patients of this partition."""
    totals = Totals()
    for rows in _patients(batches, schema):
        cohort = placed(rows, schema).cohort()
        for name, number in tally(cohort).items():
            totals.add(name, number, cohort.patients)
    yield from totals.as_rows(_part())


def count_rows(batches: Batches, *, schema: Schema) -> Batches:
    """Count what becomes of rows."""
    totals = Totals()
    for rows in _patients(batches, schema):
        batch = placed(rows, schema)
        counts = batch.counts() | {
            "patients_without_rows": rows.patients - batch.people,
            "rows_taken": len(rows.time),
        }
        for name, number in counts.items():
            totals.add(name, np.array([number], np.int64))
    yield from totals.as_rows(_part())


def add_totals(batches: Batches) -> Batches:
    """Add up partial sums: a step of the tree."""
    totals = Totals()
    for batch in batches:
        totals.add_rows(batch)
    yield from totals.as_rows(_part())


def _part() -> int:
    """The number of the current partition."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _patients(batches: Batches, schema: Schema) -> Iterator[Grouped]:
    """Yield whole patients from rows that are sorted by id and time, with the row of the patient
    table, which has no time, before all others."""
    for table in chain.from_iterable(_few(whole, at_once(schema)) for whole in _whole(batches)):
        rows = _known(table, schema)
        if rows.patients:
            yield rows


def _whole(batches: Batches) -> Iterator[pa.Table]:
    """Yield the same rows, many at a time, never splitting a patient."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        ids = batch.column("id")
        last = pc.index(ids, ids[-1]).as_py()  # where the rows of the last patient begin
        fresh = last or (waiting and waiting[-1].column("id")[-1] != ids[0])
        if fresh and sum(map(len, waiting)) + last >= ROWS:
            yield pa.Table.from_batches([*waiting, batch.slice(0, last)])
            waiting = []
            batch = batch.slice(last)
        waiting.append(batch)
    if waiting:
        yield pa.Table.from_batches(waiting)


def _few(table: pa.Table, most: int) -> Iterator[pa.Table]:
    """Yield the same rows, for at most so many patients at a time: a record is as wide as the
    schema says, however few rows it has."""
    starts = np.flatnonzero(_begins(table))
    for start, end in pairwise([*starts[::most].tolist(), len(table)]):
        yield table.slice(start, end - start)


def _begins(table: pa.Table) -> Bools:
    """(R,): whether a row is its patient's first."""
    ids = table.column("id").combine_chunks()
    first = np.ones(len(ids), np.bool_)
    first[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return first


def _known(table: pa.Table, schema: Schema) -> Grouped:
    """Return the patients of the patient table, and their rows."""
    fresh = _begins(table)
    time = table.column("time").to_numpy()
    of_people = np.isnan(time)
    known = of_people[fresh]  # of each id
    owner = np.cumsum(fresh) - 1
    rows = known[owner] & ~of_people
    variables = len(schema.variables)
    columns = [table.column(f"v{v}").to_numpy() for v in range(variables + len(schema.codes))]
    cells = np.stack([column[rows] for column in columns], axis=1)
    labels = [pc.fill_null(table.column(name), 0).to_numpy() for name in ("site", "grp", "event")]
    return Grouped(
        (np.cumsum(known) - 1)[owner[rows]],
        time[rows],
        cells[:, :variables],
        np.stack([label[of_people] for label in labels], axis=1).astype(np.int64),
        np.stack([column[of_people] for column in columns[:variables]], axis=1),
        cells[:, variables:],
    )
