"""SparkCohort: patients that stay on a cluster. Only sums come back.

The executors read both tables, bring them together by patient, sort them, and keep them on their
disks until the cohort is closed. Each pass of a fit sends them the kernel, the schema and what is
already released, and receives one exact sum.

Synthetic patients are generated there too: each executor generates parts and writes them to a
folder. Each chunk has its own seed, and a part is a fixed number of chunks, so the files are the
same as those of a single machine.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from longsynth.engines import Contributions, Facts
from longsynth.engines.spark import ask, executor
from longsynth.engines.spark.executor import TOTALS, Batches, Totals
from longsynth.engines.spark.frames import read_table
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.cohort_folder import cohort_schema
from longsynth.reading.columns import (
    Types,
    cohort_columns,
    people_roles,
    row_roles,
    unread_cells,
    unread_labels,
)
from longsynth.reading.records import Cohort
from longsynth.reading.session import require_distinct
from longsynth.sample import CHUNK, sample_chunks
from longsynth.sampling.model import Model
from longsynth.sampling.where import Where, as_texts
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused
from longsynth.system.origin import VERSION
from longsynth.writing.cohort import CHUNKS, part_file, remove_unfinished, write_part, write_schema

PATIENTS_PER_PARTITION = 20_000
_SPARK = {pa.int32(): "int", pa.int64(): "long", pa.float64(): "double", pa.binary(): "binary"}
FAN_IN = 32  # partial sums added in one place
PEOPLE, ROWS = "patients", "observations"


class SparkCohort:
    """The patients of two tables that Spark can read, added up once per pass of a fit.

    `cohort` is a folder with schema.yaml, or a schema. The tables are the folder's
    observations.parquet and patients.parquet, each a file or a folder of files, unless you give
    data frames or names in Spark's catalogue. Close it to drop the sorted copy.
    """

    def __init__(
        self,
        spark: SparkSession,
        cohort: Path | str | Schema,
        *,
        observations: DataFrame | str | None = None,
        patients: DataFrame | str | None = None,
        partitions: int | None = None,
    ) -> None:
        if partitions is not None and partitions < 1:
            raise Refused(
                Code.OPTION_UNUSABLE,
                "the patients need at least one partition.",
                "Give a larger number, or none.",
            )
        places = _places(cohort, observations, patients)
        self.folder = None  # of the tables, where they are the folder's own
        if not isinstance(cohort, Schema) and observations is None and patients is None:
            self.folder = Path(cohort)
        self.schema = cohort if isinstance(cohort, Schema) else cohort_schema(Path(cohort))
        rows, row_types = read_table(spark, ROWS, places[ROWS], row_roles(self.schema))
        people, people_types = read_table(spark, PEOPLE, places[PEOPLE], people_roles(self.schema))
        self._rows, self._people = (rows, row_types), (people, people_types)
        self._columns = cohort_columns(self.schema, row_types, people_types)
        ours = _cells(people, people_types, self._columns.people)
        self.patients = _counted(ours)
        at_least = spark.sparkContext.defaultParallelism
        self.partitions = partitions or max(at_least, -(-self.patients // PATIENTS_PER_PARTITION))
        usable = "WHERE id IS NOT NULL AND isfinite(time)"
        theirs = _cells(rows, row_types, self._columns.rows, usable)
        self._sorted = ask(
            "bring the tables together",
            lambda: (
                ours.unionByName(theirs, allowMissingColumns=True)
                .repartition(self.partitions, "id")
                .sortWithinPartitions("id", F.asc_nulls_first("time"))
                .persist(StorageLevel.DISK_ONLY)
            ),
        )
        # Read everything now, so that a failure shows before a budget book is charged.
        ask("read the tables", self._sorted.count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(Refused):  # if Spark is gone, so is the copy
            ask("drop its sorted copy", lambda: self._sorted.unpersist(blocking=True))

    def sum_over(self, statistics: Sequence[Statistic], contributions: Contributions) -> list[Sums]:
        """Return the exact sum of every statistic over all patients, in one pass.

        `contributions` is sent to the executors: it may hold the schema and earlier releases.
        """
        work = partial(
            executor.sum_patients,
            schema=self.schema,
            statistics=statistics,
            contributions=contributions,
        )
        totals = _added("add up the patients", self._sorted, work, self.partitions)
        return [Sums(s, totals.rows[s.name], totals.total[s.name]) for s in statistics]

    def tally(self, count: Callable[[Cohort], Facts]) -> Facts:
        """Return raw facts, added up over all patients. Not for release."""
        work = partial(executor.tally_patients, schema=self.schema, tally=count)
        return _added("count patients", self._sorted, work, self.partitions).total

    def counted(self, of_rows: Mapping[str, str], of_people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the stored cells of both tables, by name. Not for release."""
        tables = ((self._rows, of_rows), (self._people, of_people))
        totals = [(_cell_counts(*table, counts), counts) for table, counts in tables if counts]
        return {name: total.count(name) for total, counts in totals for name in counts}

    def distinct(self) -> None:
        """Duplicates do not add up over partitions: only one machine counts them."""

    def repairs(self) -> dict[str, Any]:
        """Count what was read differently from how it is stored. Not for release."""
        of_rows = unread_cells(self.schema, static=False)
        of_people = unread_cells(self.schema, static=True)
        of_labels = unread_labels(self.schema)
        read = f"(SELECT {self._columns.rows} FROM batch)"
        usable = f"(SELECT count(*) FROM {read} WHERE isfinite(time))"
        rows = _cell_counts(*self._rows, {"*": "count(*)", "*usable": usable, **of_rows})
        people = _cell_counts(*self._people, of_people | of_labels)
        work = partial(executor.count_rows, schema=self.schema)
        packed = _added("count rows", self._sorted, work, self.partitions)
        taken, alone = packed.total.pop("rows_taken"), packed.total.pop("patients_without_rows")
        return {
            "rows": rows.count("*"),
            "rows_without_usable_time": rows.count("*") - rows.count("*usable"),
            "rows_of_unknown_patients": rows.count("*usable") - int(taken[0]),
            "patients_without_rows": int(alone[0]),
            **{name: packed.count(name) for name in packed.total},
            "cells_not_a_finite_number": {name: rows.count(name) for name in of_rows}
            | {name: people.count(name) for name in of_people},
            "labels_set_to_the_first_level": {name: people.count(name) for name in of_labels},
        }


