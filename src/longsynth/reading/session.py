"""The session in which patients' tables are read: DuckDB, a scratch folder, and one error seal.

Cohort folders and imports use the same session. DuckDB never contacts the network. No error of a
reader passes on its text, which may quote a cell. Columns in which a single cell could stop DuckDB
are copied first, see parquet.py.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from longsynth.reading.columns import Types, chosen_columns, literal, require_columns
from longsynth.reading.csv_file import open_csv, text_to_parquet
from longsynth.reading.parquet import ROWS_OF_NUMBERS, column_types, safe_file
from longsynth.system.errors import Code, CohortError, without_cells
from longsynth.system.scratch import ScratchFolder

MEMORY_PER_VARIABLE = 8  # MB that DuckDB may use before it sorts on disk, beside a base amount


@dataclass(frozen=True, slots=True)
class Table:
    """Columns that can be scanned. A time stamp is a number there: hours since 1970."""

    file: Path
    types: Types  # as they were stored
    notes: dict[str, int] = field(default_factory=dict)  # counts of a CSV file; raw facts

    @property
    def scan(self) -> str:
        """SQL for the table."""
        return scan(self.file)


class Session:
    """Close it to remove its scratch folder. `problem` is what a refusal says in place of a
    reader's error."""

    def __init__(self, variables: int, *, memory: int, problem: str) -> None:
        self._scratch = ScratchFolder()
        self._problem, self._copies = problem, 0
        self.connection = connect(
            str(self._scratch.path), memory=memory + MEMORY_PER_VARIABLE * variables, threads=2
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()
        self._scratch.close()

    def guard(self) -> AbstractContextManager[None]:
        """Replace the error of a reader by ours, without its text."""
        return without_cells(self._problem)

    def run(self, query: str) -> None:
        with self.guard():
            self.connection.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.guard():
            return self.connection.execute(query).fetchall()

    def row(self, query: str) -> tuple[int, ...]:
        return tuple(self.rows(query)[0])

    def texts(self, query: str) -> list[str]:
        """The texts of one column, without nulls."""
        return [str(text) for (text,) in self.rows(query) if text is not None]

    def batches(self, query: str) -> Iterator[pa.RecordBatch]:
        with self.guard():
            reader = self.connection.cursor().sql(query).to_arrow_reader(ROWS_OF_NUMBERS)
        return self.guarded(reader)

    def guarded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass batches on, each read under the guard."""
        while True:
            with self.guard():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def count_patients(self) -> int:
        """Return the rows of `people`. Each is a patient, whatever else is known of it. This number
        is public, so no other table may decide it."""
        number, known, distinct = self.row(
            "SELECT count(*), count(id), count(DISTINCT id) FROM people"
        )
        require_distinct(number, known, distinct)
        return number

    def new_file(self) -> Path:
        """The path of a new file in the scratch folder."""
        self._copies += 1
        return self._scratch.path / f"{self._copies}.parquet"

    def parquet(
        self, path: Path, label: str, needed: Sequence[str], wanted: Sequence[str] = ()
    ) -> Table:
        """Open columns of a Parquet file: all that are needed, and those that exist of others."""
        return self.table(
            path, label, lambda file: chosen_columns(label, column_types(file), needed, wanted)
        )

    def table(self, path: Path, label: str, choose: Callable[[Path], Types]) -> Table:
        """Open the chosen columns of a Parquet file: in place if they are safe, else as a copy."""
        with without_cells(f"{label} cannot be read."):
            path = path.absolute()  # Arrow would expand ~
            types = choose(path)
            return Table(safe_file(path, types, self.new_file()), types)

    def csv(self, path: Path, label: str, needed: Sequence[str]) -> Table:
        """Copy columns of a CSV file as text."""
        copy, columns = self.new_file(), list(dict.fromkeys(needed))
        with open_csv(path, label) as opened:
            require_columns(label, opened.header, columns)
            too_long = text_to_parquet(opened.header, opened.rows(), copy, columns)
        notes = {
            "cells_with_a_line_break": opened.with_line_breaks,
            "cells_that_are_too_long": too_long,
        }
        return Table(copy, dict(column_types(copy)), notes)


def connect(scratch: str, *, memory: int, threads: int) -> duckdb.DuckDBPyConnection:
    """Return a database that never contacts the network, prints nothing and reads time stamps the
    same way on every machine."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",  # they would come from the network
            "autoload_known_extensions": "false",
            "memory_limit": f"{memory}MB",
            "threads": str(threads),
            "temp_directory": scratch,
        },
    )
    connection.execute("SET enable_progress_bar = false")  # it would show private rows
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # for time stamps without a zone
    return connection


def require_distinct(patients: int, with_id: int, distinct: int) -> None:
    """Refuse a patient table that is empty, or in which an id is missing or repeated."""
    if with_id < patients:
        raise CohortError(
            Code.PATIENT_IDS,
            "the patient table has a row without a readable id.",
            "Give every patient an id in UTF-8 of at most 1,024 bytes.",
        )
    if distinct < patients:
        raise CohortError(
            Code.PATIENT_IDS,
            "the patient table has an id twice.",
            "Give every patient exactly one row.",
        )
    if patients == 0:
        raise CohortError(
            Code.NO_PATIENTS, "the patient table is empty.", "Add one row for each patient."
        )


def scan(file: Path) -> str:
    return f"read_parquet({literal(no_pattern(file))}, hive_partitioning = false)"


def no_pattern(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path.absolute()))
