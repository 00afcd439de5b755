"""The columns of a cohort's two tables: which there must be, and how their cells are read.

Names and types of columns are public, so a wrong one is refused before any budget is charged. A
cell of an accepted type cannot stop any reader, whatever it contains. All other types are for an
import, which runs on the private side and may stop at a cell.

Cells are read by SQL that follows from the schema and the column types alone. It is DuckDB's on a
laptop and on a cluster, so a cell is read the same way everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import pyarrow as pa

from longsynth.reading.parquet import is_number, is_stamp, is_text, type_name
from longsynth.schema.columns import LABELS, TIME_UNITS, CodeList, Labels, Time
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
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
    codes: Roles = [(listed.column or listed.name, "label") for listed in schema.codes]
    return first + _values(schema, static=False) + codes


def people_roles(schema: Schema) -> Roles:
    """Return the columns of the patient table and how they are read."""
    labels: Roles = [
        (label.column, "number" if label.bands else "label")
        for what in LABELS
        if (label := getattr(schema, what)) is not None
    ]
    return [(schema.patient.column, "id"), *labels, *_values(schema, static=True)]


def _values(schema: Schema, *, static: bool) -> Roles:
    chosen = [v for v in schema.variables if v.static == static]
    roles: Roles = [
        (v.column or v.name, "number" if v.levels is None or v.bands else "label") for v in chosen
    ]
    return roles + [(v.otherwise, "number") for v in chosen if v.otherwise]


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


@dataclass(frozen=True, slots=True)
class CohortColumns:
    """What to select from each table, in longsynth's own names and units."""

    rows: str  # id, time in hours, v0, v1, …, code lists last; only rows with a finite time count
    people: str  # id, site, grp, event, and the static ones among v0, v1, …


def cohort_columns(schema: Schema, rows: Types, people: Types) -> CohortColumns:
    """Return the SQL for tables whose columns have these types, all of them accepted."""
    patient, time = schema.patient.column, schema.time
    when = hours(time, rows[time.column])
    key = id_cast(rows[patient], people[patient]).format(quoted(patient))
    labels = {"site": schema.site, "grp": schema.group, "event": schema.event}
    codes = [f"{level_code(label, people)} AS {name}" for name, label in labels.items()]
    cells: dict[bool, list[str]] = {False: [], True: []}
    for i, v in enumerate(schema.variables):
        cells[v.static].append(f"{cell(v)} AS v{i}")
    for i, listed in enumerate(schema.codes, len(schema.variables)):
        cells[False].append(f"{cell(listed)} AS v{i}")
    return CohortColumns(
        rows=", ".join([f"{key} AS id", f"{when} AS time", *cells[False]]),
        people=", ".join([f"{key} AS id", *codes, *cells[True]]),
    )


def unread_cells(schema: Schema, *, static: bool) -> dict[str, str]:
    """SQL that counts, per variable, the cells that are not empty but contain no finite number."""
    read: list[Variable | CodeList] = [v for v in schema.variables if v.static == static]
    return {
        v.name: f"count({quoted(v.column or v.name)}) "
        f"- count(CASE WHEN isfinite({cell(v)}) THEN 1 END)"
        for v in read + ([] if static else list(schema.codes))
    }


def different_values(variable: Variable) -> str:
    """SQL that counts a variable's different finite values, up to two."""
    x = cell(variable)
    finite = f"FILTER (WHERE isfinite({x}))"
    return f"CASE WHEN min({x}) {finite} < max({x}) {finite} THEN 2 ELSE 1 END"


def unread_labels(schema: Schema) -> dict[str, str]:
    """SQL that counts, per label, the patients whose label is not in the schema."""
    return {
        what: f"count(*) - count({level_position(labels)})"
        for what in LABELS
        if (labels := getattr(schema, what)) is not None
    }


