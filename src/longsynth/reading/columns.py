"""The typed entrance of a fit: which columns it reads, and which types it accepts.

Names and types of columns are public, so a wrong one is refused before any budget is charged. A
cell of an accepted type cannot stop any reader, whatever it holds. All other types belong to
`longsynth import`, which runs on the private side and may stop at a cell.
"""

from typing import Literal

import pyarrow as pa

from longsynth.reading.plain import is_stamp, shown
from longsynth.schema.schema import Schema
from longsynth.system.errors import CohortError

Role = Literal["id", "number", "label", "time", "stamp"]
Roles = list[tuple[str, Role]]  # a column may have several
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
    """Return the columns of the observations table and what they are read as."""
    clock: Role = "stamp" if schema.time.unit == "timestamp" else "time"
    first: Roles = [(schema.patient.column, "id"), (schema.time.column, clock)]
    return first + _values(schema, static=False)


def people_roles(schema: Schema) -> Roles:
    """Return the columns of the patient table and what they are read as."""
    labels: Roles = [
        (found.column, "label") for found in (schema.site, schema.group, schema.event) if found
    ]
    return [(schema.patient.column, "id"), *labels, *_values(schema, static=True)]


def _values(schema: Schema, *, static: bool) -> Roles:
    return [
        (v.column or v.name, "number" if v.levels is None else "label")
        for v in schema.variables
        if v.static == static
    ]


def accepted_types(table: str, listed: list[tuple[str, pa.DataType]], roles: Roles) -> Types:
    """Return the types of the columns that are read, each once; refuse a column that is missing, is
    there twice or has another type than a fit accepts."""
    require_columns(table, [column for column, _ in listed], [column for column, _ in roles])
    types = dict(listed)
    for column, role in roles:
        require_type(table, column, types[column], role)
    return {column: types[column] for column, _ in roles}


def require_type(table: str, column: str, kind: pa.DataType, role: Role) -> None:
    accepted, wanted = ACCEPTED[role]
    if kind in accepted or (role == "stamp" and is_stamp(kind)):
        return
    raise CohortError(
        f"column {column!r} of the {table} table is stored as {shown(kind)}. A fit reads {wanted} "
        f"there. {_remedy(role, kind)}"
    )


def _remedy(role: Role, kind: pa.DataType) -> str:
    if role == "time" and is_stamp(kind):
        return "Write 'time: {unit: timestamp}' in schema.yaml."
    if role == "stamp" and kind in NUMBERS:
        return "Write 'time: {unit: hours}' in schema.yaml, or another unit."
    return "Store it so, or let `longsynth import` convert the table."


def require_columns(table: str, found: list[str], wanted: list[str]) -> None:
    """Every column once."""
    lacking = [column for column in wanted if column not in found]
    if lacking:
        raise CohortError(
            f"the {table} table has no column {', '.join(map(repr, lacking))}. "
            + _known(found, wanted)
            + "Rename it, or map it in schema.yaml with 'column:'."
        )
    folded = [column.casefold() for column in found]
    twice = [column for column in wanted if folded.count(column.casefold()) > 1]
    if twice:
        raise CohortError(
            f"the {table} table has the column {twice[0]!r} twice, capitals aside: rename one."
        )


def _known(found: list[str], wanted: list[str]) -> str:
    """Name the columns that are the schema's but for capitals, spaces or signs, and no other: where
    a line end is lost, the rest of a header is made of patients' cells."""
    ours = {_folded(column) for column in wanted} - {""}
    alike = [column for column in found if _folded(column) in ours]
    if not alike:
        return ""
    others = len(found) - len(alike)
    more = f" and {others} other{'s' * (others > 1)}" if others else ""
    return f"It has {', '.join(c if c.isprintable() else repr(c) for c in alike)}{more}. "


def _folded(column: str) -> str:
    return "".join(filter(str.isalnum, column.casefold()))
