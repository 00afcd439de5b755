"""What column names and the catalogue tell: a first schema, and remarks on a finished one.

Only the names of columns are read, never a row. What the catalogue knows is filled in; everything
else is marked for the author of the schema.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from longsynth.schema.catalogue import Known, folded, known
from longsynth.schema.column_words import is_called, known_anywhere, words
from longsynth.schema.columns import LABELS
from longsynth.schema.schema import Schema
from longsynth.schema.variable import RESERVED, Variable
from longsynth.system.errors import Code, CohortError, without_cells

LONGEST_HEADER = 1_000_000  # characters
COLUMN_NAME = re.compile(r"[^\W\d][\w ()/%.-]{0,63}")  # no number or date, and no lost line end
ROLES = {  # what a column is for: the lists of its usual names, the likeliest first
    "patient": ("id",),
    "time": ("time",),
    "group": ("group", "sex"),
    "event": ("outcome",),
    "site": ("site",),
}
LEVELS = {"group": "[0, 1]", "sex": "[male, female]", "outcome": "[0, 1]", "site": "[A, B]"}
DATED = ("date", "datum", "fecha", "data", "stamp", "charttime")  # in the name of a time
FOR_A_RECIPE = {
    "birth_date": "is a date of birth; `longsynth recipe new` makes an age of it.",
    "blood_pressure": "may hold two numbers; `longsynth recipe new` splits them.",
}
FAR = 10.0  # times the usual range: more likely another unit than other patients
HEAD = """\
# A starting schema, made from column names and a catalogue of public clinical facts. No row of the
# data was read, and none may be: bounds, levels and units must be known beforehand.
#
# Go through every line. Lines marked CHECK are guesses from a name. Lines marked FILL IN must be
# written by someone who knows the data's documentation. Remove each mark when you are done with it.
# For an import of events, MEDS or OMOP, add `source`: see docs/import.md.
# Then: longsynth schema check FILE
longsynth: 1
"""
MARK = re.compile(r"# (?:CHECK|FILL IN)")
LABEL_NOTES = {
    "group": "the group whose results are audited, the reference first",
    "event": "the outcome, no event first",
    "site": "hospitals, wards or arms; leave out if there is one",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The column names of a cohort's two tables, and what is known of their types."""

    observations: tuple[str, ...]
    patients: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict)  # SDV's, where its metadata are given


def role_of(column: str) -> str | None:
    """Return what a column is for, judged by its name."""
    return next((r for r, lists in ROLES.items() if any(is_called(column, w) for w in lists)), None)


def read_columns(folder: Path) -> Columns:
    """Read the headers of a cohort folder's two tables. No row is read.

    If the header or its line end is lost, a patient's cells stand in its place. Some of them are
    numbers (a time, an outcome), so a table is refused as soon as one name does not look like a
    name, and no message repeats any of its names.
    """
    if not folder.is_dir():
        raise CohortError(
            Code.COHORT_INCOMPLETE, f"{folder} is not a folder.", "Give the cohort's folder."
        )
    if any((folder / f"events.{end}").is_file() for end in ("parquet", "csv")):
        raise CohortError(
            Code.COLUMNS_UNKNOWN,
            f"{folder} has a long table of events: its variables are cells, not columns.",
            "List the names of the variables yourself.",
        )
    return Columns(_names(folder, "observations"), _names(folder, "patients"))


def _names(folder: Path, table: str) -> tuple[str, ...]:
    names = _header(folder, table)
    for place, name in enumerate(names, start=1):
        if not COLUMN_NAME.fullmatch(name):
            raise CohortError(
                Code.COLUMNS_UNKNOWN,
                f"{folder}: column {place} of the {table} table has no plain name.",
                "Check that its header line is complete. Names start with a letter and contain "
                "only letters, digits, spaces and _ ( ) / % . -",
            )
    if not any(
        role_of(name) or known_anywhere(name) for name in names
    ):  # its first line may be a patient
        raise CohortError(
            Code.COLUMNS_UNKNOWN,
            f"{folder}: no column of the {table} table has a known name.",
            "Check that it has a header line with commas. If it has, name one column patient_id.",
        )
    return names


