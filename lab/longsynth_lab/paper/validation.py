"""Recompute every published number from the seed-level files and report each mismatch."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.audit.ranking import Predictions
from longsynth.audit.utility import utility_scores
from longsynth.system.errors import Refused
from longsynth_lab.errors import LabCode
from longsynth_lab.paper.artefacts import expected_files
from longsynth_lab.results import joined, read_predictions, read_results, write_text_whole

CLOSE = 1e-9  # what another order of summing may change
MISSING = "(not there)"
COLUMNS = ("value", "lower", "upper")
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Mismatch:
    file: str
    row: str  # a line of a text file, or what identifies a row of the results
    column: str
    expected: str
    found: str

    def __str__(self) -> str:
        place = f"{self.file}, row {self.row}, column {self.column}"
        return f"{place}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class Validation:
    checked: int  # numbers
    mismatches: tuple[Mismatch, ...]

    @property
    def valid(self) -> bool:
        return not self.mismatches


class _Check:
    def __init__(self) -> None:
        self.checked, self.mismatches = 0, list[Mismatch]()

    def same(self, file: str, row: str, column: str, expected: str, found: str) -> None:
        self.checked += max(len(NUMBER.findall(expected)), 1)
        if not _same(expected, found):
            self.mismatches.append(Mismatch(file, row, column, expected, found))


def validate(out: Path) -> Validation:
    """Check a study folder against its own cells and write DIR/validation.json.

    Three steps: compare the joined results with the cells; recompute utility from the predictions;
    rebuild all data files, tables, macros, records and the report, and compare them cell by cell.
    """
    check = _Check()
    try:
        _cells(out, check)
        _predictions(out, check)
        for name, text in expected_files(out).items():
            _text(out, name, text, check)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise Refused(
            LabCode.STUDY_UNFINISHED,
            f"{out} is not a finished study ({type(error).__name__}: {error}).",
            "Finish it with `longsynth bench paper`.",
        ) from None
    made = Validation(check.checked, tuple(check.mismatches))
    content = {"valid": made.valid, "checked": made.checked}
    content["mismatches"] = [asdict(one) for one in made.mismatches]  # type: ignore[assignment]
    write_text_whole(out / "validation.json", json.dumps(content, indent=2) + "\n")
    return made


def _cells(out: Path, check: _Check) -> None:
    """Compare the joined table with its cells."""
    names = json.loads((out / "study.json").read_text(encoding="utf-8"))["cells"]
    wanted = _keyed(joined(out / "cells" / f"{name}.parquet" for name in names))
    found = _keyed(pq.read_table(out / "results.parquet"))
    absent = dict.fromkeys(COLUMNS, MISSING)
    for key in wanted | found:
        right, left = wanted.get(key, absent), found.get(key, absent)
        for column in COLUMNS:
            check.same("results.parquet", " ".join(key), column, right[column], left[column])


def _keyed(table: pa.Table) -> dict[tuple[str, ...], dict[str, str]]:
    names = ("experiment", "method", "seed", "setting", "metric")
    return {
        tuple(str(row[name]) for name in names): {c: repr(row[c]) for c in COLUMNS}
        for row in table.to_pylist()
    }


def _predictions(out: Path, check: _Check) -> None:
    """Recompute the utility of every seed from its predictions. This detects edited results."""
    results = read_results(out / "results.parquet")
    kept = {(r.experiment, r.method, r.seed, r.setting, r.metric): r.value for r in results.rows}
    for key, made in _groups(read_predictions(out / "predictions.parquet")):
        for score in utility_scores(made):
            experiment, method, seed, setting = key
            found = kept.get((experiment, method, seed, setting, score.metric))
            row = f"{experiment} {method} {seed} {setting} {score.metric}"
            shown = MISSING if found is None else repr(found)
            check.same("results.parquet", row, "value", repr(float(score.value)), shown)


def _groups(table: pa.Table) -> Iterator[tuple[tuple[str, str, int, str], Predictions]]:
    columns = {
        name: table[name].to_pylist() for name in ("experiment", "method", "seed", "setting")
    }
    numbers = {name: table[name].to_numpy() for name in ("event", "probability", "group", "site")}
    places: dict[tuple[str, str, int, str], list[int]] = {}
    for place, key in enumerate(zip(*columns.values(), strict=True)):
        places.setdefault(key, []).append(place)
    for key, rows in places.items():
        yield key, Predictions(**{name: found[rows] for name, found in numbers.items()})


def _text(out: Path, name: str, expected: str, check: _Check) -> None:
    """Compare a text file line by line and, within tables, cell by cell."""
    path = out / name
    if not path.is_file():
        check.same(name, "all", "all", "a file", MISSING)
        return
    separator = {".csv": ",", ".tex": "&", ".md": "|", ".json": ": "}[path.suffix]
    lines = zip_longest(expected.splitlines(), path.read_text(encoding="utf-8").splitlines())
    head, before = list[str](), list[str]()
    for number, (wanted, found) in enumerate(lines, start=1):
        right, left = _cut(wanted, separator), _cut(found, separator)
        if len(right) > 1 and len(before) < 2:  # a table starts
            head = right
        before = right
        for place, (a, b) in enumerate(zip_longest(right, left, fillvalue=MISSING)):
            column = head[place] if place < len(head) and head[place] else str(place + 1)
            check.same(name, _row(number, right), column, a, b)


def _row(number: int, cells: list[str]) -> str:
    name = next((cell for cell in cells if cell and not NUMBER.fullmatch(cell)), "")
    return f"{number} ({name})" if name and len(cells) > 1 else str(number)


def _cut(line: str | None, separator: str) -> list[str]:
    return [MISSING] if line is None else [cell.strip() for cell in line.split(separator)]


def _same(expected: str, found: str) -> bool:
    if expected == found:
        return True
    try:
        return math.isclose(float(expected), float(found), rel_tol=CLOSE, abs_tol=CLOSE)
    except ValueError:
        return False
