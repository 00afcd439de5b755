"""Input formats: each is an adapter in a file of this folder, and one line in FORMATS.

adapter.py says what an adapter gets and returns. The command line takes its choices and help from
FORMATS, so an entry is light: its file is loaded when the format is first used.
"""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal

from longsynth.system.errors import Code, Refused, instead_of

if TYPE_CHECKING:
    from longsynth.reading.adapter import Adapter


@dataclass(frozen=True, slots=True)
class InputFormat:
    reads: str  # what it reads, for a list
    adapter: str  # "package.module:function"
    source: str = "a folder"  # what its source can be
    several: bool = False  # whether it takes more than one source
    described_by: Literal["schema", "recipe"] = "schema"  # a schema has the mapping under `source`

    def load(self) -> "Adapter":
        adapter: Adapter = resolve_name(self.adapter)
        return adapter


FORMATS: dict[str, InputFormat] = {
    "table": InputFormat(
        "a hospital's own export, by a recipe",
        f"{__name__}.table:prepare",
        "one or more files",
        several=True,
        described_by="recipe",
    ),
    "events": InputFormat("tables as CSV or Parquet", f"{__name__}.events:prepare"),
    "fhir": InputFormat(
        "a FHIR R4 bulk export", f"{__name__}.fhir:prepare", "a folder of .ndjson or bundles"
    ),
    "meds": InputFormat("a MEDS 0.4 dataset", f"{__name__}.meds:prepare"),
    "omop": InputFormat(
        "an OMOP CDM database",
        f"{__name__}.omop:prepare",
        "a folder, a DuckDB file, or postgresql://user@host/database with the password in "
        "PGPASSWORD",
    ),
}


def input_format(name: str) -> InputFormat:
    if name not in FORMATS:
        problem = f"{name!r} is not an input format."
        raise Refused(Code.FORMAT_UNKNOWN, problem, instead_of(name, FORMATS))
    return FORMATS[name]
