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
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from longsynth.reading.csv_file import open_csv, text_to_parquet
from longsynth.schema.recipe import TYPED_DATE, ExportTable, whole_week
from longsynth.system.errors import Code, CohortError, Refused, without_cells

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
    "%G-W%V-%u", "%G-W%V", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f",
          " %I:%M %p", " %I:%M:%S %p")  # fmt: skip
DATE_FORMATS = tuple(date + time for date in _DATES for time in _TIMES)
_SIGN, _EXCEL_DAY = r"[-+<>≤≥ ]*", re.compile(r"\d{5}(?:[.,]\d+)?")
_PLAIN = {mark: re.compile(rf"{_SIGN}\d+[{mark}]\d+") for mark in ".,"}  # 12.5
_GROUPED = {mark: re.compile(rf"{_SIGN}[1-9]\d{{0,2}}(?:[{mark}]\d{{3}})+") for mark in ".,' "}
_BOTH = {  # 1,250.5, by the mark between thousands
    mark: re.compile(rf"{_GROUPED[mark].pattern}[{other}]\d+") for mark, other in (",.", ".,")
}
_NUMBER = re.compile(rf"{_SIGN}\d+(?:[.,]\d+)?")


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


class Marks(NamedTuple):
    """The marks in the numbers of a file."""

    decimal: str = "."
    thousands: str = ""
    clear: bool = True  # or 1,250 may be a thousand or one and a quarter


@dataclass(frozen=True, slots=True)
class Export:
    """What was found out about one file, or one sheet of a workbook."""

    path: Path
    form: str
    encoding: str
    separator: str
    header: int
    sheet: str
    marks: Marks
    cells: dict[str, list[str]]  # by column; empty cells as ""

    def sentence(self) -> str:
        """Say what was detected, in words for a data steward."""
        rows = f"{len(self.cells)} columns"
        skipped = f", column names in line {self.header}" if self.header > 1 else ""
        if self.form != "csv":
            sheet = f", sheet {self.sheet}" if self.sheet else ""
            return f"{self.path.name}: {self.form}{sheet}{skipped}, {rows}"
        mark = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar"}[self.separator]
        return (
            f"{self.path.name}: CSV in {self.encoding}, separated by {mark}, decimal mark "
            f"'{self.marks.decimal}'{skipped}, {rows}"
        )


def look_at(path: Path, missing: Iterable[str] = ()) -> list[Export]:
    """Find out the form of a file of an export: of each sheet that has a table."""
    if not path.is_file():
        raise CohortError(Code.FILE_MISSING, f"{path} is not a file.", "Give the export's files.")
    form = form_of(path)
    if form == "csv":
        encoding = _encoding(path)
        with without_cells(_unreadable(path)):
            return [
                _looked_at(path, FileForm(form, encoding, *_separator(path, encoding)), missing)
            ]
    if form == "parquet":
        return [_looked_at(path, FileForm(form), missing)]
    with without_cells(_unreadable(path)):
        sheets = {name: _sheet_lines(path, name) for name in _workbook(path).sheet_names}
    alone = len(sheets) == 1
    files = [
        FileForm(form, header=_header(lines), sheet="" if alone else name)
        for name, lines in sheets.items()
        if any(sum(map(bool, line)) > 1 for line in lines)
    ]
    if not files:
        raise CohortError(
            Code.FILE_UNREADABLE, f"{path.name} has no sheet with a table.", "Give another file."
        )
    return [_looked_at(path, file, missing) for file in files]


def _looked_at(path: Path, file: FileForm, missing: Iterable[str]) -> Export:
    names, rows = _text_rows(path, file)
    columns: dict[str, list[str]] = {name: [] for name in names}
    for row in islice(rows, LOOKED_AT):
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell.strip())
    words = {word.casefold() for word in missing}
    known = [cell for cells in columns.values() for cell in cells if cell.casefold() not in words]
    marks = _marks(known) if file.form == "csv" else Marks()
    return Export(path, *file[:5], marks, columns)


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


def are_excel_days(cells: Sequence[str]) -> bool:
    """Whether most cells look like the days that Excel counts, such as 45397 or 45397.5."""
    return _most(cells, _EXCEL_DAY)


def are_numbers(cells: Sequence[str]) -> bool:
    return _most(cells, _NUMBER)


def decimals_in(cells: Sequence[str], mark: str) -> int | None:
    """How many decimals are enough for most cells, if they are numbers."""
    if not are_numbers(cells):
        return None
    places = sorted(len(cell.partition(mark)[2]) for cell in cells if cell)
    return places[min(int(ENOUGH * len(places)), len(places) - 1)]


def _most(cells: Sequence[str], form: re.Pattern[str]) -> bool:
    known = [cell for cell in cells if cell]
    return bool(known) and sum(map(bool, map(form.fullmatch, known))) >= ENOUGH * len(known)


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
    names, rows = _text_rows(path, FileForm.of(table))
    lacking = [column for column in columns if column not in names]
    if lacking:
        raise CohortError(
            Code.COLUMN_MISSING,
            f"{path.name} has no column {', '.join(map(repr, lacking))}.",
            "Correct the column's name in the recipe, or the line of the header.",
        )
    with without_cells(_unreadable(path)):
        text_to_parquet(names, rows, target, columns)


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


