"""FORMATS: how synthetic patients can be written, by name, and which files that makes."""

from collections.abc import Callable, Iterable
from pathlib import Path

from longsynth.schema.schema import Schema
from longsynth.schema.trajectories import Trajectories
from longsynth.writing.events_writer import write_events
from longsynth.writing.meds_writer import write_meds
from longsynth.writing.parts_writer import CHUNKS, part_file, write_parts
from longsynth.writing.writer import write_cohort

FORMATS: dict[str, Callable[[Path, Schema, Iterable[Trajectories]], None]] = {
    "cohort": write_cohort,
    "events": write_events,
    "meds": write_meds,
    "parts": write_parts,
}
_TABLES = {
    "cohort": ("patients.parquet", "observations.parquet"),
    "events": ("patients.parquet", "events.parquet"),
    "meds": ("metadata/subject_splits.parquet", "metadata/codes.parquet", "metadata/dataset.json"),
}


def files_of(form: str, chunks: int) -> tuple[str, ...]:
    """Return the files that a format writes for so many chunks."""
    data = tuple(f"data/{chunk}.parquet" for chunk in range(chunks if form == "meds" else 0))
    rows = _parts("observations", chunks) if form == "parts" else _TABLES[form][1:]
    return (*people_files(form, chunks), *rows, *data, "schema.yaml")


def people_files(form: str, chunks: int) -> tuple[str, ...]:
    """Return those of the files that have one row a patient."""
    return _parts("patients", chunks) if form == "parts" else _TABLES[form][:1]


def _parts(table: str, chunks: int) -> tuple[str, ...]:
    return tuple(part_file(table, part) for part in range(-(-chunks // CHUNKS)))
