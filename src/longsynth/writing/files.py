"""Tables as files that people open: CSV, Parquet and Excel. The same rows give the same bytes.

Each kind is a context that yields a function, which adds the rows of an Arrow table. All tables
that are added to a file have the same columns.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from longsynth.system.errors import Code, Refused
from longsynth.writing.cohort import parquet_writer

Add = Callable[[pa.Table], None]
ABOVE = "synthetic patients"  # in each line above the header
EXCEL_ROWS = 1_048_576  # of a sheet
FIRST_YEAR = 1900  # after which Excel's days are clear
BLOCK = 1 << 20
LONGEST_SHEET = 1 << 33  # bytes of a sheet that are searched for rows
MIDNIGHT = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP file can hold
_CHANGED = re.compile(rb"(<dcterms:(\w+)[^>]*>)[^<]*(</dcterms:\w+>)")


@contextmanager
def csv_file(
    path: Path, *, encoding: str = "utf-8", separator: str = ",", above: int = 0
) -> Iterator[Add]:
    with path.open("w", encoding=encoding, newline="") as file:
        file.write(f"{ABOVE}\r\n" * above)
        writer, header = csv.writer(file, delimiter=separator), _Header()

        def add(table: pa.Table) -> None:
            try:
                writer.writerows(header.rows(table))
            except UnicodeError:
                raise Refused(
                    Code.RECIPE_INVALID,
                    f"{path.name} has words that its encoding {encoding} cannot hold.",
                    "Correct `encoding` in the recipe.",
                ) from None

        yield add


@contextmanager
def parquet_file(path: Path) -> Iterator[Add]:
    with ExitStack() as opened:
        writers: list[Any] = []

        def add(table: pa.Table) -> None:
            if not writers:
                writers.append(opened.enter_context(parquet_writer(path, table.schema)))
            writers[0].write_table(table)

        yield add


@contextmanager
def excel_file(path: Path, sheets: Mapping[str, int]) -> Iterator[list[Add]]:
    """Yield a function for each sheet: its name, and how many lines are above the header."""
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)

    def adder(name: str, above: int) -> Add:
        sheet, header = book.create_sheet(name), _Header()
        for _ in range(above):
            sheet.append([ABOVE])
        left = EXCEL_ROWS - above - 1

        def add(table: pa.Table) -> None:
            nonlocal left
            left -= table.num_rows
            if left < 0:
                raise Refused(
                    Code.TOO_LARGE,
                    f"a sheet of {path.name} would have more than {EXCEL_ROWS:,} rows.",
                    "Generate fewer patients, or write CSV.",
                )
            for row in header.rows(table):
                sheet.append([_cell(sheet, value) for value in row])

        return add

    yield [adder(*sheet) for sheet in sheets.items()]
    raw = path.with_name(f".{path.name}.raw")
    book.save(raw)
    _without_dates(raw, path)
    raw.unlink()


def csv_rows(path: Path) -> int:
    """Count the rows of a file whose cells have no line breaks."""
    lines = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            lines += block.count(b"\n")
    return lines - 1


def excel_rows(path: Path) -> int:
    """Count the rows of a workbook's first sheet; -1: it is no workbook, or too large for one."""
    rows, end, length = -1, b"", 0
    try:
        with ZipFile(path) as book, book.open("xl/worksheets/sheet1.xml") as sheet:
            while block := sheet.read(BLOCK):
                text = end + block
                rows += text.count(b"<row ")
                end, length = text[-4:], length + len(block)
                if rows > EXCEL_ROWS or length > LONGEST_SHEET:
                    return -1
    except (BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, ValueError, OSError):
        return -1
    return rows


class _Header:
    """Gives the names of the columns once, before the first rows."""

    def __init__(self) -> None:
        self._given = False

    def rows(self, table: pa.Table) -> Iterator[Sequence[object]]:
        if not self._given:
            self._given = True
            yield table.column_names
        yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _cell(sheet: Any, value: object) -> object:
    """A text that starts with = is no formula, and Excel has no dates before 1900."""
    if isinstance(value, datetime) and value.year <= FIRST_YEAR:
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if not (isinstance(value, str) and value.startswith("=")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value=value)
    cell.data_type = "s"
    return cell


def _without_dates(raw: Path, path: Path) -> None:
    """Copy a workbook without the time at which it was saved."""
    with ZipFile(raw) as given, ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name in given.namelist():
            entry = ZipInfo(name, MIDNIGHT)
            entry.compress_type = ZIP_DEFLATED
            with given.open(name) as source, book.open(entry, "w") as target:
                if name == "docProps/core.xml":
                    target.write(_CHANGED.sub(rb"\g<1>1980-01-01T00:00:00Z\g<3>", source.read()))
                else:
                    while block := source.read(BLOCK):
                        target.write(block)


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "Excel files are written with openpyxl, which is not installed.",
            "Install it: pip install 'longsynth[table]', or write CSV.",
        ) from None
    return openpyxl
