"""Columns that a schema needs of a table. They are public, and what else a file has is not told."""

import pyarrow as pa

from longsynth.errors import CohortError
from longsynth.io.plain import is_number, is_text
from longsynth.io.sql import shown


def require_columns(table: str, found: list[str], wanted: list[str]) -> None:
    """Every column once."""
    lacking = [column for column in wanted if column not in found]
    if lacking:
        raise CohortError(
            f"the {table} table has no column {', '.join(map(repr, lacking))}. "
            + (_known(found, wanted) or "Has it a header line, with commas?")
            + " Rename it, or map it in schema.yaml with 'column:'."
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
    return f"It has {', '.join(c if c.isprintable() else repr(c) for c in alike)}{more}."


def _folded(column: str) -> str:
    return "".join(filter(str.isalnum, column.casefold()))


def require_numbers(types: dict[str, pa.DataType], columns: list[str]) -> None:
    for column in columns:
        if not (is_number(types[column]) or is_text(types[column])):
            raise CohortError(
                f"column {column!r} is stored as {shown(types[column])}: "
                "store it as numbers or text."
            )
