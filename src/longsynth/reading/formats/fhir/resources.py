"""FHIR R4 resources as SQL: the columns that are read of each type, and what an event is there.

A file of a bulk export has one resource per line, all of one type. Bundles are split into such
files first. DuckDB reads only the columns that are named here.
"""

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

from longsynth.reading.columns import literal
from longsynth.reading.session import Session, no_pattern
from longsynth.system.errors import Code, CohortError, without_cells

LARGEST = 4_000_000  # bytes of one resource; more is an attachment, or a lost line end
LARGEST_BUNDLE = 128_000_000  # bytes: a bundle is read as a whole
ENDINGS = (".ndjson", ".jsonl", ".json")
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
        rows = f"fhir_{kind}"
        query = f"""SELECT id AS rid, "resourceType" IS DISTINCT FROM {literal(kind)} AS other,
            meta.lastUpdated AS changed, TRY_CAST(meta.versionId AS BIGINT) AS version,
            {cells} FROM {self.rows(kind)} AS r"""
        try:
            self.session.run(f"CREATE TEMP TABLE {rows} AS {query}")
        except CohortError as error:
            if error.code == Code.FILE_UNREADABLE:
                self._name_the_damaged(kind)
            raise
        ids, different, others = self.session.row(f"""
            SELECT count(rid), count(DISTINCT rid), count(*) FILTER (other) FROM {rows}""")
        if others:
            raise CohortError(
                Code.SOURCE_INCOMPLETE,
                f"a file of {kind} resources has resources of another type.",
                "Give each type its own file, as a bulk export does, or a bundle.",
            )
        if ids > different:
            self.repeated[kind] = ids - different
            rows = f"""(SELECT * FROM {rows} QUALIFY rid IS NULL OR row_number() OVER (
                PARTITION BY rid ORDER BY {hours("changed")} DESC NULLS LAST,
                version DESC NULLS LAST) = 1)"""
        return rows

    def _name_the_damaged(self, kind: str) -> None:
        for path in self.files[kind]:
            alone = Export(self.session, {kind: [path]})
            with without_cells(f"{path.name} cannot be read as {kind} resources.", WHOLE):
                self.session.connection.execute(f"SELECT count(id) FROM {alone.rows(kind)}")


def find_files(source: Path, session: Session) -> Export:
    """Find out which resources each file of a folder has, by its first line. Split bundles."""
    paths = [source] if source.is_file() else sorted(source.rglob("*"))
    export, split = Export(session), _Split(session)
    for path in paths:
        if not path.is_file() or not path.name.removesuffix(".gz").endswith(ENDINGS):
            continue
        kind = _first_type(path)
        if kind == "Bundle":
            split.add(path)
        elif kind in COLUMNS:
            _require_lines(path)
            export.files.setdefault(kind, []).append(path)
        elif kind:
            export.unused[kind] = export.unused.get(kind, 0) + 1
    for kind, file in split.close().items():
        export.files.setdefault(kind, []).append(file)
    if "Patient" not in export.files:
        raise CohortError(
            Code.SOURCE_INCOMPLETE,
            f"{source} has no Patient resources in .ndjson or .json, with or without .gz.",
            "Give the folder of a FHIR R4 bulk export.",
        )
    return export


def _first_type(path: Path) -> str:
    """The type of a file's first resource. JSON over several lines must be a bundle."""
    with _reading(path), _opened(path) as file:
        line = file.readline(LARGEST_BUNDLE + 1).strip()
    if not line:
        return ""
    if line in (b"{", b"[") and path.name.removesuffix(".gz").endswith(".json"):
        return "Bundle"
    with _reading(path):
        kind = str(json.loads(line)["resourceType"])
    return kind if re.fullmatch(r"[A-Za-z]{1,64}", kind) else "unknown"