def _header(folder: Path, table: str) -> tuple[str, ...]:
    parquet, text = folder / f"{table}.parquet", folder / f"{table}.csv"
    if parquet.is_file():
        with without_cells(f"{parquet} cannot be read.", "Check that the file is not damaged."):
            return tuple(pq.read_schema(parquet.absolute()).names)  # Arrow expands ~
    if not text.is_file():
        raise CohortError(
            Code.COHORT_INCOMPLETE,
            f"{folder} has neither {table}.parquet nor {table}.csv.",
            "Add one of them.",
        )
    with (
        without_cells(f"{text} cannot be read.", "Check that it is a CSV file."),
        text.open(encoding="utf-8-sig", errors="replace", newline="") as file,
    ):
        return tuple(next(csv.reader([file.readline(LONGEST_HEADER)]), []))


def starting_schema(name: str, columns: Columns) -> str:
    """Return commented YAML. It is a schema once every marked line is edited."""
    lines = [
        HEAD + f"name: {_flow(name)}",
        "slots: 14         # CHECK: how many visits or time points per patient; the first are kept",
        "max_gap: 72       # CHECK: most hours between two of them; longer gaps are clipped",
        "length: variable  # or full, if every patient has all slots",
        "slot_rule:        # how rows in time become slots; see docs/schema.md",
        "  merge: 0        # CHECK: hours within which rows are one slot; 0: only the same time",
        *_roles(columns),
        "variables:",
    ]
    both = dict.fromkeys((*columns.observations, *columns.patients))
    names: set[str] = set()
    chosen = {_chosen(role, columns) for role in ROLES}
    for column in both:
        match = known_anywhere(column)
        if column in chosen or (role_of(column) and match is None):
            continue
        of_patient = column not in columns.observations
        if match is None:
            lines += _unknown(column, of_patient, columns.types.get(column))
            continue
        name = match.variable.name if match.variable.name not in names else _own_name(column, names)
        names.add(name)
        of_patient |= column in columns.patients and match.variable.static
        lines += _variable(name, column, match, of_patient)
    return "\n".join(lines) + "\n"


def marked_lines(text: str) -> int:
    """Count the lines of a schema that are still marked."""
    return sum(MARK.search(line) is not None for line in text.splitlines())


def _roles(columns: Columns) -> Iterator[str]:
    patient = _chosen("patient", columns) or _of_type("id", columns.patients, columns)
    time = _chosen("time", columns) or _of_type("datetime", columns.observations, columns)
    yield _role("patient", patient, "{{column: {}}}")
    unit = "timestamp" if time and any(word in folded(time) for word in DATED) else "hours"
    line = f"{{{{column: {{}}, unit: {unit}}}}}  # CHECK: hours, days or another unit, or timestamp"
    yield _role("time", time, line)
    for role, meaning in LABEL_NOTES.items():
        column = _chosen(role, columns)
        if role == "site" and column is None:
            continue
        listed = next((w for w in ROLES[role] if column and is_called(column, w)), ROLES[role][0])
        line = f"{{{{column: {{}}, levels: {LEVELS[listed]}}}}}  # CHECK the levels: {meaning}"
        yield _role(role, column, line)


def _role(role: str, column: str | None, line: str) -> str:
    if column is None:
        return f"{role}: " + line.format("FILL_IN") + "  # FILL IN: no column has a usual name"
    return f"{role}: " + line.format(_flow(column))


def _chosen(role: str, columns: Columns) -> str | None:
    """Return the column whose name is the most usual one for a role."""
    usual = [folded(name) for listed in ROLES[role] for name in words()[listed]]
    table = columns.observations if role == "time" else columns.patients
    candidates = [c for c in table if role_of(c) == role]
    return min(candidates, key=lambda c: usual.index(folded(c)), default=None)


def _of_type(kind: str, listed: Iterable[str], columns: Columns) -> str | None:
    return next((c for c in listed if columns.types.get(c) == kind), None)


def _own_name(column: str, taken: set[str]) -> str:
    """Return the column's own name, for when another column has taken the catalogue's name."""
    name = re.sub(r"\W", "_", column.casefold(), flags=re.ASCII)
    name = name if name[:1].isalpha() else f"v_{name}"
    while name in taken or name in RESERVED:
        name += "_2"
    return name


def _variable(name: str, column: str, match: Known, of_patient: bool) -> Iterator[str]:
    facts = match.variable.model_dump(mode="json", exclude_defaults=True) | {"name": name}
    if match.variable.levels:
        del facts["bounds"], facts["bounds_from"]
    facts.pop("static", None)
    if of_patient:
        facts["static"] = True
    if column != name:
        facts["column"] = column
    codes = [f"LOINC {match.loinc[0]}"] if match.loinc else []
    codes += [f"OMOP {match.omop}"] if match.omop else []
    note = f"  # {', '.join(codes)}" if codes else ""
    first, *rest = (f"{key}: {_flow(value)}" for key, value in facts.items())
    yield f"  - {first}{note}"
    for line in rest:
        check = "  # CHECK: is it recorded in this unit?" if line.startswith("unit:") else ""
        check = check or ("  # CHECK" if line.startswith("levels:") else "")
        yield f"    {line}{check}"


