"""FHIR R4, as a bulk export or as bundles: one record per Patient resource.

Every Observation, component of one, Condition, Procedure, medication and Encounter that a mapping
asks for becomes an event. Its key is the type of the resource and, line by line, all its codings.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from longsynth.reading.adapter import (
    START,
    STOP,
    Key,
    Prepared,
    Request,
    Target,
    age,
    among,
    check_moments,
    define_moments,
    level,
    matches,
    moment,
    register_keys,
    since_start,
)
from longsynth.reading.columns import literal
from longsynth.reading.formats.fhir.files import find_files
from longsynth.reading.formats.fhir.resources import (
    COLUMNS,
    NEVER_HAPPENED,
    TIMES,
    Export,
    codings,
    event_cells,
    hours,
    local_id,
    target_id,
)
from longsynth.schema.mapping import Codes, Dataset, End, Moment, Source
from longsynth.system.errors import Code, CohortError

LABELS = {  # what `column` may name: SQL over the resource
    "Patient.gender": "gender",
    "Patient.maritalStatus": "maritalStatus.coding[1].code",
    "Patient.managingOrganization": target_id("managingOrganization.reference"),
    "Patient.race": "{us-core-race}",
    "Patient.ethnicity": "{us-core-ethnicity}",
    "Encounter.class": '"class".code',
    "Encounter.serviceType": "serviceType.coding[1].code",
    "Encounter.serviceProvider": target_id("serviceProvider.reference"),
}
MOMENTS = {"Patient.birthDate": "birth", "Patient.deceasedDateTime": "death"}
ANY = Codes(pattern=r"[^\0]*")
Wanted = dict[int, tuple[str, Codes]]  # by target: the type of the resource, and its codes


def prepare(request: Request) -> Prepared:
    session, layout, targets = request.session, request.schema.source, request.targets
    for target in targets:
        _check(target)
    check_moments(
        layout,
        start=("codes", "pattern", "column", "min_hours", "part_of"),
        end=("codes", "pattern", "column", "hours"),
    )
    wanted: Wanted = {t.number: (t.codes.resource, t.codes) for t in targets if by_code(t)}
    wanted |= _moments(layout)
    request.step("finding resources")
    export = find_files(Path(request.source), session)
    request.step("reading Patient resources")
    listed = export.read("Patient", _patient_cells(targets))
    kinds = [kind for kind in COLUMNS if kind in {of for of, _ in wanted.values()}]
    encounters = _encounters(export, targets, request)
    parts = []
    for kind in kinds:
        if kind != "Encounter":
            request.step(f"reading {kind} resources")
            parts += _events(export, kind)
    session.run(f"CREATE TEMP TABLE encounters AS {encounters}")
    parts += _encounter_events() if "Encounter" in kinds else []
    kept = " UNION ALL ".join(f"SELECT * FROM ({part})" for part in parts)
    session.run(f"CREATE VIEW all_events AS {kept}")
    session.run("""
        CREATE VIEW events AS SELECT id, clock, key, number, raw, unit
        FROM all_events WHERE NOT absent AND NOT gone""")

    request.step("matching codes")
    keys, notes = _keys_and_notes(export)
    _require_systems(keys)
    lists = {t.number for t in targets if t.coded}
    register_keys(session, _keys(keys, wanted, lists))
    request.step("finding the start of each record")
    session.run(f"CREATE TEMP TABLE patients AS SELECT * FROM {listed}")
    define_moments(session, _openers(layout.start, targets), _closers(layout.end), layout.end.hours)
    _people(session, targets)
    return Prepared(by_code, notes=notes, with_units=True)


def by_code(target: Target) -> bool:
    return target.fact not in ("age", "death") and not target.codes.column


def _check(target: Target) -> None:
    source: Source = target.codes
    if source.column and (source.column not in LABELS or not target.once):
        raise target.refused(
            f"{source.column} is not a label of a patient", f"Name one of {', '.join(LABELS)}."
        )
    if not by_code(target):
        return
    if not source.named:
        raise target.refused(
            "nothing says which codes it comes from",
            'Add source: {codes: ["http://loinc.org|8867-4"]}, {column: Patient.…} or {fact: …}.',
        )
    _check_system(target.place, source)


def _check_system(where: str, codes: Codes) -> None:
    if codes.codes and not codes.pattern and not any("|" in code for code in codes.codes):
        raise CohortError(
            Code.MAPPING_UNUSABLE,
            f"{where}: its codes have no system.",
            "Write system|code, for example http://loinc.org|8867-4.",
        )


def _moments(layout: Dataset) -> Wanted:
    """What opens and closes records, where codes say so."""
    start, end = layout.start, layout.end
    for what, codes in (("start", start), ("end", end)):
        _check_system(f"source.{what}", codes)
        column = getattr(codes, "column", "")
        if column and column not in MOMENTS:
            raise CohortError(
                Code.MAPPING_UNUSABLE,
                f"source.{what}: {column} is no time of a patient.",
                f"Name one of {', '.join(MOMENTS)}, or codes.",
            )
    wanted: Wanted = {}
    if start.model_fields_set and not start.column:
        wanted[START] = start.resource, start if start.named else ANY
    if end.named:
        wanted[STOP] = end.resource, end
    return wanted


def _patient_cells(targets: Iterable[Target]) -> str:
    race = "list_filter(list_filter(extension, lambda e: ends_with(e.url, '{}'))[1].extension, "
    race += "lambda e: e.url = 'ombCategory')[1].valueCoding.code"
    cells = [
        "id",
        f"{hours('birthDate')} AS birth",
        f"""coalesce({hours("deceasedDateTime")},
            CASE WHEN deceasedBoolean = 'true' THEN 'infinity'::DOUBLE END) AS death""",
    ]
    for target in targets:
        of, _, _ = target.codes.column.partition(".")
        if of == "Patient":
            cell = LABELS[target.codes.column]
            cell = race.format(cell[1:-1]) if cell.startswith("{") else cell
            cells.append(f"{cell} AS l{target.number}")
    return ", ".join(cells)


def _encounters(export: Export, targets: Iterable[Target], request: Request) -> str:
    """SQL for all encounters, to which other resources refer."""
    request.step("reading Encounter resources")
    labels = [t for t in targets if t.codes.column.startswith("Encounter.")]
    named = "".join(f", {LABELS[t.codes.column]} AS l{t.number}" for t in labels)
    names = "".join(f", l{t.number}" for t in labels)
    lists = f"""[coalesce("class".system, '') || '|' || "class".code]
        || coalesce([{codings("t")} FOR t IN type], [])"""
    kept = export.read(
        "Encounter",
        f"""{target_id("subject.reference")} AS id, {hours('period."start"')} AS clock,
        {hours('period."end"')} AS until, array_to_string({lists}, chr(10)) AS codes,
        {codings("hospitalization.dischargeDisposition")} AS disposition,
        partOf.reference IS NOT NULL AS inner_stay, {_gone("Encounter")} AS gone {named}""",
    )
    return f"SELECT rid, id, clock, until, codes, disposition, inner_stay, gone {names} FROM {kept}"


def _gone(kind: str) -> str:
    """SQL: it was entered in error, or did not take place."""
    words = ", ".join(map(literal, NEVER_HAPPENED))
    gone = f"coalesce(status IN ({words}), false)"
    if kind == "Condition":
        said = "[c.code FOR c IN verificationStatus.coding]"
        gone += f" OR coalesce(list_has_any({said}, [{words}]), false)"
    return gone


def _encounter_events() -> list[str]:
    """An encounter is an event at its start, with class and type, and one at its end, with how the
    patient was discharged."""
    parts = (("clock", "codes"), ("until", "disposition"))
    return [
        f"""SELECT id, {at} AS clock, 'Encounter' || chr(10) || {codes} AS key,
            NULL::DOUBLE AS number, NULL::VARCHAR AS raw, NULL::VARCHAR AS unit, false AS absent,
            gone FROM encounters WHERE {codes} <> ''"""
        for at, codes in parts
    ]


def _events(export: Export, kind: str) -> list[str]:
    """SQL for the events of a type of resource: the resources themselves, and components."""
    medication, observation = kind.startswith("Medication"), kind == "Observation"
    encounter = "context" if kind == "MedicationAdministration" else "encounter"
    cells = event_cells("r", valued=observation)
    if medication:
        inside = "list_filter(contained, lambda m: '#' || m.id = medicationReference.reference)"
        cells["codes"] = f"""coalesce(nullif({codings("medicationCodeableConcept")}, ''),
            nullif({codings(f"{inside}[1].code")}, ''))"""
        cells["medication"] = target_id("medicationReference.reference")
    if observation:
        each = ", ".join(
            f"'{name}': {cell}" for name, cell in event_cells("c", valued=True).items()
        )
        cells["parts"] = f"CASE WHEN component IS NOT NULL THEN [{{{each}}} FOR c IN component] END"
    time = f"coalesce({', '.join(TIMES[kind])})"
    listed = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
    kept = export.read(
        kind,
        f"""{target_id("subject.reference")} AS id, {hours(time)} AS clock, {_gone(kind)} AS gone,
        CASE WHEN {time} IS NULL THEN {local_id(f"{encounter}.reference")} END AS eid, {listed}""",
    )
    kept = f"{kept} AS r LEFT JOIN encounters AS n ON n.rid = r.eid"
    codes = "r.codes"
    if medication:
        named = export.read("Medication", f"{codings('code')} AS codes")
        kept += f" LEFT JOIN {named} AS m ON m.rid = r.medication AND r.codes IS NULL"
        codes = "coalesce(r.codes, m.codes, '')"
    when = f"r.id, coalesce(r.clock, n.clock) AS clock, {literal(kind)} || chr(10) || "
    own = f"SELECT {when} {codes} AS key, number, raw, unit, absent, r.gone FROM {kept}"
    if not observation:
        return [own]
    parts = f"""SELECT {when} p.codes AS key, p.number, p.raw, p.unit, p.absent, r.gone
        FROM (SELECT id, clock, eid, gone, unnest(parts) AS p FROM {kept.partition(" AS r ")[0]}
              WHERE parts IS NOT NULL) AS r LEFT JOIN encounters AS n ON n.rid = r.eid"""
    return [own, parts]


def _keys_and_notes(export: Export) -> tuple[list[str], dict[str, Any]]:
    """The keys of all events, and what is left out before any of them is matched. Raw facts."""
    kept = export.session.rows("""
        SELECT key, count(*) FILTER (NOT absent AND NOT gone),
               count(*) FILTER (absent AND NOT gone), count(*) FILTER (gone)
        FROM all_events GROUP BY key""")
    notes = {
        "older_versions_of_resources": export.repeated,
        "events_without_a_value_for_a_stated_reason": sum(row[2] for row in kept),
        "events_entered_in_error_or_not_done": sum(row[3] for row in kept),
        "files_that_are_not_read": export.unused,
    }
    return [key for key, there, *_ in kept if key is not None and there], notes


def _require_systems(keys: Iterable[str]) -> None:
    lines = [line for key in keys for line in key.split("\n")[1:] if line]
    if lines and all(line.startswith("|") for line in lines):
        raise CohortError(
            Code.SOURCE_INCOMPLETE,
            "no code of the export has a system.",
            "Export codes with their system, such as http://loinc.org.",
        )


def _keys(keys: Iterable[str], wanted: Wanted, lists: set[int]) -> Iterator[Key]:
    """Yield which keys belong to which targets: one coding that matches is enough. In a list of
    codes, that coding is the value, unless the resource has a value of its own."""
    for key in keys:
        kind, *lines = key.split("\n")
        for target, (of, codes) in wanted.items():
            named = [(line, matches(line, codes)) for line in lines] if of == kind else []
            match = next(((line, groups) for line, groups in named if groups), None)
            if match is not None:
                line, (unit, raw) = match
                own = line if target in lists and kind != "Observation" else None
                yield key, target, unit, raw or own


def _openers(start: Moment, targets: Iterable[Target]) -> str:
    if start.column:
        return f"SELECT id, {MOMENTS[start.column]} AS clock, NULL::DOUBLE AS until FROM patients"
    by_key = "SELECT id, clock, NULL::DOUBLE AS until FROM events JOIN keys USING (key)"
    if not start.model_fields_set:  # the first event of the mapping
        over_time = [t for t in targets if not t.once]
        return f"{by_key} WHERE {among(over_time)}"
    if start.resource != "Encounter":
        return f"{by_key} WHERE target = {START}"
    fits = "" if start.part_of is None else f"AND inner_stay = {start.part_of}"
    fits += f" AND until - clock >= {start.min_hours!r}" if start.min_hours else ""
    return f"""
        SELECT id, clock, until FROM encounters JOIN keys
        ON keys.key = 'Encounter' || chr(10) || codes AND target = {START}
        WHERE NOT gone {fits}"""


def _closers(end: End) -> str:
    if end.column:
        return f"SELECT id, {MOMENTS[end.column]} AS clock FROM patients"
    if not end.named:
        return ""
    return f"SELECT id, clock FROM events JOIN keys USING (key) WHERE target = {STOP}"


def _people(session: Any, targets: Iterable[Target]) -> None:
    labels = [t for t in targets if t.codes.column]
    inner = "".join(
        f", min(l{t.number}) AS l{t.number}"
        for t in labels
        if t.codes.column.startswith("Encounter.")
    )
    columns = "".join(
        f", {level(raw, t) if t.levels else f'TRY_CAST({raw} AS DOUBLE)'} AS c{t.number}"
        for t in labels
        for raw in [f"l{t.number}"]
    )
    born = moment("birth")
    session.run(f"""
        CREATE TEMP TABLE people AS
        SELECT p.id, m.start, {since_start("m.stop").replace("start)", "m.start)")} AS stop, death,
               {age("m.start", f"year({born})", f"month({born})", f"day({born})")} AS age {columns}
        FROM patients AS p LEFT JOIN moments AS m ON m.id = p.id
        LEFT JOIN (SELECT id, clock {inner} FROM encounters WHERE NOT gone GROUP BY id, clock) AS e
        ON e.id = p.id AND e.clock = m.start""")
