"""Findings: what the counts of a cohort mean, red, amber or green. Each has a remedy that names the
line of recipe.yaml or schema.yaml to change."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from longsynth.reading.quality.counts import OtherUnit
from longsynth.reading.slots import violation_counts
from longsynth.schema.columns import LABELS, CodeList
from longsynth.schema.from_names import marked_lines
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable

_USES = {"time": "time", "group": "group", "event": "outcome", "site": "site"}


class FileLines:
    """The lines of a cohort's recipe, if it has one, and of its schema."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._schema = schema
        self._texts = {
            path.name: path.read_text("utf-8", "replace").splitlines()
            for path in (folder / "recipe.yaml", folder / "schema.yaml")
            if path.is_file()
        }

    @property
    def marked(self) -> list[int]:
        """The lines of schema.yaml that wait for a decision."""
        lines = self._texts.get("schema.yaml", [])
        return [number for number, line in enumerate(lines, 1) if marked_lines(line)]

    def remedy(self, about: str, change: str, otherwise: str = "") -> str:
        """Say which line to change for a variable, a label or a key of the schema."""
        for name, pattern in (
            ("recipe.yaml", _in_recipe(about)),
            ("schema.yaml", _in_schema(about)),
        ):
            for number, line in enumerate(self._texts.get(name, []), 1):
                if pattern.search(line):
                    again = ", and import again" if name == "recipe.yaml" else ""
                    return f"Line {number} of {name}: correct {change}{again}."
        return otherwise or f"schema.yaml: correct {change}."


def _in_recipe(about: str) -> re.Pattern[str]:
    """A column of the export that holds it; else the line of the record."""
    name = re.escape(about)
    if about in _USES:
        return re.compile(rf"\buse: {_USES[about]}\b")
    if about in ("slots", "slot_rule", "duplicates", "constraints"):
        return re.compile(rf"^\s*-? *{name}:")
    return re.compile(rf"\bvariable: {name}(?![\w-])|\binto: \[[^\]]*\b{name}\b")


def _in_schema(about: str) -> re.Pattern[str]:
    name = re.escape(about)
    if about in (*LABELS, "time", "slots", "slot_rule", "duplicates", "constraints"):
        return re.compile(rf"^{name}:")
    return re.compile(rf"\bname: ['\"]?{name}['\"]?(?=\s*(?:,|\}}|#|$))")


# Shares from which a finding is amber and red
LOST = 0.01, 0.10  # rows, cells or labels that cannot be read or used
CLIPPED = 0.01, 0.10  # values outside the public bounds
OTHER_UNIT = 0.05, 0.20  # values that look like another unit
MISSING = 0.95, 1.0  # cells of a column; many laboratory values are measured rarely
WITHOUT_ROWS = 0.05, 0.50  # patients
UNUSED = 0.25, 2.0  # rows that the schema's slots leave out: a choice, so never red
OUTSIDE = 0.20, 2.0  # codes that a list leaves out: a choice, so never red
DUPLICATES = 0.01, 2.0  # they share a slot, so never red

LEFT_OUT = "Leave the variable out if it is never measured."
Limits = tuple[float, float]


class Colour(StrEnum):
    RED = "red"
    AMBER = "amber"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class QualityFinding:
    subject: str  # a variable or label of the schema, a table, or schema.yaml
    what: str
    colour: Colour
    percent: float
    sentence: str
    remedy: str = ""


def _coloured(share: float, limits: Limits) -> Colour:
    amber, red = limits
    if share >= red:
        return Colour.RED
    return Colour.AMBER if share >= amber else Colour.GREEN


def _finding(
    subject: str, what: str, part: int, whole: int, limits: Limits, words: str, remedy: str
) -> Iterator[QualityFinding]:
    """Yield a finding about a share, unless it is zero or too small to mention."""
    share = part / whole if whole else 0.0
    colour = _coloured(share, limits)
    if part and colour != Colour.GREEN:
        sentence = f"{words} ({part:,} of {whole:,})."
        yield QualityFinding(subject, what, colour, 100 * share, sentence, remedy)


