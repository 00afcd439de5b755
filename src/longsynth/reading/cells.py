"""How the cells of a cohort's two tables are read: SQL from the schema and the column types alone.

The SQL is DuckDB's on a laptop and on a cluster, so a cell is read the same way everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import pyarrow as pa

from longsynth.reading.columns import Types
from longsynth.reading.parquet import is_number, is_stamp, is_text, type_name
from longsynth.reading.session import literal, quoted
from longsynth.schema.columns import LABELS, TIME_UNITS, Labels, Time
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import Code, CohortError


@dataclass(frozen=True, slots=True)
class CohortColumns:
    """What to select from each table, in longsynth's own names and units."""

    rows: str  # id, time in hours, v0, v1, …; only rows with a finite time count
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
    return CohortColumns(
        rows=", ".join([f"{key} AS id", f"{when} AS time", *cells[False]]),
        people=", ".join([f"{key} AS id", *codes, *cells[True]]),
    )


def unread_cells(schema: Schema, *, static: bool) -> dict[str, str]:
    """SQL that counts, per variable, the cells that are not empty but contain no finite number."""
    return {
        v.name: f"count({quoted(v.column or v.name)}) "
        f"- count(CASE WHEN isfinite({cell(v)}) THEN 1 END)"
        for v in schema.variables
        if v.static == static
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
    return f"coalesce({_position(labels.column, labels.levels, types[labels.column])}, 0)"


def level_position(labels: Labels) -> str:
    """SQL for a label's position in the schema, NULL for any other cell."""
    return _position(labels.column, labels.levels)


def cell(variable: Variable) -> str:
    """SQL for a value: a number, or its level's position; NULL for anything else."""
    column = variable.column or variable.name
    if variable.levels is None:
        return f"TRY_CAST({quoted(column)} AS DOUBLE)"
    return f"CAST({_position(column, variable.levels)} AS DOUBLE)"


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
