"""FHIR R4 resources as SQL: the columns that are read of each type, and what an event is there.

A file has one resource per line, all of one type. DuckDB reads only the columns that are named
here.
"""

from dataclasses import dataclass, field
from pathlib import Path

from longsynth.reading.columns import literal
from longsynth.reading.session import Session, no_pattern
from longsynth.system.errors import Code, CohortError, without_cells

LARGEST = 4_000_000  # bytes of one resource; more is an attachment, or a lost line end
WHOLE = f"Check that each line is one complete resource of at most {LARGEST // 10**6} MB."

_CODEABLE = "STRUCT(coding STRUCT(system VARCHAR, code VARCHAR)[])"
_REFERENCE = "STRUCT(reference VARCHAR)"
_PERIOD = 'STRUCT("start" VARCHAR, "end" VARCHAR)'
_QUANTITY = """STRUCT(
    "value" VARCHAR, comparator VARCHAR, unit VARCHAR, system VARCHAR, code VARCHAR)"""
_VALUES = {
    "valueQuantity": _QUANTITY,
    "valueCodeableConcept": _CODEABLE,
    "valueString": "VARCHAR",
    "valueInteger": "VARCHAR",
    "valueBoolean": "VARCHAR",
    "dataAbsentReason": _CODEABLE,
}
_COMPONENT = ", ".join(f'"{name}" {kind}' for name, kind in _VALUES.items())
_MEDICATION = {
    "medicationCodeableConcept": _CODEABLE,
    "medicationReference": _REFERENCE,
    "contained": f"STRUCT(id VARCHAR, code {_CODEABLE})[]",
}
_OF_A_PATIENT = {"status": "VARCHAR", "subject": _REFERENCE, "encounter": _REFERENCE}
_NESTED = "STRUCT(url VARCHAR, valueCoding STRUCT(code VARCHAR))[]"
COLUMNS: dict[str, dict[str, str]] = {
    "Patient": {
        "gender": "VARCHAR",
        "birthDate": "VARCHAR",
        "deceasedBoolean": "VARCHAR",
        "deceasedDateTime": "VARCHAR",
        "maritalStatus": _CODEABLE,
        "managingOrganization": _REFERENCE,
        "extension": f"STRUCT(url VARCHAR, extension {_NESTED})[]",
    },
    "Encounter": _OF_A_PATIENT
    | {
        "class": "STRUCT(system VARCHAR, code VARCHAR)",
        "type": f"{_CODEABLE}[]",
        "serviceType": _CODEABLE,
        "serviceProvider": _REFERENCE,
        "partOf": _REFERENCE,
        "period": _PERIOD,
        "hospitalization": f"STRUCT(dischargeDisposition {_CODEABLE})",
    },
    "Observation": _OF_A_PATIENT
    | _VALUES
    | {
        "code": _CODEABLE,
        "effectiveDateTime": "VARCHAR",
        "effectiveInstant": "VARCHAR",
        "effectivePeriod": _PERIOD,
        "component": f"STRUCT(code {_CODEABLE}, {_COMPONENT})[]",
    },
    "Condition": _OF_A_PATIENT
    | {
        "code": _CODEABLE,
        "verificationStatus": _CODEABLE,
        "onsetDateTime": "VARCHAR",
        "onsetPeriod": _PERIOD,
        "recordedDate": "VARCHAR",
    },
    "Procedure": _OF_A_PATIENT
    | {"code": _CODEABLE, "performedDateTime": "VARCHAR", "performedPeriod": _PERIOD},
    "MedicationRequest": _OF_A_PATIENT | _MEDICATION | {"authoredOn": "VARCHAR"},
    "MedicationAdministration": _OF_A_PATIENT
    | _MEDICATION
    | {"effectiveDateTime": "VARCHAR", "effectivePeriod": _PERIOD, "context": _REFERENCE},
    "Medication": {"status": "VARCHAR", "code": _CODEABLE},
}
TIMES = {  # the first that is there; a resource without any has its encounter's start
    "Observation": ("effectiveDateTime", "effectiveInstant", 'effectivePeriod."start"'),
    "Condition": ("onsetDateTime", 'onsetPeriod."start"', "recordedDate"),
    "Procedure": ("performedDateTime", 'performedPeriod."start"'),
    "MedicationRequest": ("authoredOn",),
    "MedicationAdministration": ("effectiveDateTime", 'effectivePeriod."start"'),
}
NEVER_HAPPENED = ("entered-in-error", "cancelled", "not-done", "refuted", "planned")