def of_tables(
    schema: Schema,
    patients: int,
    repairs: dict[str, Any],
    distinct: dict[str, int] | None,
    numbers: dict[str, int],
    lines: FileLines,
) -> Iterator[QualityFinding]:
    rows, table = repairs["rows"], "observations"
    over_time = [v.name for v in schema.variables if not v.static]
    usable = rows - repairs["rows_without_usable_time"] - repairs["rows_of_unknown_patients"]
    if usable <= 0 or not any(numbers[f"{name} read"] for name in over_time):
        yield QualityFinding(
            table,
            "nothing_usable",
            Colour.RED,
            100.0,
            "Nothing can be used: no row has a readable time, a known patient and a value.",
            lines.remedy("time", "how times are read"),
        )
    losses: list[tuple[str, Limits, str, str]] = [
        (
            "rows_without_usable_time",
            LOST,
            "Rows have no readable time",
            lines.remedy("time", "the format or the unit of the time"),
        ),
        (
            "rows_of_unknown_patients",
            LOST,
            "Rows belong to a patient who is not in the patient table",
            "Add these patients, or give both tables the same ids.",
        ),
        (
            "rows_of_patients_without_an_anchor",
            LOST,
            "Rows belong to patients for whom no anchor variable was measured",
            lines.remedy("slot_rule", "the anchors of the slot rule"),
        ),
        (
            "rows_past_the_horizon",
            UNUSED,
            "Rows lie after the horizon and are not used",
            lines.remedy("slot_rule", "the horizon of the slot rule"),
        ),
        (
            "rows_past_the_last_slot",
            UNUSED,
            "Rows lie after the last slot and are not used",
            lines.remedy("slots", "the number of slots, or merge in the slot rule"),
        ),
    ]
    for what, limits, words, remedy in losses:
        yield from _finding(table, what, repairs[what], rows, limits, words, remedy)
    yield from _finding(
        "patients",
        "patients_without_rows",
        repairs["patients_without_rows"],
        patients,
        WITHOUT_ROWS,
        "Patients have no row with a readable time",
        lines.remedy("time", "how times and ids are read"),
    )
    if distinct is not None:
        yield from _finding(
            table,
            "duplicated_rows",
            distinct["rows_that_repeat_another"],
            rows,
            DUPLICATES,
            "Rows repeat another row in every column that is read",
            lines.remedy("duplicates", "what happens to duplicates", "Remove them from the table."),
        )


