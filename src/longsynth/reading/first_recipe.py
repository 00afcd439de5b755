"""A first recipe for an export, from the names of its columns and the form of their cells.

It marks what a person must decide. Bounds and levels come from the catalogue and from lists of
public words, never from the data. Cells only tell forms: a separator, a date format, two numbers
with a slash between them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from longsynth.reading.export import (
    Export,
    are_excel_days,
    are_numbers,
    date_formats,
    decimals_in,
    is_split,
    look_at,
)
from longsynth.schema.catalogue import Known, folded, known
from longsynth.schema.column_words import is_called, known_anywhere
from longsynth.schema.column_words import words as column_words
from longsynth.schema.recipe import EXCEL_DAYS
from longsynth.schema.units import is_unit
from longsynth.system.errors import Code, CohortError

HEAD = """\
# How to read this export. Made from its column names and the form of its cells.
#
# Lines marked CHECK are guesses; lines marked FILL IN need a decision. Remove each mark once it is
# settled. `record` says what the cohort will hold: its bounds are public facts, and nobody may take
# them from the data. Keep this file: it reads next month's export too.
longsynth_recipe: 1
"""
NO_FORMAT = (
    "how these dates are written, such as '%d.%m.%Y %H:%M'; most cells have no form that is known"
)
BLOOD_PRESSURE = ("systolic_bp", "diastolic_bp")
TWO_UNITS = {  # measured in different units in different countries
    "calcium", "cholesterol", "creatinine", "glucose", "haemoglobin", "hdl_cholesterol",
    "ldl_cholesterol", "magnesium", "phosphate", "triglycerides", "urea_nitrogen", "uric_acid",
    "bilirubin", "bilirubin_direct", "body_weight", "height",
}  # fmt: skip
ROLES = ("id", "time", "birth_date", "sex", "outcome")
LABELS = {  # a column's meaning: the record's name, the column's use and the levels
    "sex": ("group", "group", ("male", "female")),
    "outcome": ("event", "outcome", ("no", "yes")),
}
_UNIT_IN_NAME = re.compile(r"^(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$")


@dataclass(slots=True)
class _Draft:
    """What is known so far: the record's variables, and the lines of the tables."""

    variables: dict[str, Known] = field(default_factory=dict)
    labels: dict[str, tuple[str, str]] = field(default_factory=dict)  # levels of group and event
    steps: dict[str, float] = field(default_factory=dict)  # coarser than the catalogue's
    decimal: str = "."  # the mark of the table that is looked at
    written: list[str] = field(default_factory=list)  # how the export writes them


def first_recipe(paths: Sequence[Path], name: str = "my cohort") -> str:
    """Return commented YAML. It is a recipe once everything marked is settled."""
    words = column_words()
    exports = [export for path in paths for export in look_at(path, words["missing"])]
    about_patients = [e for e in exports if any(_role(column) == "id" for column in e.cells)]
    unused = [e for e in exports if e not in about_patients and len(about_patients) > 0]
    exports = about_patients or exports
    draft = _Draft()
    tables = [line for export in exports for line in _table(export, draft, words)]
    if not draft.variables:
        raise CohortError(
            Code.COLUMN_MISSING,
            "no column of the export has a name that the catalogue of clinical variables knows.",
            "Write the recipe by hand: docs/export.md has an example.",
        )
    means_something = {word.casefold() for word in draft.written}
    nothing = (word for word in words["missing"] if word.casefold() not in means_something)
    missing = ", ".join(map(flow, nothing))
    others = [f"  # {e.sentence()}: not used, as no column has patient ids" for e in unused]
    lines = [HEAD + f"missing: [{missing}]", *_record(name, draft), "tables:", *tables, *others]
    return "\n".join(lines) + "\n"


def _record(name: str, draft: _Draft) -> Iterator[str]:
    yield "record:"
    yield f"  name: {flow(name)}"
    yield "  slots: 14         # CHECK: visits or time points kept of each patient, the first ones"
    yield "  max_gap: 8760     # CHECK: hours between two of them, at most; more is clipped"
    yield "  length: variable  # or full, if every patient has all slots"
    for label, levels in draft.labels.items():
        yield f"  {label}: {{column: {label}, levels: {flow(list(levels))}}}"
    yield "  variables:"
    for entry in draft.variables.values():
        facts = entry.variable.model_dump(mode="json", exclude_defaults=True)
        if entry.variable.levels:
            facts.pop("bounds"), facts.pop("bounds_from")
        mark = ""
        if step := draft.steps.get(entry.variable.name):
            facts["resolution"] = step
            mark = f"  # CHECK: is it recorded in steps of {step:g}? Cells have no more digits"
        yield f"    - {flow(facts)}{mark}"