def _places(
    cohort: Path | str | Schema, rows: DataFrame | str | None, people: DataFrame | str | None
) -> dict[str, DataFrame | str | Path]:
    given = {ROWS: rows, PEOPLE: people}
    if isinstance(cohort, Schema):
        if rows is None or people is None:
            raise Refused(
                Code.COHORT_INCOMPLETE,
                "a schema alone does not say where the patients are.",
                "Give both tables.",
            )
        return {ROWS: rows, PEOPLE: people}
    return {
        name: Path(cohort) / f"{name}.parquet" if table is None else table
        for name, table in given.items()
    }


def _cells(frame: DataFrame, types: Types, selected: str, where: str = "") -> DataFrame:
    """Return a table in longsynth's own names and units, read on the executors."""
    work = executor.ReadCells(types, f"SELECT * FROM (SELECT {selected} FROM batch) {where}")
    columns = ", ".join(f"{field.name} {_SPARK[field.type]}" for field in work.columns)
    return ask("read the tables", lambda: frame.mapInArrow(executor.guarded(work), columns))


def _counted(people: DataFrame) -> int:
    every, known, distinct = ask(
        "count the patients",
        lambda: people.agg(F.count("*"), F.count("id"), F.count_distinct("id")).collect()[0],
    )
    require_distinct(every, known, distinct)
    return int(every)


def _cell_counts(frame: DataFrame, types: Types, counts: Mapping[str, str]) -> Totals:
    work = partial(executor.count_cells, types=types, counts=counts)
    return _added("count cells", frame, work)


def _added(doing: str, frame: DataFrame, work: executor.Work, partitions: int = 1) -> Totals:
    """Return the totals of all partitions, added up in a tree."""

    def tree() -> pa.Table:
        partials, parts = frame.mapInArrow(executor.guarded(work), TOTALS), partitions
        add = executor.guarded(executor.add_totals)
        while parts > FAN_IN:
            parts = -(-parts // FAN_IN)
            partials = partials.withColumn("part", F.col("part") % parts)
            partials = partials.repartition(parts, "part").mapInArrow(add, TOTALS)
        return partials.toArrow()

    totals = Totals()
    totals.add_rows(ask(doing, tree))
    other = totals.versions - {VERSION}
    if other:
        raise Refused(
            Code.SPARK_FAILED,
            f"the executors have longsynth {', '.join(sorted(other))}, but this is {VERSION}.",
            "Install the same version everywhere.",
        )
    return totals


def write_on_spark(
    spark: SparkSession,
    folder: Path,
    model: Model,
    patients: int,
    *,
    seed: int,
    where: Where | None = None,
) -> None:
    """Generate and write patients in parts. Executors must see `folder` under the same path."""
    parts = -(-patients // (CHUNK * CHUNKS))
    next(sample_chunks(model, 1, seed=seed, where=where))  # refuse here, not on an executor
    work = partial(
        _write, folder=folder, model=model, patients=patients, seed=seed, where=as_texts(where)
    )
    numbers = ask("plan the parts", lambda: spark.range(0, parts, 1, parts))
    counts: pa.Table = ask(
        f"generate patients into {folder}",
        lambda: numbers.mapInArrow(executor.guarded(work), "patients long").toArrow(),
    )
    written = [folder / part_file(t, n) for t in ("patients", "observations") for n in range(parts)]
    if sum(counts.column("patients").to_pylist()) != patients or not all(map(Path.exists, written)):
        raise Refused(
            Code.OUTPUT_NOT_WRITTEN,
            f"{folder} lacks parts that executors wrote.",
            "Choose a folder that every machine of the cluster sees under the same path.",
        )
    remove_unfinished(folder)
    write_schema(folder, model.schema)


def _write(
    batches: Batches,
    *,
    folder: Path,
    model: Model,
    patients: int,
    seed: int,
    where: list[str],
) -> Batches:
    for batch in batches:
        for part in batch.column("id").to_pylist():
            chunks = range(part * CHUNKS, min((part + 1) * CHUNKS, -(-patients // CHUNK)))
            some = sample_chunks(model, patients, seed=seed, where=where, chunks=chunks)
            written = write_part(folder, model.schema, some, part=part, first=chunks[0] * CHUNK + 1)
            yield pa.RecordBatch.from_pydict({"patients": [written]})
