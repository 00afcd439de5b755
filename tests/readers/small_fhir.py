"""The three patients of small_sources as FHIR resources, with what real exports contain: offsets of
several zones, versions, mistakes, contained resources, references of every form."""

import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from readers.small_sources import BIRTH, FAHRENHEIT, SCHEMA, START

LOINC, ACT = "http://loinc.org", "http://terminology.hl7.org/CodeSystem/v3-ActCode"
SNOMED = "http://snomed.info/sct"
ZONES = [UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=5, minutes=30))]
Resource = dict[str, Any]


def stamp(patient: int, hours: float, zone: int = 0) -> str:
    """The same moment, as clocks of different places show it."""
    at = START.get(patient, datetime(2020, 1, 1)).replace(tzinfo=UTC) + timedelta(hours=hours)
    return at.astimezone(ZONES[zone]).isoformat()


def concept(*codings: tuple[str | None, str]) -> Resource:
    return {"coding": [{"system": s, "code": c} if s else {"code": c} for s, c in codings]}


def observation(key: str, patient: str, at: str, loinc: str, **more: Any) -> Resource:
    return {
        "resourceType": "Observation",
        "id": key,
        "status": "final",
        "code": concept((LOINC, loinc)),
        "subject": {"reference": patient},
        "effectiveDateTime": at,
    } | more


def quantity(value: float, unit: str, **more: Any) -> Resource:
    return {
        "value": value,
        "unit": unit,
        "system": "http://unitsofmeasure.org",
        "code": unit,
    } | more


def encounter(key: str, patient: str, kind: str, start: str, end: str | None, **more: Any) -> Any:
    return {
        "resourceType": "Encounter",
        "id": key,
        "status": "finished",
        "class": {"system": ACT, "code": kind},
        "subject": {"reference": patient},
        "period": {"start": start} | ({"end": end} if end else {}),
    } | more


UNKNOWN = concept(("http://terminology.hl7.org/CodeSystem/data-absent-reason", "unknown"))


def resources() -> list[Resource]:
    """In no order. Patient 1 is in ward A, patient 2 in ward B; see small_sources."""
    people = [
        {
            "resourceType": "Patient",
            "id": str(i),
            "gender": {1: "female", 2: "male", 3: "female"}[i],
            "birthDate": BIRTH[i].date().isoformat(),
        }
        for i in (2, 1, 3)
    ]
    people[1]["deceasedDateTime"] = stamp(1, 48, 1)
    wards = {"A": {"reference": "Organization/ward-a"}, "B": {"reference": "Organization/ward-b"}}
    stays = [
        encounter("e0", "Patient/1", "AMB", stamp(1, -90), stamp(1, -89)),
        encounter("e1", "Patient/1", "IMP", stamp(1, -50), stamp(1, -49.5)),  # too short
        encounter("e2", "Patient/1", "IMP", stamp(1, -20), stamp(1, 90), status="entered-in-error"),
        encounter(
            "e3", "Patient/1", "IMP", stamp(1, 0, 1), stamp(1, 40, 2), serviceProvider=wards["A"]
        ),
        encounter("e4", "urn:uuid:2", "IMP", stamp(2, 0), stamp(2, 8), serviceProvider=wards["B"]),
        encounter("e5", "Patient/2", "IMP", stamp(2, 9), stamp(2, 20)),
    ]
    fahrenheit = quantity(99.5, "[degF]")
    rows = [
        observation("o1", "Patient/1", stamp(1, -1), "8867-4", valueQuantity=quantity(70, "/min")),
        observation(
            "o2",
            "https://example.org/fhir/Patient/1/_history/3",
            stamp(1, 1, 2),
            "8867-4",
            valueQuantity=quantity(81, "/min"),
            meta={"versionId": "1", "lastUpdated": stamp(1, 2)},
        ),
        observation(  # the same observation, corrected later and told of in another zone
            "o2",
            "Patient/1",
            stamp(1, 1, 1),
            "8867-4",
            status="amended",
            valueQuantity=quantity(80, "/min"),
            meta={"versionId": "2", "lastUpdated": stamp(1, 3, 1)},
        ),
        observation(
            "o3",
            "Patient/1",
            stamp(1, 2, 1),
            "8310-5",
            code=concept(("urn:local", "TEMP"), (LOINC, "8310-5"), (LOINC, "8331-1")),
            valueQuantity=fahrenheit,
            contained=[{"resourceType": "Device", "id": "thermometer"}],
            device={"reference": "#thermometer"},
        ),
        observation(
            "o4",
            "1",
            stamp(1, 3),
            "3150-0",
            valueCodeableConcept=concept((SNOMED, "261746005"), (None, "mask")),
        ),
        observation(
            "o5", "Patient/1", stamp(1, 4), "8867-4", dataAbsentReason=concept((None, "x"))
        ),
        observation(
            "o6",
            "Patient/1",
            stamp(1, 5),
            "8867-4",
            status="entered-in-error",
            valueQuantity=quantity(300, "/min"),
        ),
        observation("o7", "Patient/1", stamp(1, 41), "8867-4", valueQuantity=quantity(60, "/min")),
        observation(  # a pulse as a component, in an encounter that is nowhere
            "o8",
            "Patient/2",
            stamp(2, 0, 2),
            "85353-1",
            encounter={"reference": "Encounter/none"},
            component=[
                {"code": concept((LOINC, "8867-4")), "valueQuantity": quantity(90, "/min")},
                {"code": concept((LOINC, "8867-4")), "dataAbsentReason": UNKNOWN},
            ],
        ),
        observation("o9", "Patient/2", stamp(2, 0.5), "8310-5", valueQuantity=quantity(38, "Cel")),
        observation("o10", "Patient/2", stamp(2, 0.6), "8310-5", valueQuantity=quantity(1, "{x}")),
        observation("o11", "Patient/3", stamp(3, 0), "8867-4", valueQuantity=quantity(88, "/min")),
        observation("o12", "Patient/9", stamp(3, 0), "8867-4", valueQuantity=quantity(88, "/min")),
    ]
    return people + stays + rows


