"""Output formats: each is a `Writer` in a file of this folder, and one line in FORMATS.

The command line takes its choices and help from FORMATS, so an entry is light: its file is loaded
when the format is first used.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from longsynth.system.errors import Code, Refused

if TYPE_CHECKING:
    from longsynth.schema.record import Trajectories
    from longsynth.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes synthetic patients, chunk by chunk, into an empty folder, with a schema.yaml that says
    how to read them back. Both lists of files are for a number of chunks."""

    write: "Callable[[Path, Schema, Iterable[Trajectories]], None]"
    people_files: Callable[[int], list[str]]  # Parquet, one row per patient: `verify` counts them
    other_files: Callable[[int], list[str]]  # all others but schema.yaml

    def files(self, chunks: int) -> tuple[str, ...]:
        """Every file that it writes."""
        return (*self.people_files(chunks), *self.other_files(chunks), "schema.yaml")


@dataclass(frozen=True, slots=True)
class OutputFormat:
    writes: str  # what it writes, for a list
    writer: str  # "package.module:WRITER"
    weight: str = "Column 'weight' of patients.parquet"  # where a patient's weight is

    def load(self) -> Writer:
        writer: Writer = resolve_name(self.writer)
        return writer


FORMATS: dict[str, OutputFormat] = {
    "cohort": OutputFormat("wide rows", f"{__name__}.cohort:COHORT"),
    "events": OutputFormat("long rows", f"{__name__}.events:EVENTS"),
    "meds": OutputFormat("MEDS 0.4", f"{__name__}.meds:MEDS", weight="SAMPLING_WEIGHT"),
    "parts": OutputFormat("wide rows in many files, as on Spark", f"{__name__}.cohort:PARTS"),
}


def output_format(name: str) -> OutputFormat:
    if name not in FORMATS:
        raise Refused(
            Code.FORMAT_UNKNOWN,
            f"{name!r} is not an output format.",
            f"Choose one of: {', '.join(FORMATS)}.",
        )
    return FORMATS[name]
