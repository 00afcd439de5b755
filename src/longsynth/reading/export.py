"""An export as a hospital makes it: which form a file has, and its cells as text.

Looking at cells to find out their form happens on the private side, for the data steward. What is
found are forms (a separator, a date format), never values.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.csv_file import csv_to_parquet, open_csv
from longsynth.schema.recipe import ExportTable
from longsynth.system.errors import Code, CohortError, Refused
from longsynth.system.reader_errors import without_cells

LOOKED_AT = 200_000  # rows, to find out the form of their cells
FIRST_LINES = 200  # to find out the separator and the header
ROWS = 50_000  # per batch
EXCEL = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
SEPARATORS = ";\t,|"
ENOUGH = 0.9  # the share of a column's cells that must have a form
_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
    "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y",
    "%d.%m.%y", "%d/%m/%y", "%d-%m-%y", "%m/%d/%y", "%m-%d-%y",
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f",
          " %I:%M %p", " %I:%M:%S %p")  # fmt: skip
DATE_FORMATS = tuple(date + time for date in _DATES for time in _TIMES)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(r"[-+<>≤≥ ]*\d+,\d+"), re.compile(r"[-+<>≤≥ ]*\d+\.\d+")
_IN_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?")


class FileForm(NamedTuple):
    """How a file is laid out."""

    form: str
    encoding: str = "utf-8"
    separator: str = ","
    header: int = 1  # the line of the column names
    sheet: str = ""
    decimal: str = "."

    @classmethod
    def of(cls, table: ExportTable) -> "FileForm":
        return cls(*(getattr(table, field) for field in cls._fields))


@dataclass(frozen=True, slots=True)
class Export:
    """What was found out about one file."""

    path: Path
    form: str
    encoding: str
    separator: str
    header: int
    decimal: str
    thousands: str
    cells: dict[str, list[str]]  # by column; empty cells as ""

    def sentence(self) -> str:
        """Say what was detected, in words for a data steward."""
        rows = f"{len(self.cells)} columns"
        if self.form != "csv":
            return f"{self.path.name}: {self.form}, {rows}"
        mark = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar"}[self.separator]
        skipped = f", column names in line {self.header}" if self.header > 1 else ""
        return (
            f"{self.path.name}: CSV in {self.encoding}, separated by {mark}, decimal mark "
            f"'{self.decimal}'{skipped}, {rows}"
        )


def look_at(path: Path, missing: Iterable[str] = ()) -> Export:
    """Find out the form of a file of an export."""
    if not path.is_file():
        raise CohortError(Code.FILE_MISSING, f"{path} is not a file.", "Give the export's files.")
    form = form_of(path)
    file = FileForm(form)
    if form == "csv":
        encoding = _encoding(path)
        with without_cells(_unreadable(path)):
            file = FileForm(form, encoding, *_separator(path, encoding))
    names, rows = _text_rows(path, file)
    columns: dict[str, list[str]] = {name: [] for name in names}
    for row in islice(rows, LOOKED_AT):
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell.strip())
    words = {word.casefold() for word in missing}
    known = [cell for cells in columns.values() for cell in cells if cell.casefold() not in words]
    decimal, thousands = _marks(known) if form == "csv" else (".", "")
    return Export(path, *file[:4], decimal, thousands, columns)


def form_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in EXCEL:
        return "excel"
    return "parquet" if suffix in (".parquet", ".pq") else "csv"


def date_formats(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the formats in which most of the cells are dates; several if they cannot be told
    apart, none if the cells are no dates."""
    distinct = list(dict.fromkeys(cell for cell in cells if cell))
    if not distinct or sum(len(cell) >= 6 for cell in distinct) < ENOUGH * len(distinct):
        return ()
    first = [f for f in DATE_FORMATS if any(_is_date(cell, f) for cell in distinct[:20])]
    shares = {
        f: sum(_is_date(cell, f) or _is_date(cell, day_of(f)) for cell in distinct) / len(distinct)
        for f in first
    }
    best = max(shares.values(), default=0.0)
    return tuple(f for f, share in shares.items() if share == best) if best >= ENOUGH else ()


def day_of(date_format: str) -> str:
    """The same format without the time of day, which some cells of a column may lack."""
    return re.split(r"[ T](?=%[HI])", date_format)[0]


def is_split(cells: Sequence[str]) -> bool:
    """Whether most cells hold two numbers with a slash between them, as blood pressures do."""
    known = [cell for cell in cells if cell]
    pairs = sum(bool(re.fullmatch(r"\d+\s*/\s*\d+", cell)) for cell in known)
    return bool(known) and pairs >= ENOUGH * len(known)


def write_text(path: Path, table: ExportTable, columns: Sequence[str], target: Path) -> None:
    """Write columns of a file as text to a Parquet file: empty cells as null."""
    label = path.name
    if table.form == "csv":
        with open_csv(
            path, label, encoding=table.encoding, separator=table.separator, header=table.header
        ) as opened:
            _require(label, opened.header, columns)
            csv_to_parquet(opened, target, columns)
        return
    names, rows = _text_rows(path, FileForm.of(table))
    _require(label, names, columns)
    places = [names.index(column) for column in columns]
    schema = pa.schema([(column, pa.string()) for column in columns])
    with without_cells(_unreadable(path)), pq.ParquetWriter(target, schema) as writer:
        while batch := list(islice(rows, ROWS)):
            arrays = [
                pa.array([row[p].strip() or None for row in batch], pa.string()) for p in places
            ]
            writer.write_table(pa.table(arrays, schema=schema))


