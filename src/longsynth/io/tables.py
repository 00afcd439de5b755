"""Cohort folders: observations, patients and schema.yaml, read as patients.

Public mistakes raise: a missing file or column, an id twice in the patient table. Private facts
never do: what cannot be read in a cell is missing, and `repairs` counts it for the internal side.
DuckDB sorts and joins, out of core where it must; its messages can quote cells, so none of them
is passed on.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from longsynth.errors import CohortError
from longsynth.io.columns import require_columns
from longsynth.io.lines import csv_header, csv_to_parquet
from longsynth.io.plain import column_types, copy_plain, is_number
from longsynth.io.reading import (
    cohort_schema,
    connect,
    people_columns,
    reading,
    require_distinct,
    row_columns,
    unread_cells,
    unread_labels,
)
from longsynth.io.sql import literal, no_glob
from longsynth.records import Cohort, rebatched
from longsynth.schema import Schema
from longsynth.slots import Rows, pack, row_counts

ROWS = 65_536  # a batch from DuckDB
MEMORY, MEMORY_A_VARIABLE = 256, 8  # MB that DuckDB may hold before it sorts on disk


class CohortFolder:
    """The patients of a folder, in batches, as often as needed. Close it to remove its scratch."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.schema = cohort_schema(self.folder)
        self._scratch = tempfile.TemporaryDirectory(prefix="longsynth-")
        self._uneven = 0  # lines of CSV with too many or too few cells
        memory = MEMORY + MEMORY_A_VARIABLE * len(self.schema.variables)
        self._connection = connect(self._scratch.name, memory=memory, threads=2)
        try:
            self._prepare()
            self.patients = self._count_patients()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._scratch.cleanup()

    def batches(self) -> Iterator[Cohort]:
        """Yield every patient of the patient table once, the same number in every batch."""
        return rebatched(pack(rows, self.schema) for rows in self._rows())

    def _rows(self) -> Iterator[Rows]:
        """Yield the rows of whole patients as DuckDB happens to bring them."""
        names = ", ".join(f"v{v}" for v in range(len(self.schema.variables)))  # static ones too
        query = f"""
            SELECT number, site, grp, event, time, {names}
            FROM people LEFT JOIN rows USING (id) ORDER BY number, time"""
        with unquoted(self.folder):
            reader = self._connection.cursor().sql(query).to_arrow_reader(ROWS)
        rest: pa.Table | None = None
        while True:
            with unquoted(self.folder):
                batch = next(reader, None)
            if batch is None:
                break
            table = pa.Table.from_batches([batch])
            table = table if rest is None else pa.concat_tables([rest, table])
            number = table.column("number").to_numpy()
            whole = int(np.searchsorted(number, number[-1])) if len(number) else 0
            if whole:
                yield self._as_rows(table.slice(0, whole))
            rest = table.slice(whole)
        if rest is not None and len(rest):
            yield self._as_rows(rest)

    def repairs(self) -> dict[str, Any]:
        """Count what was read differently than it stands in the files. Not for release."""
        unread = {static: unread_cells(self.schema, static=static) for static in (False, True)}
        levels = unread_labels(self.schema)
        with unquoted(self.folder):
            cells = {
                name: number
                for static, table in ((False, self._observations), (True, self._people))
                if unread[static]
                for name, number in zip(
                    unread[static],
                    self._one_row(f"SELECT {', '.join(unread[static].values())} FROM {table}"),
                    strict=True,
                )
            }
            labels_ = self._one_row(f"SELECT {', '.join(levels.values())} FROM {self._people}")
            total = self._one_row(f"SELECT count(*) FROM {self._observations}")
            usable = self._one_row("SELECT count(*) FROM rows")
            unknown = self._one_row("SELECT count(*) FROM rows ANTI JOIN people USING (id)")
            empty = self._one_row("SELECT count(*) FROM people ANTI JOIN rows USING (id)")
        slotted: Counter[str] = Counter()
        for rows in self._rows():
            slotted.update(row_counts(rows, self.schema))
        return {
            "rows": total[0],
            "csv_lines_with_too_many_or_too_few_cells": self._uneven,
            "rows_without_usable_time": total[0] - usable[0],
            "rows_of_unknown_patients": unknown[0],
            "patients_without_rows": empty[0],
            **slotted,
            "cells_not_a_finite_number": cells,
            "labels_set_to_the_first_level": dict(zip(levels, labels_, strict=True)),
        }

    def _prepare(self) -> None:
        """Define the views `people` and `rows`, both in longsynth's own names and units."""
        self._observations, rows = self._table("observations", row_columns(self.schema))
        self._people, people = self._table("patients", people_columns(self.schema))
        read = reading(self.schema, rows, people)
        with unquoted(self.folder):
            self._connection.execute(f"""
                CREATE VIEW people AS SELECT row_number() OVER (ORDER BY id) AS number, *
                FROM (SELECT {read.people} FROM {self._people})""")
            self._connection.execute(f"""
                CREATE VIEW rows AS SELECT * FROM (SELECT {read.rows} FROM {self._observations})
                WHERE isfinite(time)""")

    def _table(self, name: str, columns: list[str]) -> tuple[str, dict[str, pa.DataType]]:
        """Return the SQL that scans a table of the folder, Parquet first, and its types."""
        path, text = self.folder / f"{name}.parquet", self.folder / f"{name}.csv"
        copy = Path(self._scratch.name) / f"{name}.parquet"
        if not path.is_file():
            if not text.is_file():
                raise CohortError(
                    f"{self.folder} has neither {name}.parquet nor {name}.csv: add one of them."
                )
            with _readable(text):
                require_columns(name, csv_header(text, self.schema.patient.column), columns)
                self._uneven += csv_to_parquet(text, copy, list(dict.fromkeys(columns)))
            path = copy
        with unquoted(self.folder, f"has no readable {name} table: is the file damaged?"):
            found = column_types(path)
            require_columns(name, [column for column, _ in found], columns)
            types = {column: kind for column, kind in found if column in columns}
            if path != copy and not all(map(is_number, types.values())):
                copy_plain(path, copy, list(types))
                path = copy
        return f"read_parquet({literal(no_glob(path))}, hive_partitioning = false)", types

    def _count_patients(self) -> int:
        with unquoted(self.folder):
            number, known, distinct = self._one_row(
                "SELECT count(*), count(id), count(DISTINCT id) FROM people"
            )
        require_distinct(number, known, distinct)
        return int(number)

    def _as_rows(self, table: pa.Table) -> Rows:
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        values = [columns[f"v{v}"] for v in range(len(self.schema.variables))]
        labels = [columns[name].astype(np.int64) for name in ("site", "grp", "event")]
        return Rows(
            columns["number"], columns["time"], np.stack(values, axis=1), np.stack(labels, axis=1)
        )

    def _one_row(self, query: str) -> tuple[int, ...]:
        return tuple(self._connection.execute(query).fetchall()[0])


def read_cohort(folder: Path | str) -> tuple[Schema, Cohort]:
    """Return a folder's schema and all its patients in memory."""
    with CohortFolder(folder) as source:
        return source.schema, Cohort.joined(source.batches())


@contextmanager
def unquoted(folder: Path, problem: str = "cannot be read: is a file damaged?") -> Iterator[None]:
    """Turn a reader's error, whose text may quote a cell, into one that cannot."""
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        error.args = ()
        raise CohortError(
            f"{folder} needs more memory or disk space to be sorted than there is: free some, or "
            "leave out variables."
        ) from None
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        error.args = ()  # its text, which stays within reach of whoever catches ours
        raise CohortError(f"{folder} {problem}") from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CohortError(f"{path} cannot be read: {error.strerror}.") from None
