"""Column names of a cohort's tables, and nothing else of them."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from longsynth.schema.catalogue import known, plain
from longsynth.system.errors import CohortError
from longsynth.system.reader_errors import without_cells

LONGEST = 1_000_000  # characters of a header
NAME = re.compile(r"[^\W\d][\w ()/%.-]{0,63}")  # no number, date or lost line end
ROLES = {  # what a column is for, by its usual names
    "patient": ("patient_id", "subject_id", "person_id", "id", "patient", "stay_id", "recordid"),
    "time": ("time", "hours", "charttime", "timestamp", "datetime", "day", "days", "date"),
    "group": ("group", "audit_group"),
    "event": ("event", "outcome", "label", "death", "died", "mortality", "in_hospital_death"),
    "site": ("site", "cohort", "hospital", "centre", "center", "ward", "unit", "care_unit"),
}


@dataclass(frozen=True, slots=True)
class Columns:
    observations: tuple[str, ...]
    patients: tuple[str, ...]


def role_of(column: str) -> str | None:
    """Return what a column is for, going by its name."""
    return next((r for r, names in ROLES.items() if plain(column) in map(plain, names)), None)


def read_columns(folder: Path) -> Columns:
    """Read the headers of a cohort folder's two tables. No row is read.

    Where the header or its line end is lost, a patient's cells stand in its place. Some of them
    are numbers (a time, an outcome), so a table is refused as soon as one name is no name, and
    none of its names goes any further.
    """
    if not folder.is_dir():
        raise CohortError(f"{folder} is not a folder: give the cohort's folder.")
    if any((folder / f"events.{end}").is_file() for end in ("parquet", "csv")):
        raise CohortError(
            f"{folder} has a long table of events, whose variables are cells and not columns: "
            "leave out --cohort, and name them for a new schema with --columns."
        )
    return Columns(_names(folder, "observations"), _names(folder, "patients"))


def _names(folder: Path, table: str) -> tuple[str, ...]:
    names = _header(folder, table)
    for place, name in enumerate(names, start=1):
        if not NAME.fullmatch(name):
            raise CohortError(
                f"{folder}: column {place} of the {table} table has no plain name. Is its header "
                "line whole? Names start with a letter and hold letters, digits, spaces and "
                "_ ( ) / % . - alone."
            )
    if not any(role_of(name) or known(name) for name in names):  # its first line may be a patient
        raise CohortError(
            f"{folder}: no column of the {table} table is known by its name. Has it a header "
            "line, with commas? If so, name one column patient_id."
        )
    return names


def _header(folder: Path, table: str) -> tuple[str, ...]:
    parquet, text = folder / f"{table}.parquet", folder / f"{table}.csv"
    if parquet.is_file():
        with without_cells(f"{parquet} cannot be read: is the file damaged?"):
            return tuple(pq.read_schema(parquet.absolute()).names)  # or ~ were a home
    if not text.is_file():
        raise CohortError(f"{folder} has neither {table}.parquet nor {table}.csv: add one of them.")
    with (
        without_cells(f"{text} cannot be read: is it a CSV file?"),
        text.open(encoding="utf-8-sig", errors="replace", newline="") as file,
    ):
        return tuple(next(csv.reader([file.readline(LONGEST)]), []))