def _require(label: str, names: Sequence[str], columns: Sequence[str]) -> None:
    lacking = [column for column in columns if column not in names]
    if lacking:
        raise CohortError(
            Code.COLUMN_MISSING,
            f"{label} has no column {', '.join(map(repr, lacking))}.",
            "Correct the column's name in the recipe, or the line of the header.",
        )


def _text_rows(path: Path, file: FileForm) -> tuple[list[str], Iterator[list[str]]]:
    """Return the column names of a file, and its rows as text."""
    if file.form == "csv":
        return _csv_rows(path, file)
    with without_cells(_unreadable(path)):
        if file.form == "parquet":
            return _parquet_rows(path)
        return _excel_rows(path, file)


def _csv_rows(path: Path, file: FileForm) -> tuple[list[str], Iterator[list[str]]]:
    def rows() -> Iterator[list[str]]:
        with open_csv(
            path, path.name, encoding=file.encoding, separator=file.separator, header=file.header
        ) as opened:
            yield opened.header
            yield from opened.rows()

    found = rows()
    return next(found), found


def _parquet_rows(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    file = pq.ParquetFile(path)

    def rows() -> Iterator[list[str]]:
        with without_cells(_unreadable(path)), file:
            for batch in file.iter_batches(ROWS):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield [_text(cell, ".") for cell in row]

    return list(file.schema_arrow.names), rows()


def _excel_rows(path: Path, file: FileForm) -> tuple[list[str], Iterator[list[str]]]:
    try:
        from python_calamine import CalamineWorkbook
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "Excel files are read with python-calamine, which is not installed.",
            "Install it: pip install 'longsynth[table]', or save the sheet as CSV.",
        ) from None
    book = CalamineWorkbook.from_path(path)
    if file.sheet and file.sheet not in book.sheet_names:
        raise CohortError(
            Code.COLUMN_MISSING,
            f"{path.name} has no sheet {file.sheet!r}.",
            f"Give one of: {', '.join(book.sheet_names)}.",
        )
    sheet = book.get_sheet_by_name(file.sheet or book.sheet_names[0])
    lines = sheet.to_python(skip_empty_area=False)[file.header - 1 :]
    names = [_text(cell, ".").strip() for cell in (lines[0] if lines else [])]
    kept = [i for i, name in enumerate(names) if name]
    rows = ([_text(line[i], file.decimal) for i in kept] for line in lines[1:] if any(line))
    return [names[i] for i in kept], rows


def _text(cell: object, decimal: str) -> str:
    match cell:
        case None | "":
            return ""
        case bool():
            return "1" if cell else "0"
        case float():
            return repr(cell).removesuffix(".0").replace(".", decimal)
        case datetime():
            return cell.strftime("%Y-%m-%d %H:%M:%S")
        case date():
            return f"{cell.isoformat()} 00:00:00"
        case time():
            return cell.isoformat()
    return str(cell)


def _encoding(path: Path) -> str:
    """UTF-8 if the whole file is, with or without a mark; UTF-16 by its mark; else what Windows
    writes in Europe."""
    with path.open("rb") as file:
        start = file.read(4)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            while chunk := file.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig" if start.startswith(codecs.BOM_UTF8) else "utf-8"


def _separator(path: Path, encoding: str) -> tuple[str, int]:
    """Return the separator that cuts most lines into equally many cells, and the header's line."""
    with path.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as file:
        lines = list(islice(file, FIRST_LINES))
    best = (0.0, 0, "", 1)
    for separator in SEPARATORS:
        try:
            sizes = [len(row) for row in csv.reader(lines, delimiter=separator)]
        except csv.Error:
            continue
        usual, times = Counter(sizes).most_common(1)[0] if sizes else (0, 0)
        if usual > 1:
            header = sizes.index(usual) + 1
            best = max(best, (times / len(sizes), usual, separator, header))
    if not best[2]:
        raise CohortError(
            Code.FILE_UNREADABLE,
            f"{path.name} has no columns that are separated by ; , | or tabs.",
            "Save it as CSV with a header line.",
        )
    return best[2], best[3]


def _marks(cells: Sequence[str]) -> tuple[str, str]:
    """Return the decimal mark and the mark between thousands."""
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    points = [cell for cell in cells if _DECIMAL_POINT.fullmatch(cell)]
    decimal = "," if len(commas) > len(points) else "."
    other = points if decimal == "," else commas
    grouped = bool(other) and all(_IN_THOUSANDS.fullmatch(cell) for cell in other)
    return decimal, ("." if decimal == "," else ",") if grouped else ""


def _is_date(cell: str, form: str) -> bool:
    try:
        return 1850 <= datetime.strptime(cell, form).year <= 2200
    except ValueError:
        return False


def _unreadable(path: Path) -> str:
    return (
        f"{path.name} cannot be read: is the file damaged, or of another kind than its name says?"
    )