def _unknown(column: str, of_patient: bool, kind: str | None = None) -> Iterator[str]:
    for what, remark in FOR_A_RECIPE.items():
        if is_called(column, what):
            yield f"  # FILL IN, or leave out: {_flow(column)} {remark}"
            return
    once = ", static: true" if of_patient else ""
    examples = {
        "numerical": f"kind: continuous{once}, bounds: [0, 300], bounds_from: …",
        "boolean": f"kind: binary{once}",
        "ordered": f"kind: ordinal{once}, bounds: [0, 3], bounds_from: …",
        "categorical": f"kind: nominal{once}, levels: [red, green, blue]",
    }
    if kind is not None and kind not in examples:  # an id, a date, or an address
        yield f"  # Left out: {_flow(column)} is of SDV's type {_flow(kind)}."
        return
    yield f"  # FILL IN, or leave out: {_flow(column)} is not in the catalogue. For instance:"
    for example in (kind,) if kind else ("ordered", "categorical"):
        yield f"  # - {{name: {_flow(column)}, {examples[example]}}}"


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.removesuffix("\n...\n").strip()


def remarks(schema: Schema, columns: Columns | None = None) -> Iterator[str]:
    """Yield one sentence for each thing to look at. None of them is an error by itself."""
    for variable in schema.variables:
        match = known(variable.name) or known(variable.column)
        if match is None:
            yield f"{variable.name}: not in the catalogue; only you can check its bounds."
        else:
            yield from _unusual(variable, match)
    if columns is not None:
        yield from _columns(schema, columns)


def _unusual(variable: Variable, match: Known) -> Iterator[str]:
    usual = match.variable
    if variable.kind != usual.kind:
        yield f"{variable.name}: {variable.kind} here, usually {usual.kind}."
        return
    if variable.unit and usual.unit and variable.unit != usual.unit:
        yield (
            f"{variable.name}: in {variable.unit} here, in {usual.unit} in the catalogue; its "
            "bounds were not compared."
        )
        return
    if variable.levels or usual.levels or variable.kind == "binary":
        return
    (low, high), (least, most) = variable.bounds, usual.bounds
    if usual.centre is not None and usual.scale is not None:
        reach = 2 * usual.scale
        inner = max(usual.centre - reach, least), min(usual.centre + reach, most)
        if low > inner[0] or high < inner[1]:
            yield (
                f"{variable.name}: bounds {low:g} to {high:g} cut into the usual adult interval, "
                f"about {inner[0]:g} to {inner[1]:g}; values outside the bounds are clipped."
            )
    if high - low > FAR * (most - least):
        yield (
            f"{variable.name}: bounds {low:g} to {high:g} are over ten times as wide as the usual "
            f"{least:g} to {most:g}. Is it another unit? Wide bounds cost accuracy."
        )
    elif high < least or low > most:
        yield f"{variable.name}: bounds {low:g} to {high:g} miss the usual {least:g} to {most:g}."
    elif variable.kind == "ordinal" and (low, high) != (least, most):
        yield f"{variable.name}: levels {low:g} to {high:g} here, usually {least:g} to {most:g}."
    if usual.transform == "log" and variable.transform == "none":
        yield f"{variable.name}: skewed, so usually on a log scale (transform: log)."


def _columns(schema: Schema, columns: Columns) -> Iterator[str]:
    labels = [label.column for what in LABELS if (label := getattr(schema, what))]
    over_time = [v.column or v.name for v in schema.variables if not v.static]
    static = [v.column or v.name for v in schema.variables if v.static]
    tables = {
        "observations": (columns.observations, [schema.time.column, *over_time]),
        "patients": (columns.patients, [*labels, *static]),
    }
    for table, (there, wanted) in tables.items():
        wanted = [schema.patient.column, *wanted]
        for column in wanted:
            if column not in there:
                yield f"the {table} table has no column {column!r}, which the schema names."
        if unused := [column for column in there if column not in wanted]:
            yield f"the {table} table's columns {', '.join(map(repr, unused))} are not used."
