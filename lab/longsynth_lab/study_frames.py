"""Frame: a small table of a study, as a CSV file that plots and PGFPlots read by column name."""

import csv
import io
from dataclasses import dataclass
from math import isnan
from pathlib import Path

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in the order in which they are drawn: bars are placed by it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def column(self, name: str) -> list[Value]:
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> list[float]:
        return [float(value) for value in self.column(name)]


def as_csv(frame: Frame) -> str:
    """Return the file's text: full precision, `nan` where there is no number, no quoting."""
    lines = [",".join(frame.columns)]
    for row in frame.rows:
        cells = [_cell(value) for value in row]
        if any(set(cell) & set(',"\n') for cell in cells):
            raise ValueError(f"{frame.name}: a cell with a comma or quote would shift its row")
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file, its head included."""
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def _cell(value: Value) -> str:
    if isinstance(value, float):
        return "nan" if isnan(value) else repr(float(value))
    return str(value)
