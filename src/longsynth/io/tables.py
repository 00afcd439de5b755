"""Cohort folders: observations, patients and schema.yaml, read as patients.

Public mistakes raise: a missing file or column, an id twice in the patient table. Private facts
never do: what cannot be read in a cell is missing, and `repairs` counts it for the internal side.
DuckDB sorts and joins, out of core where it must; its messages can quote cells, so none of them
is passed on.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from longsynth.errors import CohortError
from longsynth.io.lines import csv_to_parquet
from longsynth.records import Cohort
from longsynth.schema import TIME_UNITS, Labels, Schema, load_schema
from longsynth.slots import Rows, pack

ROWS = 65_536  # a batch, cut back to whole patients
MEMORY = "1GB"  # what DuckDB may hold before it sorts on disk


class CohortFolder:
    """The patients of a folder, in batches, as often as needed. Close it to remove its scratch."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise CohortError(f"{self.folder} is not a folder: give the cohort's folder.")
        self.schema = load_schema(self.folder / "schema.yaml")
        self._scratch = tempfile.TemporaryDirectory(prefix="longsynth-")
        self._connection = _connect(self._scratch.name)
        try:
            self._observations = self._table("observations")
            self._people = self._table("patients")
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
        """Yield every patient of the patient table once, in batches."""
        names = ", ".join(f"v{v}" for v in range(len(self.schema.variables)))
        query = f"""
            SELECT number, site, grp, event, time, {names}
            FROM people LEFT JOIN rows USING (id) ORDER BY number, time"""
        with _unquoted(self.folder):
            reader = self._connection.cursor().sql(query).to_arrow_reader(ROWS)
        rest: pa.Table | None = None
        while True:
            with _unquoted(self.folder):
                batch = next(reader, None)
            if batch is None:
                break
            table = pa.Table.from_batches([batch])
            table = table if rest is None else pa.concat_tables([rest, table])
            number = table.column("number").to_numpy()
            whole = int(np.searchsorted(number, number[-1])) if len(number) else 0
            if whole:
                yield self._packed(table.slice(0, whole))
            rest = table.slice(whole)
        if rest is not None and len(rest):
            yield self._packed(rest)

    def repairs(self) -> dict[str, Any]:
        """Count what was read differently than it stands in the files. Not for release."""
        time = self.schema.time.column
        unread = {
            v.name: f"count({q}) - count(CASE WHEN isfinite(TRY_CAST({q} AS DOUBLE)) THEN 1 END)"
            for v in self.schema.variables
            for q in [_quoted(v.column or v.name)]
        }
        levels = {
            what: f"count(*) - count(CASE WHEN {_level_test(labels)} THEN 1 END)"
            for what in ("group", "event", "site")
            if (labels := getattr(self.schema, what)) is not None
        }
        with _unquoted(self.folder):
            cells = self._one_row(f"SELECT {', '.join(unread.values())} FROM {self._observations}")
            labels_ = self._one_row(f"SELECT {', '.join(levels.values())} FROM {self._people}")
            total = self._one_row(
                f"SELECT count(*), count({_quoted(time)}) FROM {self._observations}"
            )
            usable = self._one_row("SELECT count(*) FROM rows")
            unknown = self._one_row("SELECT count(*) FROM rows ANTI JOIN people USING (id)")
            empty = self._one_row("SELECT count(*) FROM people ANTI JOIN rows USING (id)")
        return {
            "rows": total[0],
            "rows_without_usable_time": total[0] - usable[0],
            "rows_of_unknown_patients": unknown[0],
            "patients_without_rows": empty[0],
            "cells_not_a_finite_number": dict(zip(unread, cells, strict=True)),
            "labels_set_to_the_first_level": dict(zip(levels, labels_, strict=True)),
        }

    def _table(self, name: str) -> str:
        """Return the SQL that scans a table of the folder, Parquet first."""
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            text = self.folder / f"{name}.csv"
            if not text.is_file():
                raise CohortError(f"{self.folder} has neither {name}.parquet nor {name}.csv.")
            path = Path(self._scratch.name) / f"{name}.parquet"
            with _readable(text):
                csv_to_parquet(text, path)
        return f"read_parquet({_literal(path)})"

    def _prepare(self) -> None:
        """Define the views `people` and `rows`, both in longsynth's own names and units."""
        schema, patient = self.schema, self.schema.patient.column
        values = [v.column or v.name for v in schema.variables]
        labels = {"site": schema.site, "grp": schema.group, "event": schema.event}
        rows_types = self._columns("observations", self._observations)
        people_types = self._columns("patients", self._people)
        _require("observations", rows_types, [patient, schema.time.column, *values])
        _require("patients", people_types, [patient] + [n.column for n in labels.values() if n])
        cast = _id_cast(rows_types[patient], people_types[patient])
        key = cast.format(_quoted(patient))
        codes = ", ".join(f"{_level_code(found)} AS {what}" for what, found in labels.items())
        cells = ", ".join(f"TRY_CAST({_quoted(c)} AS DOUBLE) AS v{i}" for i, c in enumerate(values))
        hours = _hours(_quoted(schema.time.column), schema.time.unit)
        with _unquoted(self.folder, "has a column whose type cannot be read as numbers"):
            self._connection.execute(f"""
                CREATE VIEW people AS SELECT row_number() OVER (ORDER BY id) AS number, *
                FROM (SELECT {key} AS id, {codes} FROM {self._people})""")
            self._connection.execute(f"""
                CREATE VIEW rows AS SELECT * FROM
                (SELECT {key} AS id, {hours} AS time, {cells} FROM {self._observations})
                WHERE isfinite(time)""")

    def _columns(self, name: str, scan: str) -> dict[str, str]:
        with _unquoted(self.folder, f"has no readable {name} table: is the file damaged?"):
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()
        return {row[0]: row[1] for row in described}

    def _count_patients(self) -> int:
        with _unquoted(self.folder):
            number, known, distinct = self._one_row(
                "SELECT count(*), count(id), count(DISTINCT id) FROM people"
            )
        if known < number:
            raise CohortError("the patient table has a row without an id: give every patient one.")
        if distinct < number:
            raise CohortError("the patient table has an id twice: give every patient one row.")
        if number == 0:
            raise CohortError("the patient table is empty: there is nobody to describe.")
        return int(number)

    def _packed(self, table: pa.Table) -> Cohort:
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        values = [columns[f"v{v}"] for v in range(len(self.schema.variables))]
        labels = [columns[name].astype(np.int64) for name in ("site", "grp", "event")]
        rows = Rows(
            columns["number"], columns["time"], np.stack(values, axis=1), np.stack(labels, axis=1)
        )
        return pack(rows, self.schema.slots, absolute_time=self.schema.time.unit == "timestamp")

    def _one_row(self, query: str) -> tuple[int, ...]:
        return tuple(self._connection.execute(query).fetchall()[0])


