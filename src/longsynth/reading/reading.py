"""How the two tables of a cohort are read: which columns, and SQL for what their cells mean.

The SQL is DuckDB's, wherever it runs: a cell is read in one way on a laptop and on a cluster.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from longsynth.reading.columns import Types
from longsynth.reading.sql import cell, hours, id_cast, level_code, level_position, quoted
from longsynth.schema.file import load_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import CohortError


@dataclass(frozen=True, slots=True)
class Reading:
    """What to select from each table, in longsynth's own names and units."""

    rows: str  # id, time in hours, v0, v1, …; only rows with a finite time count
    people: str  # id, site, grp, event, and the static ones among v0, v1, …


def cohort_schema(folder: Path) -> Schema:
    """Return the schema of a cohort folder."""
    if not folder.is_dir():
        raise CohortError(f"{folder} is not a folder: give the cohort's folder.")
    path = folder / "schema.yaml"
    if path.exists() and not path.is_file():
        raise CohortError(f"{path} is not a file: a pipe or a device could keep a reader for ever.")
    return load_schema(path)


def no_table(folder: Path, name: str) -> CohortError:
    if (folder / f"{name}.csv").is_file():
        return CohortError(
            f"{folder} has {name}.csv, and a fit reads Parquet only: turn the folder into a cohort "
            "with `longsynth import events`."
        )
    return CohortError(f"{folder} has no {name}.parquet: add the table.")


def unreadable(folder: Path) -> str:
    return f"{folder} cannot be read: is a file damaged?"


def reading(schema: Schema, rows: Types, people: Types) -> Reading:
    """Return the SQL for tables whose columns have these types, all of which are accepted."""
    patient, time = schema.patient.column, schema.time
    when = hours(time, rows[time.column])
    key = id_cast(rows[patient], people[patient]).format(quoted(patient))
    labels = {"site": schema.site, "grp": schema.group, "event": schema.event}
    codes = [f"{level_code(found, people)} AS {what}" for what, found in labels.items()]
    cells: dict[bool, list[str]] = {False: [], True: []}
    for i, v in enumerate(schema.variables):
        cells[v.static].append(f"{cell(v)} AS v{i}")
    return Reading(
        rows=", ".join([f"{key} AS id", f"{when} AS time", *cells[False]]),
        people=", ".join([f"{key} AS id", *codes, *cells[True]]),
    )


def unread_cells(schema: Schema, *, static: bool) -> dict[str, str]:
    """SQL that counts, by variable, the cells that hold something but no finite number."""
    return {
        v.name: f"count({quoted(v.column or v.name)}) "
        f"- count(CASE WHEN isfinite({cell(v)}) THEN 1 END)"
        for v in schema.variables
        if v.static == static
    }


def unread_labels(schema: Schema) -> dict[str, str]:
    """SQL that counts the patients whose label is none of the schema's."""
    return {
        what: f"count(*) - count({level_position(labels)})"
        for what in ("group", "event", "site")
        if (labels := getattr(schema, what)) is not None
    }


def require_distinct(patients: int, with_id: int, distinct: int) -> None:
    """Refuse a patient table that is empty, or in which a patient has no id or another's."""
    if with_id < patients:
        raise CohortError(
            "the patient table has a row without an id that can be read: give every patient one, "
            "in UTF-8 and of at most 1,024 bytes."
        )
    if distinct < patients:
        raise CohortError("the patient table has an id twice: give every patient one row.")
    if patients == 0:
        raise CohortError("the patient table is empty: there is nobody to describe.")


def connect(scratch: str, *, memory: int, threads: int) -> duckdb.DuckDBPyConnection:
    """Return a database that asks no network, says nothing and reads stamps alike everywhere."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",  # never ask the network
            "autoload_known_extensions": "false",
            "memory_limit": f"{memory}MB",
            "threads": str(threads),
            "temp_directory": scratch,
        },
    )
    connection.execute("SET enable_progress_bar = false")  # it would move by private rows
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # of stamps without a zone, on any machine
    return connection
