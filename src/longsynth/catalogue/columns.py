"""Column names of a cohort's tables, and nothing else of them."""

import csv
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.catalogue.catalogue import known, plain
from longsynth.errors import CohortError

LONGEST = 1_000_000  # characters of a header
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
    """Read the headers of a cohort folder's two tables. No row is read."""
    if not folder.is_dir():
        raise CohortError(f"{folder} is not a folder: give the cohort's folder.")
    return Columns(_header(folder, "observations"), _header(folder, "patients"))


def _header(folder: Path, table: str) -> tuple[str, ...]:
    parquet, text = folder / f"{table}.parquet", folder / f"{table}.csv"
    if parquet.is_file():
        try:
            return tuple(pq.read_schema(parquet).names)
        except (pa.ArrowException, OSError):
            raise CohortError(f"{parquet} cannot be read: is the file damaged?") from None
    if not text.is_file():
        raise CohortError(f"{folder} has neither {table}.parquet nor {table}.csv: add one of them.")
    try:
        with text.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = next(csv.reader([file.readline(LONGEST)]), [])
    except (OSError, csv.Error):
        raise CohortError(f"{text} cannot be read: is it a CSV file?") from None
    if not any(role_of(name) or known(name) for name in names):  # its first line may be a patient
        raise CohortError(
            f"{text} has no column that is known by its name. Has it a header line, with commas? "
            "If so, name one column patient_id."
        )
    return tuple(names)
