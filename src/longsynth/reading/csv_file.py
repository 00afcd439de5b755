"""CSV as RFC 4180 defines it: a quoted cell may contain commas, quotation marks and line breaks.

An import runs on the private side and its output is for the data steward. So it stops at a
malformed row and names the line, but it quotes no cell. Python's own parser does the work, in
strict mode.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.parquet import LONGEST
from longsynth.system.errors import Code, CohortError, replacement, without_cells

ROWS = 50_000  # per batch
LARGEST = 1 << 24  # characters of a cell: a quotation mark that is never closed ends here
SHOWN = 5  # lines that a message names


@cache
def well_quoted(separator: str) -> re.Pattern[str]:
    """The lines of one row; the parser itself forgives some quotation marks."""
    between = re.escape(separator)
    cell = rf'(?:"(?:[^"]|"")*"|[^"{between}\r\n]*)'
    return re.compile(rf"{cell}(?:{between}{cell})*[\r\n]*")


@dataclass(slots=True)
class CsvFile:
    """An open file: its header, then its rows, each with as many cells as the header."""

    label: str  # the file's name, for messages
    file: TextIO
    separator: str = ","
    header_line: int = 1  # those before it are skipped
    header: list[str] = field(init=False)
    with_line_breaks: int = 0  # cells; allowed, but often a quotation mark is missing
    uneven: list[int] = field(default_factory=list)  # lines of rows with another number of cells
    _lines: int = 0  # read so far
    _row: list[str] = field(default_factory=list)  # lines since the last row ended

    def __post_init__(self) -> None:
        for _ in range(self.header_line - 1):
            self._lines += bool(self.file.readline())
        first = next(self._parsed(), (0, []))[1]
        self.header = [name.strip() for name in first]
        if len(self.header) < 2:
            raise self._refused("has no header line with names separated by commas.", "Add one.")
        if len(set(self.header)) < len(self.header):
            raise self._refused("names a column twice in its header.", "Rename one of them.")

    def rows(self) -> Iterator[list[str]]:
        """Yield every row; refuse the file at the end if one has too many or too few cells."""
        for line, cells in self._parsed():
            if len(cells) <= 1 and not "".join(cells).strip():
                continue  # a blank line
            if len(cells) == len(self.header):
                self.with_line_breaks += sum("\n" in cell or "\r" in cell for cell in cells)
                yield cells
            else:
                self.uneven.append(line)
        if self.uneven:
            named = ", ".join(f"{line:,}" for line in self.uneven[:SHOWN])
            more = ", …" if len(self.uneven) > SHOWN else ""
            raise self._refused(
                f"has rows with more or fewer cells than the header, {len(self.uneven):,} in all. "
                f"They start in lines {named}{more}.",
                "Put cells with a comma in quotation marks.",
            )

    def _parsed(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line at which each row starts, and its cells."""
        reader = csv.reader(self._counted(), delimiter=self.separator, strict=True)
        while True:
            line = self._lines + 1
            self._row.clear()
            try:
                cells = next(reader, None)
            except csv.Error:
                raise self._misquoted(line) from None
            text = "".join(self._row)
            if '"' in text and not well_quoted(self.separator).fullmatch(text):
                raise self._misquoted(line)
            if cells is None:
                return
            yield line, cells

    def _counted(self) -> Iterator[str]:
        for line in self.file:
            self._lines += 1
            self._row.append(line)
            yield line

    def _misquoted(self, line: int) -> CohortError:
        return self._refused(
            f"has a misplaced quotation mark, or one that is never closed, in the row that starts "
            f"in line {line:,}.",
            "Double every quotation mark inside a quoted cell.",
        )

    def _refused(self, problem: str, remedy: str) -> CohortError:
        return CohortError(Code.CSV_MALFORMED, f"{self.label} {problem}", remedy)


@contextmanager
def open_csv(
    source: Path, label: str, *, encoding: str = "utf-8", separator: str = ",", header: int = 1
) -> Iterator[CsvFile]:
    """Open a file, with or without a byte-order mark."""
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding

    def problem(error: Exception) -> CohortError:
        if not isinstance(error, UnicodeError):
            return replacement(
                error, f"{label} cannot be read.", "Check that it is a file that you may open."
            )
        line = _first_wrong_line(source)
        return CohortError(
            Code.CSV_MALFORMED,
            f"{label} is not in UTF-8, from line {line:,} on.",
            "Save it again as 'CSV UTF-8'.",
        )

    usual = csv.field_size_limit(LARGEST)
    try:
        with without_cells(problem), source.open(encoding=encoding, newline="") as file:
            yield CsvFile(label, file, separator, header)
    finally:
        csv.field_size_limit(usual)


def text_to_parquet(
    header: Sequence[str], rows: Iterator[list[str]], target: Path, columns: Sequence[str]
) -> int:
    """Write these columns as text, without blanks at the ends, and empty cells as null. Cells that
    are longer than any number or label become null too. Return how many there were."""
    places = [header.index(column) for column in columns]
    schema = pa.schema([(column, pa.string()) for column in columns])
    too_long = 0
    with pq.ParquetWriter(target, schema) as writer:
        while batch := list(islice(rows, ROWS)):
            arrays = []
            for place in places:
                cells = [row[place].strip() for row in batch]
                short = [cell if len(cell.encode()) <= LONGEST else "" for cell in cells]
                too_long += sum(map(bool, cells)) - sum(map(bool, short))
                arrays.append(pa.array([cell or None for cell in short], pa.string()))
            writer.write_table(pa.table(arrays, schema=schema))
    return too_long


def _first_wrong_line(source: Path) -> int:
    with source.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1
