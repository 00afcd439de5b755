"""SQL for ids, times and labels, from the schema and the column types alone."""

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

import pyarrow as pa

from longsynth.reading.plain import is_number, is_stamp, is_text, shown
from longsynth.schema.schema import TIME_UNITS, Labels, Time
from longsynth.schema.variable import Variable
from longsynth.system.errors import CohortError


def id_cast(rows: pa.DataType, people: pa.DataType) -> str:
    """How to compare ids of two column types. A float cannot hold every id, so it is refused."""
    for kind in (rows, people):
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            raise CohortError(
                f"patient ids are stored as {kind}, which cannot hold every id: "
                "store them as whole numbers or text in both tables."
            )
    whole = all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in (rows, people))
    return "CAST({} AS BIGINT)" if whole else "CAST({} AS VARCHAR)"


def hours(time: Time, kind: pa.DataType) -> str:
    """SQL for a row's time in hours."""
    column = quoted(time.column)
    if time.unit == "timestamp" and is_stamp(kind):
        return column  # copied as hours
    if time.unit == "timestamp" and (is_text(kind) or pa.types.is_null(kind)):
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ)) / 3600e6"
    if time.unit != "timestamp" and (is_number(kind) or is_text(kind)):
        return f"TRY_CAST({column} AS DOUBLE) * {TIME_UNITS[time.unit]!r}"
    unit = "timestamp" if is_stamp(kind) else "hours"
    raise CohortError(
        f"column {time.column!r} is stored as {shown(kind)}, not as a time in {time.unit}: "
        f"correct 'time: {{unit: …}}' in schema.yaml, for instance to {unit}."
    )


def level_code(labels: Labels | None, types: Mapping[str, pa.DataType]) -> str:
    """SQL for a label's position in the schema; whatever is not there is the first."""
    if labels is None:
        return "0"
    return f"coalesce({_position(labels.column, labels.levels, types[labels.column])}, 0)"


def cell(variable: Variable) -> str:
    """SQL for a value: a number, or its level's position; NULL for what is neither."""
    column = variable.column or variable.name
    if variable.levels is None:
        return f"TRY_CAST({quoted(column)} AS DOUBLE)"
    return f"CAST({_position(column, variable.levels)} AS DOUBLE)"


def level_position(labels: Labels) -> str:
    """SQL for a label's position in the schema, or NULL."""
    return _position(labels.column, labels.levels)


def _position(name: str, levels: tuple[str, ...], kind: pa.DataType | None = None) -> str:
    """Equal as text or else, where the level is a number, as numbers: 1, 1.0 and true are 1."""
    column = quoted(name)
    texts = {i: literal(level) for i, level in enumerate(levels)}
    numbers = {i: x for i, x in enumerate(map(_number, levels)) if isfinite(x)}
    whole = kind is not None and pa.types.is_integer(kind)
    if whole and len(set(numbers.values())) == len(numbers):
        texts = {}  # what is equal as text is so as a number, and no number stands twice
    tests = [f"WHEN CAST({column} AS VARCHAR) = {text} THEN {i}" for i, text in texts.items()]
    tests += [f"WHEN TRY_CAST({column} AS DOUBLE) = {x!r} THEN {i}" for i, x in numbers.items()]
    return f"CASE {' '.join(tests)} END" if tests else "NULL"


def _number(level: str) -> float:
    try:
        return float(level)
    except ValueError:
        return float("nan")


def no_glob(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path.absolute()))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"
