"""Input formats: each is an adapter in a file of this folder, and one line in FORMATS.

adapter.py says what an adapter gets and returns. The command line takes its choices and help from
FORMATS, so an entry is light: its file is loaded when the format is first used.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from longsynth.system.errors import Code, Refused

if TYPE_CHECKING:
    from longsynth.reading.adapter import Adapter


@dataclass(frozen=True, slots=True)
class InputFormat:
    reads: str  # what it reads, for a list
    adapter: str  # "package.module:function"
    source: str = "a folder"  # what its source can be

    def load(self) -> "Adapter":
        adapter: Adapter = resolve_name(self.adapter)
        return adapter


FORMATS: dict[str, InputFormat] = {
    "events": InputFormat("tables as CSV or Parquet", f"{__name__}.events:prepare"),
    "meds": InputFormat("a MEDS 0.4 dataset", f"{__name__}.meds:prepare"),
    "omop": InputFormat(
        "an OMOP CDM database",
        f"{__name__}.omop:prepare",
        "a folder, a DuckDB file, or postgresql://user@host/database with the password in "
        "PGPASSWORD",
    ),
}


def input_format(name: str) -> InputFormat:
    if name in FORMATS:
        return FORMATS[name]
    close = get_close_matches(name, FORMATS, n=1)
    raise Refused(
        Code.FORMAT_UNKNOWN,
        f"{name!r} is not an input format.",
        f"Did you mean {close[0]}?" if close else f"Choose one of: {', '.join(FORMATS)}.",
    )