def _table(export: Export, draft: _Draft, words: dict[str, Any]) -> Iterator[str]:
    draft.decimal = export.marks.decimal
    yield f"  - files: {flow(export.path.name)}"
    yield f"    form: {export.form}"
    if export.form == "csv":
        yield f"    encoding: {export.encoding}"
        yield f"    separator: {flow(export.separator)}"
    if export.sheet:
        yield f"    sheet: {flow(export.sheet)}"
    if export.form != "parquet":
        yield f"    header: {export.header}"
    if export.form == "csv":
        decimal, thousands, clear = export.marks
        unclear = "" if clear else "  # FILL IN: '.' or ','; numbers such as 1,250 fit both"
        yield f"    decimal: {flow(decimal)}{unclear}"
        if thousands:
            yield f"    thousands: {flow(thousands)}{'' if clear else '  # remove it, if so'}"
    yield "    duplicates: drop  # rows that are the same in every column"
    yield "    columns:"
    used: set[str] = set()
    previous = ""
    long, clock = _long_columns(export, words), _clock(export, words)
    for column, cells in export.cells.items():
        unit_of = previous if _is_unit_column(column, cells, words) else ""
        if column in long:
            facts, note = {"use": long[column]}, ""
        else:
            taken = used | ({"time"} if clock and column != clock else set())
            facts, note = _column(column, cells, unit_of, taken, draft, words)
        used.add(facts["use"])
        following = _unit_column_after(column, export, words)
        if facts["use"] == "variable" and following:
            facts["unit_column"], note = following, ""
            facts.pop("unit", None)
        _note_steps(facts, draft)
        previous = column
        yield f"      {flow(column)}: {flow(facts)}{note}"
    if long:
        yield "    names:  # what the column with use: name calls each variable; others are ignored"
        yield from _names(export, long, draft, words)


def _clock(export: Export, words: dict[str, Any]) -> str:
    """The column whose name says that it is the time of a row: rather dates than numbers, and
    rather numbers than anything else."""
    found: dict[str, int] = {}
    for column, cells in export.cells.items():
        if _role(_name_and_unit(column)[0]) == "time":
            known = [cell for cell in cells if cell.casefold() not in words["missing"]]
            found[column] = 2 * bool(date_formats(known)) or are_numbers(known)
    return max(found, key=lambda column: found[column], default="")


def _long_columns(export: Export, words: dict[str, Any]) -> dict[str, str]:
    """The columns of a long table and their use: the name of what was measured, value and unit."""
    uses: dict[str, str] = {}
    for column in export.cells:
        for use in ("name", "value", "unit"):
            if is_called(column, use) and use not in uses.values():
                uses[column] = use
    return uses if {"name", "value"} <= set(uses.values()) else {}


def _names(
    export: Export, long: dict[str, str], draft: _Draft, words: dict[str, Any]
) -> Iterator[str]:
    """Only names that the catalogue knows are written down."""
    column = next(c for c, use in long.items() if use == "name")
    value = next(c for c, use in long.items() if use == "value")
    for name in dict.fromkeys(export.cells[column]):
        texts = zip(export.cells[column], export.cells[value], strict=True)
        facts, note = _column(name, [v for n, v in texts if n == name], "", {"time"}, draft, words)
        if facts.pop("use") == "variable":
            if "unit" in long.values():
                facts.pop("unit", None)
                note = ""
            else:
                _note_steps(facts, draft)
            yield f"      {flow(name)}: {flow(facts)}{note}"


def _note_steps(facts: dict[str, Any], draft: _Draft) -> None:
    """Cells in the record's unit with fewer digits than the catalogue expects: a person decides,
    because the schema is released and a number of digits that was read from cells is not public."""
    decimals, name = facts.get("decimals"), facts.get("variable")
    if decimals is None or name is None or "unit_column" in facts:
        return
    variable, step = draft.variables[name].variable, 10.0**-decimals
    if facts.get("unit", variable.unit) == variable.unit and step > (variable.resolution or 0):
        draft.steps[name] = step


