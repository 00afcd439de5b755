"""What an executor does with its part of the tables.

It reads cells as the local engine does, packs whole patients and adds them up with the same kernel.
Nothing here may say a value: whatever goes wrong, Spark and its logs get the name of an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from longsynth.engines.distributed import Facts
from longsynth.engines.kernel import Contributions, added, batch_sums
from longsynth.engines.spark.partials import Batches, Totals
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.columns import Types
from longsynth.reading.plain import plain_table
from longsynth.reading.reading import connect
from longsynth.reading.records import BATCH, Cohort
from longsynth.reading.slots import Grouped, pack, placed
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools
from longsynth.system.reader_errors import without_cells

Work = Callable[[Batches], Batches]
ROWS = 65_536  # that are brought together
CELLS = 1 << 22  # that are packed together at the most, so that wide records need no more memory
MEMORY = 256  # MB for the cells of one batch
FAILURE = "longsynth failed on an executor with"


class ExecutorError(Exception):
    """Says the name of an error and nothing else."""


def unquoted(work: Work) -> Work:
    """Return the same work, whose errors quote nothing."""
    return partial(_unquoted, work)


def _unquoted(work: Work, batches: Batches) -> Batches:
    with without_cells(_named, every=True):
        yield from work(batches)


def _named(error: Exception) -> ExecutorError:
    return ExecutorError(f"{FAILURE} {type(error).__name__}.")


@dataclass(frozen=True, slots=True)
class ReadCells:
    """Reads the cells of a table as a query says, which calls it `batch`.

    Text ids travel as their bytes: a cluster may have ideas of its own about which letters are
    equal.
    """

    types: Types
    query: str

    def __call__(self, batches: Batches) -> Batches:
        with connect("", memory=MEMORY, threads=1) as connection:
            for batch in batches:
                yield from self._read(batch, connection).to_batches()

    @property
    def columns(self) -> pa.Schema:
        """What comes out: what the query makes of no rows."""
        nothing = pa.RecordBatch.from_pylist([], schema=pa.schema(self.types))
        with connect("", memory=MEMORY, threads=1) as connection:
            return self._read(nothing, connection).schema

    def _read(self, batch: pa.RecordBatch, connection: DuckDBPyConnection) -> pa.Table:
        connection.register("batch", _plain(batch, self.types))
        found = connection.sql(self.query).to_arrow_table()
        text = pa.types.is_string(found.schema.field("id").type)
        return found.set_column(0, "id", found.column("id").cast(pa.binary())) if text else found


def _plain(batch: pa.RecordBatch, types: Types) -> pa.Table:
    """Return the cells of a batch in the types that they stand for, and plain."""
    cells = [
        pa.nulls(len(batch), kind)
        if pa.types.is_null(kind)
        else batch.column(column).cast(kind, safe=False)  # no cell may stop it
        for column, kind in types.items()
    ]
    return plain_table(pa.RecordBatch.from_arrays(cells, list(types)), list(types))


def count_cells(batches: Batches, *, types: Types, counts: Mapping[str, str]) -> Batches:
    """Add up SQL counts over the cells, by name."""
    totals = Totals()
    with connect("", memory=MEMORY, threads=1) as connection:
        for batch in batches:
            connection.register("batch", _plain(batch, types))
            found = connection.execute(
                f"SELECT {', '.join(counts.values())} FROM batch"
            ).fetchall()[0]
            for name, number in zip(counts, found, strict=True):
                totals.add(name, np.array([number], np.int64))
    yield from totals.as_rows(_part())


def sum_patients(
    batches: Batches,
    *,
    schema: Schema,
    statistics: Sequence[Statistic],
    contributions: Contributions,
) -> Batches:
    """Add up this part's patients: one exact sum for each statistic."""
    sums: dict[str, Sums] = {}
    for number, found in enumerate(_patients(batches, schema)):
        cohort = pack(found, schema)
        sums = added(sums, batch_sums(cohort, statistics, contributions, number))
    totals = Totals()
    for name, total in sums.items():
        totals.add(name, total.total, total.rows)
    yield from totals.as_rows(_part())


def tally_patients(
    batches: Batches, *, schema: Schema, tally: Callable[[Cohort], Facts]
) -> Batches:
    """Add up raw facts about this part's patients."""
    totals = Totals()
    for found in _patients(batches, schema):
        cohort = pack(found, schema)
        for name, number in tally(cohort).items():
            totals.add(name, number, cohort.patients)
    yield from totals.as_rows(_part())


def count_rows(batches: Batches, *, schema: Schema) -> Batches:
    """Count what becomes of rows."""
    totals = Totals()
    for patients in _patients(batches, schema):
        found = placed(patients, schema)
        counts = found.counts() | {
            "patients_without_rows": patients.patients - found.people,
            "rows_taken": len(patients.time),
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
    """The number of the part that is worked on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _patients(batches: Batches, schema: Schema) -> Iterator[Grouped]:
    """Yield whole patients from rows that are sorted by id and time, with the row of the patient
    table, which has no time, before all others."""
    most = max(min(BATCH, CELLS // schema.width), 1)
    for table in chain.from_iterable(_few(whole, most) for whole in _whole(batches)):
        found = _known(table, schema)
        if found.patients:
            yield found


def _whole(batches: Batches) -> Iterator[pa.Table]:
    """Yield the same rows, many at a time, cut where a patient ends."""
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
    """Yield the same rows, of so many patients at a time: a record is as wide as the schema says,
    however few rows it has."""
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
    """Return those who stand in the patient table, and their rows."""
    fresh = _begins(table)
    time = table.column("time").to_numpy()
    of_people = np.isnan(time)
    known = of_people[fresh]  # of each id
    owner = np.cumsum(fresh) - 1
    rows = known[owner] & ~of_people
    columns = [table.column(f"v{v}").to_numpy() for v in range(len(schema.variables))]
    labels = [pc.fill_null(table.column(name), 0).to_numpy() for name in ("site", "grp", "event")]
    return Grouped(
        (np.cumsum(known) - 1)[owner[rows]],
        time[rows],
        np.stack([column[rows] for column in columns], axis=1),
        np.stack([label[of_people] for label in labels], axis=1).astype(np.int64),
        np.stack([column[of_people] for column in columns], axis=1),
    )