def _workbook(path: Path) -> Any:
    try:
        from python_calamine import CalamineWorkbook
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "Excel files are read with python-calamine, which is not installed.",
            "Install it: pip install 'longsynth[table]', or save the sheet as CSV.",
        ) from None
    return CalamineWorkbook.from_path(path)


def _excel_rows(path: Path, file: FileForm) -> tuple[list[str], Iterator[list[str]]]:
    book = _workbook(path)
    if file.sheet and file.sheet not in book.sheet_names:
        raise CohortError(
            Code.COLUMN_MISSING,
            f"{path.name} has no sheet {file.sheet!r}.",
            f"Give one of: {', '.join(book.sheet_names)}.",
        )
    lines = _sheet_lines(path, file.sheet or book.sheet_names[0], file.decimal)
    names = _names(lines, file.header)
    kept = [i for i, name in enumerate(names) if name]
    if len({names[i] for i in kept}) < len(kept):
        raise CohortError(
            Code.COLUMN_TWICE,
            f"{path.name} names a column twice in line {file.header}, its header.",
            "Rename one of them, or correct `header` in the recipe.",
        )
    rows = ([line[i] for i in kept] for line in lines[file.header :] if any(line))
    return [names[i] for i in kept], rows


def _sheet_lines(path: Path, sheet: str, decimal: str = ".") -> list[list[str]]:
    lines = _workbook(path).get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    return [[_text(cell, decimal).strip() for cell in line] for line in lines]


def _names(lines: Sequence[Sequence[str]], header: int) -> list[str]:
    """Column names; where cells are merged, a name stands in a line above the header's."""
    above = zip(*lines[:header], strict=True)
    return [next((cell for cell in reversed(cells) if cell), "") for cells in above]


def _header(lines: Sequence[Sequence[str]]) -> int:
    """The first line that names nearly every column, by words that differ."""
    first = lines[:FIRST_LINES]
    width = max(sum(map(bool, line)) for line in first)
    for number in range(1, len(first)):
        names = [name for name in _names(first, number) if name]
        own = sum(map(bool, first[number - 1]))  # at least half of the names
        if min(len(_words(names)), 2 * own) >= ENOUGH * width:
            return number
    return 1


def _words(cells: Sequence[str]) -> set[str]:
    """The different cells that can be names: those of patients have numbers or dates."""
    return {cell for cell in cells if cell and not cell[0].isdigit()}


def _text(cell: object, decimal: str) -> str:
    match cell:
        case None | "":
            return ""
        case bool():
            return "1" if cell else "0"
        case float():
            return repr(cell).removesuffix(".0").replace(".", decimal)
        case datetime():
            return cell.strftime(TYPED_DATE)
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
            rows = list(csv.reader(lines, delimiter=separator))
        except csv.Error:
            continue
        sizes = [len(row) for row in rows]
        usual, times = Counter(sizes).most_common(1)[0] if sizes else (0, 0)
        if usual > 1:
            first = sizes.index(usual)
            named = (i for i in range(first, len(rows)) if len(_words(rows[i])) == usual)
            header = next(named, first) + 1  # a line of merged names may stand above it
            best = max(best, (times / len(sizes), usual, separator, header))
    if not best[2]:
        raise CohortError(
            Code.FILE_UNREADABLE,
            f"{path.name} has no columns that are separated by ; , | or tabs.",
            "Save it as CSV with a header line.",
        )
    return best[2], best[3]


def _marks(cells: Sequence[str]) -> Marks:
    """Find the decimal mark and the mark between thousands. 12,5 and 0,125 can only be decimals;
    1,250 may be either, so it decides nothing by itself."""

    def found(form: re.Pattern[str]) -> int:
        return sum(map(bool, map(form.fullmatch, cells)))

    grouped = {mark: found(form) for mark, form in _GROUPED.items()}
    both = {mark: found(form) for mark, form in _BOTH.items()}
    plain = {mark: found(form) for mark, form in _PLAIN.items()}
    alone = {
        mark: sum(bool(form.fullmatch(c) and not _GROUPED[mark].fullmatch(c)) for c in cells)
        for mark, form in _PLAIN.items()
    }
    sure = {",": alone[","] + both["."], ".": alone["."] + both[","]}
    decimal, other = (",", ".") if sure[","] > sure["."] else (".", ",")
    if grouped[other] + both[other] and not alone[other]:
        clear = sure[decimal] > 0
        return Marks(decimal, other, clear)
    if plain[decimal] and not sure[decimal]:
        return Marks(decimal, "", False)
    return Marks(decimal, next((mark for mark in "' " if grouped[mark]), ""))


def _is_date(cell: str, form: str) -> bool:
    form, day = whole_week(form)
    cell += day
    try:
        return 1850 <= datetime.strptime(cell, form).year <= 2200
    except ValueError:
        return False


def _unreadable(path: Path) -> str:
    return (
        f"{path.name} cannot be read: is the file damaged, or of another kind than its name says?"
    )
