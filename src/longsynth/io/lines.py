"""CSV read line by line: a line is a row and belongs to the id at its start.

Quotes are read within a line only, so that no cell of one patient can swallow another's lines, and
the id stands first, so that nothing a patient's cells hold can move it.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.errors import CohortError

LINES = 100_000  # a chunk
_ID = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)')  # quoted or bare
LONGEST = 256  # characters of a cell; no number, time or label needs more


def csv_to_parquet(source: Path, target: Path, patient: str) -> int:
    """Write the cells as text, a line a row. A cell that a line lacks is null.

    Returns how many lines had another number of cells than the header: a raw fact.
    """
    odd = 0
    with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        names = [name.strip() for name in _cells(next(lines, ""))]
        if names[:1] != [patient]:  # before anything else is said of what may be no header
            raise CohortError(
                f"{source.name} must begin with a header line, separated by commas, whose first "
                f"name is {patient!r}: the id stands first, so that no other cell can move it."
            )
        if len(set(names)) < len(names):
            raise CohortError(f"{source.name} names a column twice in its header: rename one.")
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
        rows = [_row(line.rstrip("\r\n"), width) for line in chunk]
        yield [row for row, _ in rows], sum(uneven for _, uneven in rows)


def _row(line: str, width: int) -> tuple[list[str | None], bool]:
    """The cells of a line: first its id, then the rest, which cannot change it.

    Where the quotes of the rest cannot be right, every comma separates.
    """
    start = _ID.match(line)
    quoted, bare = start.groups() if start else (None, line)
    identity = bare if quoted is None else quoted.replace('""', '"')
    rest = line[start.end() :] if start else ""
    cells = _cells(rest)
    uneven = len(cells) != width - 1
    if uneven:
        plain = [cell.strip().strip('"') for cell in rest.split(",")]
        cells = plain if not cells or len(plain) == width - 1 else cells
    found = [identity, *cells[: width - 1]]
    kept = [cell.strip() if len(cell) <= LONGEST else None for cell in found]
    return [cell or None for cell in kept] + [None] * (width - len(kept)), uneven


def _cells(line: str) -> list[str]:
    """Split at commas outside quotes, however long a cell is."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        return next(csv.reader((line.rstrip("\r\n"),)), [])
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(usual)
