"""A first mapping for a FHIR export, from its codes and units. No value is read.

What the catalogue knows under a LOINC code becomes a variable with public bounds. A person decides
what is marked.
"""

from collections.abc import Iterator
from pathlib import Path

from longsynth.reading.first_recipe import flow
from longsynth.reading.formats.fhir.files import find_files
from longsynth.reading.formats.fhir.resources import Export, codings
from longsynth.reading.session import Session
from longsynth.schema.catalogue import Known, catalogue
from longsynth.schema.units import conversion, is_unit
from longsynth.system.errors import Code, CohortError

LOINC = "http://loinc.org"
ACT = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
STAYS = ("IMP", "ACUTE", "NONAC", "EMER")  # classes of encounters that are stays in a hospital
MOST = 24  # variables; more are listed in a comment
MEMORY = 512  # MB
HEAD = """\
# How to read this FHIR export: a schema with its mapping. Made from codes and units; no value was
# read. Decide the lines marked CHECK. Bounds are public facts, and nobody may take them from data.
longsynth: 1
"""


def first_map(source: Path, name: str = "my cohort") -> str:
    """Return commented YAML for `longsynth import fhir`."""
    with Session(MOST, memory=MEMORY, problem="the export cannot be read.") as session:
        export = find_files(source, session)
        units = _units(export)
        classes = _classes(export)
    known = [entry for entry in catalogue() if any(code in units for code in entry.loinc)]
    if not any(not entry.variable.static for entry in known):
        raise CohortError(
            Code.COLUMNS_UNKNOWN,
            "no Observation of the export has a LOINC code that the catalogue knows.",
            "Write the mapping by hand: docs/fhir.md has an example.",
        )
    return "\n".join([HEAD + f"name: {flow(name)}", *_lines(known, units, classes)]) + "\n"


def _units(export: Export) -> dict[str, set[str]]:
    """The LOINC codes of Observations and their components, each with its units."""
    unit = "coalesce({0}.valueQuantity.code, {0}.valueQuantity.unit)"
    pairs = export.session.rows(f"""
        SELECT DISTINCT {codings("code")}, {unit.format("r")} FROM {export.rows("Observation")} AS r
        UNION SELECT DISTINCT {codings("c.code")}, {unit.format("c")}
        FROM (SELECT unnest(component) AS c FROM {export.rows("Observation")})""")
    units: dict[str, set[str]] = {}
    for lines, named in pairs:
        for coding in (lines or "").split("\n"):
            system, _, code = coding.partition("|")
            if system == LOINC:
                units.setdefault(code, set()).update({named} - {None})
    return units


def _classes(export: Export) -> list[str]:
    pairs = export.session.rows(f"""
        SELECT DISTINCT "class".code FROM {export.rows("Encounter")} WHERE "class".system = '{ACT}'
        """)
    return sorted(code for (code,) in pairs if code in STAYS)


def _lines(known: list[Known], units: dict[str, set[str]], classes: list[str]) -> Iterator[str]:
    yield "slots: 14               # CHECK: time points kept of each patient, the first ones"
    yield f"max_gap: {168 if classes else 8760}            # CHECK: hours between two, at most"
    yield "slot_rule: {merge: 1}   # CHECK: hours within which values are one time point"
    if classes:
        listed = ", ".join(f'"{ACT}|{code}"' for code in classes)
        yield "source:  # CHECK: the first encounter of these classes is the record"
        yield f"  start: {{codes: [{listed}]}}"
    else:
        yield "# CHECK: without `source: {start: …}`, the first mapped value opens a record"
    yield "group: {levels: [male, female], source: {column: Patient.gender}}"
    yield "event: {levels: [alive, dead], source: {fact: death}}  # CHECK: within how many hours?"
    yield "variables:"
    yield (
        "  - {name: age, unit: years, kind: continuous, static: true, bounds: [0, 120], "
        "bounds_from: range reported of living adults, source: {fact: age}}"
    )
    chosen = known[:MOST]
    for entry in chosen:
        facts = entry.variable.model_dump(mode="json", exclude_defaults=True)
        codes = [code for code in entry.loinc if code in units]
        facts["source"] = {"codes": [f"{LOINC}|{code}" for code in codes]}
        yield f"  - {flow(facts)}{_remark(entry, set().union(*(units[c] for c in codes)))}"
    if rest := [entry.variable.name for entry in known[MOST:]]:
        yield f"# The export also has {', '.join(rest)}."


def _remark(entry: Known, units: set[str]) -> str:
    """Name the units that cannot be converted. A text that is no unit is not repeated."""
    variable = entry.variable
    if not variable.unit:
        return ""
    others = sorted(u for u in units if conversion(u, variable.unit, variable.name) is None)
    if not others:
        return ""
    free = "a unit that is not known"  # braces hold free text
    named = [unit if is_unit(unit) and "{" not in unit else free for unit in others]
    return f"  # CHECK: values in {', '.join(dict.fromkeys(named))} will be left out"
