"""Output formats: each is a `Writer` in a file of this folder, and one line in FORMATS.

The command line takes its choices and help from FORMATS, so an entry is light: its file is loaded
when the format is first used.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING

from longsynth.system.errors import Code, Refused, instead_of

if TYPE_CHECKING:
    from longsynth.schema.record import Trajectories
    from longsynth.schema.schema import Schema


def parquet_rows(file: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes synthetic patients, chunk by chunk, into an empty folder, with a schema.yaml that says
    how to read them back. Both lists of files are for a number of chunks."""

    write: "Callable[[Path, Schema, Iterable[Trajectories]], None]"
    people_files: Callable[[int], list[str]]  # with one row per patient: `verify` counts them
    other_files: Callable[[int], list[str]]  # all others but schema.yaml
    rows: Callable[[Path], int] = parquet_rows  # of a file of people, which may be anyone's bytes

    def files(self, chunks: int) -> tuple[str, ...]:
        """Every file that it writes."""
        return (*self.people_files(chunks), *self.other_files(chunks), "schema.yaml")


@dataclass(frozen=True, slots=True)
class OutputFormat:
    writes: str  # what it writes, for a list
    writer: str  # "package.module:WRITER", or a function that makes one from settings
    # Where a patient's weight is. Empty: nowhere, so patients are generated without weights.
    weight: str = "Column 'weight' of patients.parquet"
    settings: tuple[str, ...] = ()  # texts that the function takes, all public

    def load(self, settings: Mapping[str, str] = MappingProxyType({})) -> Writer:
        found = resolve_name(self.writer)
        writer: Writer = found(**settings) if self.settings else found
        return writer


OWN_WEIGHT = "Column 'weight' ('sampling_weight', if you have a column 'weight')"
FORMATS: dict[str, OutputFormat] = {
    "cohort": OutputFormat("wide rows", f"{__name__}.cohort:COHORT"),
    "events": OutputFormat("long rows", f"{__name__}.cohort:EVENTS"),
    "meds": OutputFormat("MEDS 0.4", f"{__name__}.meds:MEDS", weight="SAMPLING_WEIGHT"),
    "omop": OutputFormat(
        "OMOP CDM 5.4 as Parquet, and a script for DuckDB",
        f"{__name__}.omop:parquet",
        weight="",
        settings=("start_date",),
    ),
    "omop-sql": OutputFormat(
        "the same as INSERT statements for Postgres",
        f"{__name__}.omop:sql",
        weight="",
        settings=("start_date",),
    ),
    "fhir": OutputFormat(
        "FHIR R4 as ndjson",
        f"{__name__}.fhir:fhir",
        weight="",
        settings=("start_date",),
    ),
    "parts": OutputFormat("wide rows in many files, as on Spark", f"{__name__}.cohort:PARTS"),
    "csv": OutputFormat(
        "your own columns, levels and decimals as CSV",
        f"{__name__}.own:CSV",
        weight=f"{OWN_WEIGHT} of patients.csv",
    ),
    "parquet": OutputFormat(
        "the same as Parquet",
        f"{__name__}.own:PARQUET",
        weight=f"{OWN_WEIGHT} of patients.parquet",
    ),
    "excel": OutputFormat(
        "the same as a workbook",
        f"{__name__}.own:EXCEL",
        weight=f"{OWN_WEIGHT} of the sheet patients",
    ),
    "export": OutputFormat(
        "the files of the export that a recipe reads",
        f"{__name__}.export:export_writer",
        weight="Column 'weight' of weights.csv",
        settings=("recipe", "start_date"),
    ),
}


def output_format(name: str) -> OutputFormat:
    if name not in FORMATS:
        problem = f"{name!r} is not an output format."
        raise Refused(Code.FORMAT_UNKNOWN, problem, instead_of(name, FORMATS))
    return FORMATS[name]
