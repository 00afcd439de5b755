"""FORMATS: how synthetic patients can be written, by name, and which files that makes."""

from collections.abc import Callable, Iterable
from pathlib import Path

from longsynth.io.events_writer import write_events
from longsynth.io.meds_writer import write_meds
from longsynth.io.writer import Trajectories, write_cohort
from longsynth.schema import Schema

FORMATS: dict[str, Callable[[Path, Schema, Iterable[Trajectories]], None]] = {
    "cohort": write_cohort,
    "events": write_events,
    "meds": write_meds,
}
_TABLES = {
    "cohort": ("patients.parquet", "observations.parquet"),
    "events": ("patients.parquet", "events.parquet"),
    "meds": ("metadata/subject_splits.parquet", "metadata/codes.parquet", "metadata/dataset.json"),
}


def files_of(form: str, shards: int) -> tuple[str, ...]:
    """Return the files that a format writes; the first has one row a patient."""
    data = tuple(f"data/{shard}.parquet" for shard in range(shards if form == "meds" else 0))
    return (*_TABLES[form], *data, "schema.yaml")