@dataclass(slots=True)
class Export:
    """The files of an export, by the type of their resources."""

    session: Session
    files: dict[str, list[Path]] = field(default_factory=dict)
    unused: dict[str, int] = field(default_factory=dict)  # files, by the type of their resources
    repeated: dict[str, int] = field(default_factory=dict)  # older versions of resources

    def rows(self, kind: str) -> str:
        """SQL for all resources of a type."""
        columns = {"resourceType": "VARCHAR", "id": "VARCHAR", **COLUMNS[kind]}
        columns["meta"] = "STRUCT(lastUpdated VARCHAR, versionId VARCHAR)"
        paths = ", ".join(literal(no_pattern(path)) for path in self.files.get(kind, []))
        if not paths:
            cells = (f'NULL::{of} AS "{name}"' for name, of in columns.items())
            return f"(SELECT {', '.join(cells)} LIMIT 0)"
        listed = ", ".join(f'"{name}": {literal(of)}' for name, of in columns.items())
        return f"""read_json([{paths}], format = 'newline_delimited', columns = {{{listed}}},
            maximum_object_size = {LARGEST})"""

    def read(self, kind: str, cells: str) -> str:
        """Keep cells of all resources of a type. Return SQL for those of their newest versions."""
        kept = f"fhir_{kind}"
        query = f"""SELECT id AS rid, "resourceType" IS DISTINCT FROM {literal(kind)} AS other,
            meta.lastUpdated AS changed, TRY_CAST(meta.versionId AS BIGINT) AS version,
            {cells} FROM {self.rows(kind)} AS r"""
        try:
            self.session.run(f"CREATE TEMP TABLE {kept} AS {query}")
        except CohortError as error:
            if error.code == Code.FILE_UNREADABLE:
                self._name_the_damaged(kind)
            raise
        ids, different, others = self.session.row(f"""
            SELECT count(rid), count(DISTINCT rid), count(*) FILTER (other) FROM {kept}""")
        if others:
            raise CohortError(
                Code.SOURCE_INCOMPLETE,
                f"a file of {kind} resources has resources of another type.",
                "Give each type its own file, as a bulk export does, or a bundle.",
            )
        if ids > different:
            self.repeated[kind] = ids - different
            kept = f"""(SELECT * FROM {kept} QUALIFY rid IS NULL OR row_number() OVER (
                PARTITION BY rid ORDER BY {hours("changed")} DESC NULLS LAST,
                version DESC NULLS LAST) = 1)"""
        return kept

    def _name_the_damaged(self, kind: str) -> None:
        for path in self.files[kind]:
            alone = Export(self.session, {kind: [path]})
            with without_cells(f"{path.name} cannot be read as {kind} resources.", WHOLE):
                self.session.connection.execute(f"SELECT count(id) FROM {alone.rows(kind)}")


def hours(text: str) -> str:
    """SQL for hours since 1970 in UTC of a FHIR dateTime, which may lack its day or month; NULL if
    there is none, NaN if it cannot be read."""
    forms = (f"TRY_CAST({text} || '{rest}' AS TIMESTAMPTZ)" for rest in ("", "-01", "-01-01"))
    read = f"epoch_us(coalesce({', '.join(forms)})) / 3600e6"
    return f"CASE WHEN {text} IS NOT NULL THEN coalesce({read}, 'nan'::DOUBLE) END"


def target_id(reference: str) -> str:
    """SQL for the id in Patient/1, in an address, in urn:uuid:1 and in a reference to a version."""
    return f"string_split(replace(split_part({reference}, '/_history/', 1), ':', '/'), '/')[-1]"


def local_id(reference: str) -> str:
    """SQL for the same where #1 is a resource that the container of this one contains."""
    inside = f"split_part(id, '#', 1) || {reference}"
    return f"CASE WHEN {reference} LIKE '#%' THEN {inside} ELSE {target_id(reference)} END"


def codings(concept: str) -> str:
    """SQL for all codings of a concept as lines of text: system|code."""
    each = (
        f"[coalesce(k.system, '') || '|' || k.code FOR k IN {concept}.coding IF k.code IS NOT NULL]"
    )
    return f"array_to_string({each}, chr(10))"


def event_cells(owner: str, *, valued: bool) -> dict[str, str]:
    """SQL for the event that an Observation or one of its components is."""
    quantity, first = f"{owner}.valueQuantity", f"{owner}.valueCodeableConcept.coding[1]"
    amount = f"coalesce({quantity}.value, {owner}.valueInteger)"
    cells = {
        "number": f"CASE WHEN {quantity}.comparator IS NULL THEN TRY_CAST({amount} AS DOUBLE) END",
        "raw": f"""coalesce({quantity}.comparator || {quantity}.value,
            coalesce({first}.system, '') || '|' || {first}.code,
            {owner}.valueString, {owner}.valueBoolean)""",
        "unit": f"""CASE WHEN {quantity}.system = 'http://unitsofmeasure.org' THEN {quantity}.code
            ELSE coalesce({quantity}.unit, {quantity}.code) END""",
        "absent": f"{owner}.dataAbsentReason IS NOT NULL",
    }
    return {"codes": codings(f"{owner}.code"), **(cells if valued else NO_VALUE)}


NO_VALUE = {
    "number": "NULL::DOUBLE",
    "raw": "NULL::VARCHAR",
    "unit": "NULL::VARCHAR",
    "absent": "false",
}
