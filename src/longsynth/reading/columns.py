"""The column check: every column that is read is there once, and a fit accepts its type.

Names and types of columns are public, so a wrong one is refused before any budget is charged. A
cell of an accepted type cannot stop any reader, whatever it contains. All other types are for an
import, which runs on the private side and may stop at a cell.
"""

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from longsynth.reading.parquet import is_stamp, type_name
from longsynth.schema.columns import LABELS
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError

Role = Literal["id", "number", "label", "time", "stamp"]
Roles = list[tuple[str, Role]]  # a column may have several roles
Types = dict[str, pa.DataType]

WHOLE = frozenset(
    {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()}
)
TEXT = frozenset({pa.string(), pa.large_string(), pa.string_view()})
NUMBERS = WHOLE | {pa.float32(), pa.float64(), pa.bool_(), pa.null()}
ACCEPTED: dict[Role, tuple[frozenset[pa.DataType], str]] = {
    "id": (WHOLE | TEXT | {pa.null()}, "whole numbers of up to 64 bits with a sign, or text"),
    "number": (NUMBERS, "integers, 32-bit or 64-bit floats, or truth values"),
    "label": (NUMBERS | TEXT, "text, integers, 32-bit or 64-bit floats, or truth values"),
    "time": (NUMBERS, "integers, or 32-bit or 64-bit floats"),
    "stamp": (frozenset({pa.null()}), "time stamps or dates"),
}


def row_roles(schema: Schema) -> Roles:
    """Return the columns of the observations table and how they are read."""
    clock: Role = "stamp" if schema.time.unit == "timestamp" else "time"
    first: Roles = [(schema.patient.column, "id"), (schema.time.column, clock)]
    return first + _values(schema, static=False)


def people_roles(schema: Schema) -> Roles:
    """Return the columns of the patient table and how they are read."""
    labels: Roles = [
        (label.column, "label") for what in LABELS if (label := getattr(schema, what)) is not None
    ]
    return [(schema.patient.column, "id"), *labels, *_values(schema, static=True)]


def _values(schema: Schema, *, static: bool) -> Roles:
    return [
        (v.column or v.name, "number" if v.levels is None else "label")
        for v in schema.variables
        if v.static == static
    ]


def accepted_types(table: str, listed: list[tuple[str, pa.DataType]], roles: Roles) -> Types:
    """Return the types of the columns that a fit reads, each once. Refuse a column that is missing,
    is there twice or has a type that a fit does not accept."""
    label = f"the {table} table"
    types = chosen_columns(label, listed, [column for column, _ in roles])
    for column, role in roles:
        kind, (accepted, wanted) = types[column], ACCEPTED[role]
        if kind not in accepted and not (role == "stamp" and is_stamp(kind)):
            raise CohortError(
                Code.COLUMN_TYPE,
                f"column {column!r} of {label} is stored as {type_name(kind)}. A fit reads "
                f"{wanted} there.",
                _remedy(role, kind),
            )
    return types


def _remedy(role: Role, kind: pa.DataType) -> str:
    if role == "time" and is_stamp(kind):
        return "Write 'time: {unit: timestamp}' in schema.yaml."
    if role == "stamp" and kind in NUMBERS:
        return "Write 'time: {unit: hours}' in schema.yaml, or another unit."
    return "Store it in that type, or let `longsynth import` convert the table."


def chosen_columns(
    label: str,
    listed: list[tuple[str, pa.DataType]],
    needed: Sequence[str],
    wanted: Sequence[str] = (),
) -> Types:
    """Return the types of all needed columns, and of those wanted columns that exist."""
    types = dict(listed)
    columns = [c for c in dict.fromkeys((*needed, *wanted)) if c in types or c in needed]
    require_columns(label, [column for column, _ in listed], columns)
    return {column: types[column] for column in columns}


def require_columns(label: str, there: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has it twice. Capitals do not count: DuckDB does not
    tell them apart."""
    lacking = [column for column in needed if column not in there]
    if lacking:
        raise CohortError(
            Code.COLUMN_MISSING,
            f"{label} has no column {', '.join(map(repr, lacking))}.{_similar(there, needed)}",
            "Rename the column, or name it in schema.yaml with 'column:'.",
        )
    folded = [column.casefold() for column in there]
    twice = [column for column in needed if folded.count(column.casefold()) > 1]
    if twice:
        raise CohortError(
            Code.COLUMN_TWICE,
            f"{label} has the column {twice[0]!r} twice, ignoring capitals.",
            "Rename one of them.",
        )


def _similar(there: Sequence[str], needed: Sequence[str]) -> str:
    """Name the columns that differ from the needed ones only in capitals, spaces or signs. No other
    name is repeated: if a line end is lost, the rest of a header consists of patients' cells."""
    ours = {_folded(column) for column in needed} - {""}
    alike = [column for column in there if _folded(column) in ours]
    if not alike:
        return ""
    others = len(there) - len(alike)
    more = f" and {others} other{'s' * (others > 1)}" if others else ""
    return f" It has {', '.join(c if c.isprintable() else repr(c) for c in alike)}{more}."


def _folded(column: str) -> str:
    return "".join(filter(str.isalnum, column.casefold()))
