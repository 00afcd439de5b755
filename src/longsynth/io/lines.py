"""CSV read line by line: a line is a row and belongs to the id at its start.

Quotes are read within a line only, so that no cell of one patient can swallow another's lines, and
the id stands first, so that nothing a patient's cells hold can move it.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.errors import CohortError

LINES = 100_000  # a chunk
_ID = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)')  # quoted or bare
LONGEST = 256  # characters of a cell; no number, time or label needs more
WIDEST = 1 << 24  # characters of a line; what stands behind them is not read


def csv_header(source: Path, patient: str) -> list[str]:
    """Return the names of all columns; refuse a first line that cannot be a header."""
    with _opened(source) as file:
        names = _names(file)
    if names[:1] != [patient]:  # before anything else is said of what may be no header
        raise CohortError(
            f"{source.name} must begin with a header line, separated by commas, whose first "
            f"name is {patient!r}: the id stands first, so that no other cell can move it."
        )
    if len(set(names)) < len(names):
        raise CohortError(f"{source.name} names a column twice in its header: rename one.")
    return names


def csv_to_parquet(source: Path, target: Path, columns: Sequence[str]) -> int:
    """Write the cells of these columns as text, a line a row. A cell that a line lacks is null.

    No other column is copied. Returns how many lines had another number of cells than the header:
    a raw fact.
    """
    odd = 0
    with _opened(source) as file:
        names = _names(file)
        places = [names.index(column) for column in columns]
        schema = pa.schema([(column, pa.string()) for column in columns])
        with pq.ParquetWriter(target, schema) as writer:
            for rows, uneven in _chunks(_lines(file), len(names), places):
                odd += uneven
                cells = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
                writer.write_table(pa.table(cells, schema=schema))
    return odd


def _opened(source: Path) -> TextIO:
    return source.open(encoding="utf-8-sig", errors="replace", newline="\n")


def _names(file: TextIO) -> list[str]:
    return [name.strip() for name in _cells(next(_lines(file), ""))]


def _lines(file: TextIO) -> Iterator[str]:
    """Yield each line, however long, without ever holding more of it than is read."""
    while line := file.readline(WIDEST):
        rest = line
        while len(rest) == WIDEST and not rest.endswith("\n"):
            rest = file.readline(WIDEST)
        yield line


def _chunks(
    lines: Iterator[str], width: int, places: list[int]
) -> Iterator[tuple[list[list[str | None]], int]]:
    """Yield the cells at some places of each line, and how many lines had too many or too few."""
    full = (line for line in lines if line.strip())
    while chunk := list(islice(full, LINES)):
        odd, kept = 0, []
        for line in chunk:
            row, uneven = _row(line.rstrip("\r\n"), width)
            odd += uneven
            kept.append([row[place] for place in places])
        yield kept, odd


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