def schema() -> dict[str, Any]:
    """The schema of small_sources, which speaks FHIR."""
    pulse, temperature, oxygen, age = (dict(v) for v in SCHEMA["variables"])
    pulse |= {"unit": "bpm", "source": {"codes": [f"{LOINC}|8867-4"]}}
    temperature["source"] = {"codes": [f"{LOINC}|8310-5", f"{LOINC}|8331-1"]}
    oxygen["source"] = {"codes": [f"{LOINC}|3150-0"], "values": {f"{SNOMED}|261746005": "mask"}}
    site = {"column": "Encounter.serviceProvider", "values": {"ward-a": "A", "ward-b": "B"}}
    group = {"column": "Patient.gender", "values": {"female": "F", "male": "M"}}
    return SCHEMA | {
        "source": {"start": {"codes": [f"{ACT}|IMP"], "min_hours": 1}},
        "group": SCHEMA["group"] | {"source": group},
        "site": SCHEMA["site"] | {"source": site},
        "variables": [pulse, temperature, oxygen, age],
    }


def fhir(folder: Path, given: list[Resource] | None = None, *, zipped: bool = False) -> Path:
    """Write a bulk export, one file per type."""
    folder.mkdir(parents=True, exist_ok=True)
    by_type: dict[str, list[str]] = {}
    for resource in resources() if given is None else given:
        by_type.setdefault(resource["resourceType"], []).append(json.dumps(resource))
    for kind, lines in by_type.items():
        content = "\n".join(lines).encode() + b"\n"
        if zipped:
            (folder / f"{kind}.000.ndjson.gz").write_bytes(gzip.compress(content))
        else:
            (folder / f"{kind}.ndjson").write_bytes(content)
    return folder


def bundle(folder: Path, given: list[Resource] | None = None) -> Path:
    """Write two bundles: one over many lines, one in a single zipped line."""
    folder.mkdir(parents=True)
    entries = [
        {"fullUrl": f"urn:uuid:{r['id']}", "resource": {k: v for k, v in r.items() if k != "id"}}
        for r in (resources() if given is None else given)
    ]
    halves = entries[:7], entries[7:]
    whole = [{"resourceType": "Bundle", "type": "collection", "entry": half} for half in halves]
    (folder / "first.json").write_text(json.dumps(whole[0], indent=2))
    (folder / "second.json.gz").write_bytes(gzip.compress(json.dumps(whole[1]).encode()))
    return folder


def contained(folder: Path) -> Path:
    """Every observation inside a report, which says whose it is; one stay inside another report."""
    kept: list[Resource] = []
    for resource in resources():
        inner = {name: cell for name, cell in resource.items() if name not in ("subject", "meta")}
        said = {"resourceType": "DiagnosticReport", "id": f"d{inner['id']}", "status": "final"}
        said |= {name: resource[name] for name in ("subject", "meta") if name in resource}
        if resource["id"] in ("e5", "o2") or inner["resourceType"] == "Observation":
            kept.append(said | {"contained": [{"resourceType": "Device"}, inner]})
        else:
            kept.append(resource)
    fhir(folder, kept[::2])
    return fhir(folder, kept[1::2], zipped=True)


CELSIUS = 99.5 * FAHRENHEIT[0] + FAHRENHEIT[1]