def of_import(folder: Path, lines: FileLines) -> Iterator[QualityFinding]:
    """What an import left out is not in the tables any more; its own counts say it."""
    try:
        counts = json.loads((folder / "internal/import.json").read_bytes())
        rows, timeless = int(counts["rows"]), int(counts["rows_without_usable_time"])
        unread = {str(k): int(v) for k, v in counts["cells_that_could_not_be_read"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    words = "The import left out rows without a readable time"
    remedy = lines.remedy("time", "the format or the unit of the time")
    yield from _finding("import", "rows_without_usable_time", timeless, rows, LOST, words, remedy)
    for name, number in unread.items():
        words = "The import could not read cells, which now count as missing"
        remedy = lines.remedy(name, "how this column is read")
        yield from _finding(name, "unreadable_at_import", number, rows, LOST, words, remedy)


def of_label(
    schema: Schema,
    what: str,
    repairs: dict[str, Any],
    patients: int,
    numbers: dict[str, int],
    lines: FileLines,
) -> Iterator[QualityFinding]:
    outside = repairs["labels_set_to_the_first_level"][what]
    words = "Labels are none of the levels, and count as the first level"
    remedy = lines.remedy(what, "the levels")
    yield from _finding(what, "outside_levels", outside, patients, LOST, words, remedy)
    levels = schema.levels(what)
    seen = [level for i, level in enumerate(levels) if numbers[f"{what} level {i}"]]
    if len(seen) < 2 <= len(levels) and patients > 1:
        yield QualityFinding(
            what, "constant", Colour.AMBER, 100.0, "All patients have the same level.", remedy
        )
    elif outside / patients < LOST[0]:
        yield QualityFinding(
            what, "readable", Colour.GREEN, 100 * outside / patients, "Labels are readable."
        )


def of_variable(
    variable: Variable,
    others: tuple[OtherUnit, ...],
    numbers: dict[str, int],
    distinct: dict[str, int] | None,
    lines: FileLines,
) -> Iterator[QualityFinding]:
    name = variable.name
    cells, filled, read, outside = (
        numbers[f"{name} {what}"] for what in ("cells", "filled", "read", "outside")
    )
    found: list[QualityFinding] = []
    unread = filled - read
    words = "Cells are none of the levels" if variable.levels else "Cells contain no finite number"
    unit = f" in {variable.unit}" if variable.unit else ""
    found += _finding(
        name,
        "unreadable",
        unread,
        filled,
        LOST,
        words,
        lines.remedy(name, "how this column is read"),
    )
    empty = lines.remedy(name, "which column holds this variable", LEFT_OUT)
    if not read:
        words = "No cell has a value."
        found.append(QualityFinding(name, "missing", Colour.RED, 100.0, words, empty))
    words = "Cells have no value"
    found += _finding(name, "missing", cells - read, cells if read else 0, MISSING, words, empty)
    found += _finding(
        name,
        "out_of_bounds",
        outside,
        read,
        CLIPPED,
        "Values lie outside the public bounds and would be clipped",
        lines.remedy(name, f"the unit, or the bounds{unit} if a public source has others"),
    )
    suspects = [
        (numbers[f"{name} in {o.unit}"], o.unit)
        for o in others
        if o.is_hump(numbers[f"{name} in {o.unit}"], numbers.get(f"{name} before {o.unit}", 0))
    ]
    if suspects:
        number, other = max(suspects)
        found += _finding(
            name,
            "other_unit",
            number,
            read,
            OTHER_UNIT,
            f"Values are unusual{unit} and would be usual in {other}",
            lines.remedy(name, f"the unit: convert {other} to {variable.unit}"),
        )
    if distinct is not None and read > 1 and distinct[name] == 1:
        words = "All values are the same."
        found.append(QualityFinding(name, "constant", Colour.AMBER, 100.0, words, empty))
    yield from found
    if not found:
        missing = 100 * (cells - read) / cells if cells else 0.0
        clipped = 100 * outside / read if read else 0.0
        words = f"Readable. {missing:.1f} % of cells have no value; {clipped:.1f} % are clipped."
        yield QualityFinding(name, "readable", Colour.GREEN, clipped, words)


def of_codes(
    listed: CodeList, numbers: dict[str, int], lines: FileLines
) -> Iterator[QualityFinding]:
    name, filled, read = listed.name, *(numbers[f"{listed.name} {w}"] for w in ("filled", "read"))
    remedy = lines.remedy(name, "the list: add codes that a public source has")
    outside = 100 * (filled - read) / filled if filled else 0.0
    if not read:
        words = "No row has a code of the list."
        yield QualityFinding(name, "missing", Colour.RED, 100.0, words, remedy)
        return
    words = f"{outside:.1f} % of the codes are not in the list, and a fit ignores them."
    colour = _coloured(outside / 100, OUTSIDE)
    told = "outside_list" if colour != Colour.GREEN else "readable"
    yield QualityFinding(name, told, colour, outside, words, remedy if outside else "")


def of_constraints(
    schema: Schema, repairs: dict[str, Any], lines: FileLines
) -> Iterator[QualityFinding]:
    """How often patients violate what synthetic ones never do."""
    for text in schema.rules:
        number, whole = (repairs.get(name, 0) for name in violation_counts(text))
        share = number / whole if whole else 0.0
        words = f"{100 * share:.1f} % violate '{text}' ({number:,} of {whole:,})."
        colour = _coloured(share, LOST)
        remedy = lines.remedy("constraints", "the constraint, or how its columns are read")
        if colour == Colour.GREEN:
            remedy = ""
        yield QualityFinding("constraints", "violated", colour, 100 * share, words, remedy)


def marks(lines: FileLines) -> Iterator[QualityFinding]:
    if marked := lines.marked:
        words = f"{len(marked)} lines are marked CHECK or FILL IN; a fit refuses them."
        remedy = f"Decide line {marked[0]} and the others, and remove their marks."
        yield QualityFinding("schema.yaml", "marks", Colour.RED, 100.0, words, remedy)
