"""Suggestion: a first schema from the names of columns, as lists or in SDV's metadata.

Only names and SDV's types of columns are used. What they cannot tell stays an open mark.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longsynth.schema.file import parse_text
from longsynth.schema.from_names import COLUMN_NAME, MARK, Columns, starting_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused, SchemaError

TABLES = 2  # at most: observations and patients
Given = Iterable[str] | Mapping[str, Any] | Path | str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A schema that a person has to finish."""

    text: str  # commented YAML, as `longsynth schema new` writes it

    @property
    def marks(self) -> tuple[str, ...]:
        """The lines that are still marked CHECK or FILL IN."""
        lines = enumerate(self.text.splitlines(), start=1)
        return tuple(f"{position}: {line.strip()}" for position, line in lines if MARK.search(line))

    def schema(self) -> Schema:
        """Return the schema, or refuse it while a mark is open."""
        if self.marks:
            raise SchemaError(
                Code.MARKS_OPEN,
                f"{len(self.marks)} lines of the schema are marked CHECK or FILL IN.",
                "Write .text to a file, edit the lines that .marks lists, remove the marks, and "
                "call load_schema.",
            )
        return parse_text(self.text, "the suggested schema")

    def __repr__(self) -> str:
        lines = len(self.text.splitlines())
        return f"Suggestion({lines} lines, {len(self.marks)} marks to settle; see .text)"


def suggested(columns: Given, patients: Iterable[str] | None, name: str) -> Suggestion:
    """See `Schema.suggest`."""
    if isinstance(columns, Path | str):
        columns = _metadata(Path(columns))
    found = _of_metadata(columns) if isinstance(columns, Mapping) else _of_names(columns, patients)
    for column in (*found.observations, *found.patients):
        if not (isinstance(column, str) and COLUMN_NAME.fullmatch(column)):
            raise _unusable("a column has no plain name.")  # it may be a patient's cell
    return Suggestion(starting_schema(name, found))


def _of_names(columns: Iterable[str], patients: Iterable[str] | None) -> Columns:
    if hasattr(columns, "__arrow_c_stream__"):
        raise Refused(
            Code.ARGUMENT_WRONG,
            f"Schema.suggest cannot use a {type(columns).__name__}: it reads no data.",
            "Give the names of its columns, for instance frame.columns.",
        )
    listed = tuple(columns)
    return Columns(listed, listed if patients is None else tuple(patients))


def _metadata(path: Path) -> Mapping[str, Any]:
    """Read a file that may be another one by mistake: no error carries its text."""
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text("utf-8"))
        return content if isinstance(content, dict) else {}
    raise Refused(
        Code.FILE_UNREADABLE,
        f"{path} cannot be read as JSON.",
        "Give SDV's metadata as it writes them with save_to_json, or a list of names.",
    )


def _of_metadata(metadata: Mapping[str, Any]) -> Columns:
    """Two tables are observations and patients: patients are the parent."""
    try:
        tables = dict(metadata.get("tables", {"": metadata}))
        if not 1 <= len(tables) <= TABLES:
            raise _unusable(f"the metadata describe {len(tables)} tables, not one or two.")
        parents = [relation["parent_table_name"] for relation in metadata.get("relationships", [])]
        people = parents[0] if parents else next(iter(tables))
        visits = next((table for table in tables if table != people), people)
        types = {c: str(f["sdtype"]) for t in tables.values() for c, f in _columns(t).items()}
        return Columns(tuple(_columns(tables[visits])), tuple(_columns(tables[people])), types)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise _unusable("these are not SDV's metadata.") from None


def _columns(table: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return dict(table["columns"])


def _unusable(problem: str) -> Refused:
    return Refused(
        Code.COLUMNS_UNKNOWN,
        problem,
        "List the names yourself: Schema.suggest(observations.columns, patients.columns).",
    )