def read_cohort(folder: Path | str) -> tuple[Schema, Cohort]:
    """Return a folder's schema and all its patients in memory."""
    with CohortFolder(folder) as source:
        parts = list(source.batches())
        joined = [np.concatenate(arrays) for arrays in zip(*map(_arrays, parts), strict=True)]
        return source.schema, Cohort(*joined)


def _arrays(cohort: Cohort) -> list[Any]:
    return [getattr(cohort, name) for name in Cohort.__slots__]


def _connect(scratch: str) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",  # never ask the network
            "autoload_known_extensions": "false",
            "memory_limit": MEMORY,
            "temp_directory": scratch,
        },
    )


def _require(table: str, found: dict[str, str], wanted: list[str]) -> None:
    lacking = [column for column in wanted if column not in found]
    if lacking:
        raise CohortError(
            f"the {table} table has no column {', '.join(map(repr, lacking))}. It has "
            f"{', '.join(found)}. Rename it, or map it in schema.yaml with 'column:'."
        )


def _id_cast(rows: str, people: str) -> str:
    """How to compare ids of two column types. A float cannot hold every id, so it is refused."""
    for kind in (rows, people):
        if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
            raise CohortError(
                f"patient ids are stored as {kind}, which cannot hold every id: "
                "store them as whole numbers or text in both tables."
            )
    whole = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    return "CAST({} AS BIGINT)" if {rows, people} <= whole else "CAST({} AS VARCHAR)"


def _hours(column: str, unit: str) -> str:
    if unit == "timestamp":
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMP)) / 3600e6"
    return f"TRY_CAST({column} AS DOUBLE) * {TIME_UNITS[unit]!r}"


def _level_code(labels: Labels | None) -> str:
    """SQL for a label's position in the schema; whatever is not there is the first."""
    if labels is None:
        return "0"
    cases = " ".join(
        f"WHEN {_is_level(labels.column, level)} THEN {i}" for i, level in enumerate(labels.levels)
    )
    return f"CASE {cases} ELSE 0 END"


def _level_test(labels: Labels) -> str:
    return " OR ".join(_is_level(labels.column, level) for level in labels.levels)


def _is_level(column: str, level: str) -> str:
    """Equal as text, or as numbers where the level is one: 1, 1.0 and true are level 1."""
    test = f"CAST({_quoted(column)} AS VARCHAR) = {_literal(level)}"
    try:
        return f"({test} OR TRY_CAST({_quoted(column)} AS DOUBLE) = {float(level)!r})"
    except ValueError:
        return test


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


@contextmanager
def _unquoted(folder: Path, problem: str = "cannot be read: is a file damaged?") -> Iterator[None]:
    """Turn a DuckDB error, whose text may quote a cell, into one that cannot."""
    try:
        yield
    except duckdb.Error:
        raise CohortError(f"{folder} {problem}") from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CohortError(f"{path} cannot be read: {error.strerror}.") from None