def id_cast(rows: pa.DataType, people: pa.DataType) -> str:
    """SQL in which ids of two column types can be compared. Floats are refused: they cannot hold
    every id."""
    for kind in (rows, people):
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            raise CohortError(
                Code.COLUMN_TYPE,
                f"patient ids are stored as {type_name(kind)}, which cannot hold every id.",
                "Store them as whole numbers or text in both tables.",
            )
    whole = all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in (rows, people))
    return "CAST({} AS BIGINT)" if whole else "CAST({} AS VARCHAR)"


def hours(time: Time, kind: pa.DataType) -> str:
    """SQL for a row's time in hours."""
    column = quoted(time.column)
    if time.unit == "timestamp" and is_stamp(kind):
        return column  # it was copied as hours
    if time.unit == "timestamp" and (is_text(kind) or pa.types.is_null(kind)):
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ)) / 3600e6"
    if time.unit != "timestamp" and (is_number(kind) or is_text(kind)):
        return f"TRY_CAST({column} AS DOUBLE) * {TIME_UNITS[time.unit]!r}"
    unit = "timestamp" if is_stamp(kind) else "hours"
    raise CohortError(
        Code.COLUMN_TYPE,
        f"column {time.column!r} is stored as {type_name(kind)}, not as a time in {time.unit}.",
        f"Correct 'time: {{unit: …}}' in schema.yaml, for example to {unit}.",
    )


def level_code(labels: Labels | None, types: Mapping[str, pa.DataType]) -> str:
    """SQL for a label's position in the schema; any other cell counts as the first level."""
    if labels is None:
        return "0"
    return f"coalesce({level_position(labels, types[labels.column])}, 0)"


def level_position(labels: Labels, kind: pa.DataType | None = None) -> str:
    """SQL for a label's position in the schema, NULL for any other cell."""
    if labels.bands:
        return _band(labels.column, labels.bands)
    return _position(labels.column, labels.levels, kind)


def cell(variable: Variable | CodeList) -> str:
    """SQL for a value: a number, or its level's position; NULL for anything else."""
    column = variable.column or variable.name
    if isinstance(variable, Variable) and variable.levels is None:
        number = f"TRY_CAST({quoted(column)} AS DOUBLE)"
        if not variable.otherwise:
            return number
        return f"coalesce({number}, TRY_CAST({quoted(variable.otherwise)} AS DOUBLE))"
    if isinstance(variable, Variable) and variable.bands:
        return f"CAST({_band(column, variable.bands)} AS DOUBLE)"
    return f"CAST({_position(column, variable.levels or ())} AS DOUBLE)"


def _band(name: str, cuts: tuple[float, ...]) -> str:
    """A cut point belongs to the band above it. What is no finite number is in no band."""
    number = f"TRY_CAST({quoted(name)} AS DOUBLE)"
    below = " ".join(f"WHEN {number} < {cut!r} THEN {i}" for i, cut in enumerate(cuts))
    return f"CASE WHEN isfinite({number}) THEN CASE {below} ELSE {len(cuts)} END END"


def _position(name: str, levels: tuple[str, ...], kind: pa.DataType | None = None) -> str:
    """Equal as text, or as numbers if the level is one: 1, 1.0 and true are the same level."""
    column = quoted(name)
    texts = {i: literal(level) for i, level in enumerate(levels)}
    numbers = {i: x for i, x in enumerate(map(_number, levels)) if isfinite(x)}
    whole = kind is not None and pa.types.is_integer(kind)
    if whole and len(set(numbers.values())) == len(numbers):
        texts = {}  # equal texts are equal numbers, and no number occurs twice
    tests = [f"WHEN CAST({column} AS VARCHAR) = {text} THEN {i}" for i, text in texts.items()]
    tests += [f"WHEN TRY_CAST({column} AS DOUBLE) = {x!r} THEN {i}" for i, x in numbers.items()]
    return f"CASE {' '.join(tests)} END" if tests else "NULL"


def _number(level: str) -> float:
    try:
        return float(level)
    except ValueError:
        return float("nan")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"
