"""A first schema from column names alone: what the catalogue knows is filled in, the rest asked."""

import re
from collections.abc import Iterable, Iterator

import yaml

from longsynth.schema.catalogue import Known, known
from longsynth.schema.guesses import ROLES, Columns, role_of
from longsynth.schema.variable import RESERVED

HEAD = """\
# A starting schema, made from column names and a catalogue of public clinical facts. No row of the
# data was read, and none may be: bounds, levels and units must be known before.
#
# Go through every line. Lines marked CHECK are guesses from a name; lines marked FILL IN have to be
# written by someone who knows the data's documentation. Remove a mark once it is dealt with.
# For an import of events, MEDS or OMOP, add `source`: see docs/import.md.
# Then: longsynth schema check FILE
longsynth: 1
"""
MARK = re.compile(r"# (?:CHECK|FILL IN)")
LABELS = {
    "group": "the group whose results are audited, the reference first",
    "event": "the outcome, no event first",
    "site": "hospitals, wards or arms; leave out if there is one",
}


def starting_schema(name: str, columns: Columns) -> str:
    """Return commented YAML. It is a schema once everything marked is resolved."""
    lines = [
        HEAD + f"name: {_quoted(name)}",
        "slots: 14         # CHECK: visits or time points kept of a patient, the first ones",
        "max_gap: 72       # CHECK: hours between two of them at the most; longer gaps are cut",
        "length: variable  # or full, if every patient has all slots",
        "slot_rule:        # how rows in time become slots; see docs/schema.md",
        "  merge: 0        # CHECK: hours within which rows are one slot; 0: only the same time",
        *_roles(columns),
        "variables:",
    ]
    both = dict.fromkeys((*columns.observations, *columns.patients))
    names: set[str] = set()
    for column in [c for c in both if role_of(c) is None]:
        match = known(column)
        of_patient = column not in columns.observations
        if match is None:
            lines += _unknown(column, of_patient)
            continue
        name = match.variable.name if match.variable.name not in names else _own_name(column, names)
        names.add(name)
        of_patient |= column in columns.patients and match.variable.static
        lines += _variable(name, column, match, of_patient)
    return "\n".join(lines) + "\n"


def marked_lines(text: str) -> int:
    """How many lines of a schema are still marked."""
    return sum(MARK.search(line) is not None for line in text.splitlines())


def _roles(columns: Columns) -> Iterator[str]:
    patient = _first("patient", columns.patients)
    time = _first("time", columns.observations)
    yield _role("patient", patient, "{{column: {}}}")
    yield _role("time", time, "{{column: {}, unit: hours}}  # CHECK: the unit, or timestamp")
    for role, meaning in LABELS.items():
        column = _first(role, columns.patients)
        if role == "site" and column is None:
            continue
        levels = "[A, B]" if role == "site" else "[0, 1]"
        line = f"{{{{column: {{}}, levels: {levels}}}}}  # CHECK the levels: {meaning}"
        yield _role(role, column, line)


def _role(role: str, column: str | None, line: str) -> str:
    if column is None:
        return f"{role}: " + line.format("FILL_IN") + "  # FILL IN: no column has a usual name"
    return f"{role}: " + line.format(_quoted(column))


def _first(role: str, columns: Iterable[str]) -> str | None:
    """The column with the role's most usual name."""
    candidates = [c for c in columns if role_of(c) == role]
    names = [name.replace("_", "") for name in ROLES[role]]
    order = {name: i for i, name in enumerate(names)}
    candidates.sort(key=lambda c: order.get(c.casefold().replace("_", ""), len(order)))
    return candidates[0] if candidates else None


def _own_name(column: str, taken: set[str]) -> str:
    """The column's own name, where another column has that of the catalogue."""
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
    codes = [f"LOINC {match.loinc}"] if match.loinc else []
    codes += [f"OMOP {match.omop}"] if match.omop else []
    note = f"  # {', '.join(codes)}" if codes else ""
    first, *rest = (f"{key}: {_flow(value)}" for key, value in facts.items())
    yield f"  - {first}{note}"
    for line in rest:
        check = "  # CHECK: is it recorded in this unit?" if line.startswith("unit:") else ""
        check = check or ("  # CHECK" if line.startswith("levels:") else "")
        yield f"    {line}{check}"


def _unknown(column: str, of_patient: bool) -> Iterator[str]:
    once = ", static: true" if of_patient else ""
    yield f"  # FILL IN, or leave out: {_quoted(column)} is not in the catalogue. For instance:"
    yield f"  # - {{name: {_quoted(column)}, kind: ordinal{once}, bounds: [0, 3], bounds_from: …}}"
    yield f"  # - {{name: {_quoted(column)}, kind: nominal{once}, levels: [red, green, blue]}}"


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.removesuffix("\n...\n").strip()


def _quoted(text: str) -> str:
    return _flow(text)
