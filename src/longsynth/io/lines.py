"""CSV read line by line: a line is a row and belongs to the id at its start.

Quotes are read within a line only, so that no cell of one patient can swallow another's lines, and
the id stands first, so that nothing a patient's cells hold can move it.
"""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.errors import CohortError

LINES = 100_000  # a chunk
LONGEST = 256  # characters of a cell; no number, time or label needs more


def csv_to_parquet(source: Path, target: Path, patient: str) -> int:
    """Write the cells as text, a line a row. A cell that a line lacks is null.

    Returns how many lines had another number of cells than the header: a raw fact.
    """
    odd = 0
    with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        names = [name.strip() for name in _cells(next(lines, ""))]
        if not any(names):
            raise CohortError(f"{source.name} has no header line: put the column names first.")
        if len(set(names)) < len(names):
            raise CohortError(f"{source.name} names a column twice in its header: rename one.")
        if patient in names[1:]:
            raise CohortError(
                f"{source.name} has {patient!r} further right: put it first in every line, so that "
                "no other cell can move it, or use Parquet."
            )
        schema = pa.schema([(name, pa.string()) for name in names])
        with pq.ParquetWriter(target, schema) as writer:
            for rows, uneven in _chunks(lines, len(names)):
                odd += uneven
                columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
                writer.write_table(pa.table(columns, schema=schema))
    return odd


def _chunks(lines: Iterator[str], width: int) -> Iterator[tuple[list[list[str | None]], int]]:
    """Yield rows, and how many of them came from lines with too many or too few cells."""
    full = (line for line in lines if line.strip())
    while chunk := list(islice(full, LINES)):
        split = [(line, _cells(line)) for line in chunk]
        uneven = sum(len(cells) != width for _, cells in split)
        yield [_row(line, cells, width) for line, cells in split], uneven


def _row(line: str, cells: list[str], width: int) -> list[str | None]:
    """The cells of a line. Where its quotes cannot be right, every comma separates."""
    if len(cells) != width:
        plain = [cell.strip().strip('"') for cell in line.split(",")]
        cells = plain if not cells or len(plain) == width else cells
    kept = [cell.strip() if len(cell) <= LONGEST else None for cell in cells[:width]]
    return [cell or None for cell in kept] + [None] * (width - len(cells))


def _cells(line: str) -> list[str]:
    """Split at commas outside quotes, however long a cell is."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        return next(csv.reader((line.rstrip("\r\n"),)), [])
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(usual)