class _Split:
    """Bundles as lines: one file per type of resource."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._files: dict[str, tuple[Path, IO[str]]] = {}

    def add(self, path: Path) -> None:
        with _reading(path), _opened(path) as file:
            content = file.read(LARGEST_BUNDLE + 1)
        if len(content) > LARGEST_BUNDLE:
            raise CohortError(
                Code.TOO_LARGE,
                f"{path.name} has bundles of more than {LARGEST_BUNDLE // 10**6} MB.",
                "Export resources as lines, one file per type.",
            )
        with _reading(path):
            for bundle in _bundles(content):
                for entry in bundle.get("entry", []):
                    self._write(entry.get("resource", {}), entry.get("fullUrl", ""))

    def _write(self, resource: dict[str, Any], url: str) -> None:
        kind = resource.get("resourceType")
        if kind not in COLUMNS:
            return
        if kind not in self._files:
            path = self._session.new_file().with_suffix(".ndjson")
            self._files[kind] = path, path.open("w", encoding="utf-8")
        whole = {"id": re.split(r"[/:]", url)[-1]} | resource
        self._files[kind][1].write(json.dumps(whole) + "\n")

    def close(self) -> dict[str, Path]:
        for _, file in self._files.values():
            file.close()
        return {kind: path for kind, (path, _) in self._files.items()}


def _bundles(content: bytes) -> Iterator[dict[str, Any]]:
    """One bundle over any number of lines, or one per line."""
    try:
        yield json.loads(content)
    except ValueError:
        yield from map(json.loads, filter(None, content.splitlines()))


def _require_lines(path: Path) -> None:
    """Refuse a resource that is too large: a block of this size without a line end."""
    with _reading(path), _opened(path) as file:
        whole = _seeking(file) if path.suffix != ".gz" else _streaming(file)
    if not whole:
        raise CohortError(
            Code.TOO_LARGE,
            f"{path.name} has a resource of more than {LARGEST // 10**6} MB.",
            "Leave out attachments and pictures, and check that each resource has its own line.",
        )


def _seeking(file: IO[bytes]) -> bool:
    """The last line end of a block is near its end, so hardly any byte is looked at."""
    at = -1
    with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        while len(content) - at > LARGEST:
            start, at = at + 1, content.rfind(b"\n", at + 1, at + 1 + LARGEST)
            if at < start:
                return False
    return True


def _streaming(file: IO[bytes]) -> bool:
    open_line = 0
    while block := file.read(LARGEST):
        if b"\n" not in block and len(block) + open_line >= LARGEST:
            return False
        open_line = len(block) - 1 - block.rfind(b"\n") if b"\n" in block else len(block)
    return True


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _reading(path: Path) -> AbstractContextManager[None]:
    """Whatever goes wrong is the file's fault."""
    return without_cells(f"{path.name} cannot be read as FHIR resources.", WHOLE, every=True)


def hours(text: str) -> str:
    """SQL for hours since 1970 in UTC of a FHIR dateTime, which may lack its day or month; NULL if
    there is none, NaN if it cannot be read."""
    forms = (f"TRY_CAST({text} || '{rest}' AS TIMESTAMPTZ)" for rest in ("", "-01", "-01-01"))
    read = f"epoch_us(coalesce({', '.join(forms)})) / 3600e6"
    return f"CASE WHEN {text} IS NOT NULL THEN coalesce({read}, 'nan'::DOUBLE) END"


def target_id(reference: str) -> str:
    """SQL for the id in Patient/1, in an address, in urn:uuid:1 and in a reference to a version."""
    return f"string_split(replace(split_part({reference}, '/_history/', 1), ':', '/'), '/')[-1]"


def codings(concept: str) -> str:
    """SQL for all codings of a concept as lines of text: system|code."""
    each = (
        f"[coalesce(k.system, '') || '|' || k.code FOR k IN {concept}.coding IF k.code IS NOT NULL]"
    )
    return f"array_to_string({each}, chr(10))"


def event_cells(place: str, *, valued: bool) -> dict[str, str]:
    """SQL for the event that an Observation or one of its components is."""
    quantity, first = f"{place}.valueQuantity", f"{place}.valueCodeableConcept.coding[1]"
    number = f"coalesce({quantity}.value, {place}.valueInteger)"
    cells = {
        "number": f"CASE WHEN {quantity}.comparator IS NULL THEN TRY_CAST({number} AS DOUBLE) END",
        "raw": f"""coalesce({quantity}.comparator || {quantity}.value,
            coalesce({first}.system, '') || '|' || {first}.code,
            {place}.valueString, {place}.valueBoolean)""",
        "unit": f"""CASE WHEN {quantity}.system = 'http://unitsofmeasure.org' THEN {quantity}.code
            ELSE coalesce({quantity}.unit, {quantity}.code) END""",
        "absent": f"{place}.dataAbsentReason IS NOT NULL",
    }
    return {"codes": codings(f"{place}.code"), **(cells if valued else NO_VALUE)}


NO_VALUE = {
    "number": "NULL::DOUBLE",
    "raw": "NULL::VARCHAR",
    "unit": "NULL::VARCHAR",
    "absent": "false",
}