def _column(
    column: str,
    cells: Sequence[str],
    unit_of: str,
    used: set[str],
    draft: _Draft,
    words: dict[str, Any],
) -> tuple[dict[str, Any], str]:
    """Return what a column is used for, and a comment with a mark where a person must decide."""
    bare, unit = _name_and_unit(column)
    role, every = _role(bare), cells
    if unit_of:
        return {"use": "unit"}, ""
    if role == "id" and "id" not in used:
        return {"use": "id"}, ""
    cells = [cell for cell in cells if cell.casefold() not in words["missing"]]
    dates = date_formats(cells)
    if not dates and role in ("time", "birth_date") and are_excel_days(cells):
        dates = (EXCEL_DAYS,)
    if role == "birth_date" and (age := known("age")) is not None:
        draft.variables["age"] = age
    if role == "birth_date" and dates:
        return _dated({"use": "birth_date", "variable": "age"}, dates)
    if dates and "time" not in used and role in ("time", None):
        guess = "" if role == "time" else "  # CHECK: is this the time of the row?"
        if dates == (EXCEL_DAYS,):
            guess = "  # CHECK: days as Excel counts them? Else give a time_unit instead"
        facts, note = _dated({"use": "time"}, dates)
        return facts, note or guess
    if role == "time" and "time" not in used and are_numbers(cells):
        return {"use": "time", "time_unit": "hours"}, "  # CHECK: the unit of this time"
    if role in ("time", "birth_date") and role not in used:
        known_as = {"variable": "age"} if role == "birth_date" else {}
        return {"use": role, **known_as, "format": ""}, f"  # FILL IN: {NO_FORMAT}"
    if role in LABELS and LABELS[role][0] not in draft.labels:
        label, use, meant = LABELS[role]
        draft.labels[label] = meant
        written, note = _spelling(every, words[f"{role} levels"])
        draft.written += written
        return {"use": use, "levels": dict(zip(written, meant, strict=True))}, note
    match = known_anywhere(bare)
    if is_split(cells) and (match is None or match.variable.name in BLOOD_PRESSURE):
        for name in BLOOD_PRESSURE:
            entry = known(name)
            if entry is not None:
                draft.variables[name] = entry
        return {"use": "variable", "split": "/", "into": list(BLOOD_PRESSURE)}, ""
    if match is None or match.variable.name in draft.variables:
        return {
            "use": "ignore"
        }, "  # not in the catalogue" if match is None else "  # CHECK: twice?"
    variable = match.variable
    draft.variables[variable.name] = match
    facts = {"use": "static" if variable.static else "variable", "variable": variable.name}
    note = ""
    if unit and unit != variable.unit:
        facts["unit"] = unit
    elif not unit and variable.name in TWO_UNITS:
        facts["unit"], note = variable.unit, "  # CHECK: the unit of the export"
    if variable.name == "temperature" and not unit:
        facts["rules"] = [{"above": 45, "unit": "°F"}]
    if (
        variable.kind == "continuous"
        and (decimals := decimals_in(cells, draft.decimal)) is not None
    ):
        facts["decimals"] = decimals
    return facts, note


def _dated(facts: dict[str, Any], formats: Sequence[str]) -> tuple[dict[str, Any], str]:
    """A format that cannot be told from another is left to a person, with both readings."""
    if len(formats) == 1:
        return facts | {"format": formats[0]}, ""
    readings = " or ".join(f"'{form}'" for form in formats[:2])
    why = "all cells fit both, so day and month cannot be told apart"
    return facts | {"format": formats[0]}, f"  # FILL IN: {readings}; {why}"


def _spelling(cells: Sequence[str], spellings: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Return the public pair of words that all cells are among."""
    there = Counter(cell for cell in cells if cell)
    nothing = {word.casefold() for word in column_words()["missing"]}
    written = {cell.casefold() for cell in there}
    for pair in spellings:
        known = {word.casefold() for word in pair}
        if written - (nothing - known) <= known:
            capitals = (str, str.lower, str.upper, str.capitalize)
            alike = ([change(word) for word in pair] for change in capitals)
            return max(alike, key=lambda words: sum(there[word] for word in words)), ""
    return list(spellings[0]), "  # FILL IN: how the export writes them"


def _name_and_unit(column: str) -> tuple[str, str]:
    match = _UNIT_IN_NAME.match(column)
    if match and is_unit(match["unit"]):
        return match["name"], match["unit"]
    return column, ""


def _role(name: str) -> str | None:
    return next((role for role in ROLES if is_called(name, role)), None)


def _is_unit_column(column: str, cells: Sequence[str], words: dict[str, Any]) -> bool:
    named = any(folded(column).endswith(folded(word)) for word in words["unit"])
    return named and all(is_unit(cell) for cell in dict.fromkeys(cells) if cell)


def _unit_column_after(column: str, export: Export, words: dict[str, Any]) -> str:
    names = list(export.cells)
    after = names[names.index(column) + 1 :][:1]
    return after[0] if after and _is_unit_column(after[0], export.cells[after[0]], words) else ""


def flow(value: object) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False
    )
    return text.removesuffix("\n...\n").strip()
