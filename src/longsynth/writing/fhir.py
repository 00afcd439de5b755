"""FHIR R4 as ndjson: Patient, Encounter, Observation, and one Provenance that names the release.

All resources are marked as test data. Dates are invented: every record starts at midnight (UTC) of
one public day. schema.yaml says how `longsynth import fhir` reads it back. A slot without
observations leaves no trace.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from longsynth.schema.columns import LABELS
from longsynth.schema.file import dump
from longsynth.schema.mapping import Dataset, Moment, Source
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.units import ucum
from longsynth.system.origin import VERSION
from longsynth.writing import Writer
from longsynth.writing.clinical import BORN_UNKNOWN, FEMALE, MALE, Clinical, start_of
from longsynth.writing.files import csv_rows

LOINC, OWN = "http://loinc.org", "urn:longsynth:variable"
LABEL, LEVEL = "urn:longsynth:label", "urn:longsynth:level"
ACT = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
TEST = {
    "security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}]
}
GENDER = {MALE: "male", FEMALE: "female", 0: "unknown"}
UNKNOWN = np.datetime64(f"{BORN_UNKNOWN}-01-01", "D")
FILES = ("Patient", "Encounter", "Observation", "Provenance")
Resource = dict[str, Any]


def fhir_schema(schema: Schema) -> Schema:
    """The canonical schema, with where each variable and label is found in the resources."""
    canonical, variables = schema.canonical(), []
    for variable in canonical.variables:
        values = {f"{LEVEL}|{level}": level for level in variable.levels or ()}
        source = Source(codes=(f"{OWN}|{variable.name}",), values=values)
        variables.append(variable.model_copy(update={"source": source}))
    lists = []
    for listed in canonical.codes:
        values = {f"{LEVEL}|{code}": code for code in listed.levels}
        source = Source(codes=(f"{OWN}|{listed.name}",), values=values)
        lists.append(listed.model_copy(update={"source": source}))
    labels = {
        what: label.model_copy(
            update={
                "source": Source(
                    codes=(f"{LABEL}|{what}",),
                    values={f"{LEVEL}|{level}": level for level in label.levels},
                )
            }
        )
        for what in LABELS
        if (label := getattr(canonical, what)) is not None
    }
    layout = Dataset(start=Moment(codes=(f"{ACT}|IMP",)))
    changed = {"variables": tuple(variables), "codes": tuple(lists), "source": layout}
    return canonical.model_copy(update=changed | labels)


def _write(start: date, folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    clinical, first, fingerprint = Clinical(schema, start), 1, ""
    with ExitStack() as files:
        opened = {
            kind: files.enter_context((folder / f"{kind}.ndjson").open("w", encoding="utf-8"))
            for kind in FILES
        }
        for chunk in chunks:
            for resource in _resources(clinical, chunk, first):
                text = json.dumps(resource, ensure_ascii=False)
                opened[resource["resourceType"]].write(text + "\n")
            first += chunk.patients
            fingerprint = getattr(chunk, "fingerprint", "")
        opened["Provenance"].write(json.dumps(_provenance(start, fingerprint)) + "\n")
    (folder / "schema.yaml").write_text(dump(fhir_schema(schema)), encoding="utf-8")


def _resources(clinical: Clinical, chunk: Trajectories, first: int) -> Iterator[Resource]:
    ids = [f"p{count}" for count in range(first, first + chunk.patients)]
    last, sex = clinical.last_second(chunk), clinical.sex(chunk)
    births = clinical.birth(chunk).astype("datetime64[D]")
    for i, patient in enumerate(ids):
        died = clinical.deadly and chunk.event[i] > 0
        yield {
            "resourceType": "Patient",
            "id": patient,
            "meta": TEST,
            "gender": GENDER[int(sex[i])],
            **({"birthDate": str(births[i])} if births[i] > UNKNOWN else {}),
            **({"deceasedDateTime": _at(clinical, last[i])} if died else {}),
        }
        period = {"start": _at(clinical, 0), "end": _at(clinical, last[i])}
        yield {
            "resourceType": "Encounter",
            "id": f"e{patient[1:]}",
            "meta": TEST,
            "status": "finished",
            "class": {"system": ACT, "code": "IMP"},
            "subject": {"reference": f"Patient/{patient}"},
            "period": period,
        }
    for v, events in enumerate(clinical.events(chunk)):
        match = events.known
        codes = [{"system": LOINC, "code": match.loinc[0]}] if match and match.loinc else []
        codes.append({"system": OWN, "code": events.name})
        levels: list[Any] = events.level or [None] * len(events.value)
        entries = zip(events.patient, events.second, events.value, levels, strict=True)
        for n, (who, second, measure, level) in enumerate(entries):
            key, at = f"v{v}-{first}-{n}", int(second)
            measured = _value(events.unit, measure, level)
            yield _observation(clinical, key, ids[who], at, codes, measured)
    canonical = clinical.schema.canonical()
    for what in LABELS:
        if (label := getattr(canonical, what)) is not None:
            for i, code in enumerate(getattr(chunk, what)):
                value = {"valueCodeableConcept": _level(label.levels[code])}
                codes = [{"system": LABEL, "code": what}]
                yield _observation(clinical, f"{what}-{ids[i]}", ids[i], 0, codes, value)


def _observation(
    clinical: Clinical,
    key: str,
    patient: str,
    second: int,
    codes: list[dict[str, str]],
    value: Resource,
) -> Resource:
    return {
        "resourceType": "Observation",
        "id": key,
        "meta": TEST,
        "status": "final",
        "code": {"coding": codes},
        "subject": {"reference": f"Patient/{patient}"},
        "encounter": {"reference": f"Encounter/e{patient[1:]}"},
        "effectiveDateTime": _at(clinical, second),
        **value,
    }


def _value(unit: str, value: float, level: str | None) -> Resource:
    if level is not None:
        return {"valueCodeableConcept": _level(level)}
    named = {"unit": unit} if unit else {}
    code = {"system": "http://unitsofmeasure.org", "code": ucum(unit)}
    return {"valueQuantity": {"value": float(value), **named, **code}}


def _level(level: str) -> Resource:
    return {"coding": [{"system": LEVEL, "code": level}]}


def _at(clinical: Clinical, second: int) -> str:
    start = datetime.combine(clinical.start, datetime.min.time(), UTC)
    return (start + timedelta(seconds=int(second))).isoformat()


def _provenance(start: date, fingerprint: str) -> Resource:
    """Where everything here comes from. Its date is the invented one of the records."""
    return {
        "resourceType": "Provenance",
        "id": "release",
        "meta": TEST,
        "target": [{"display": "all resources of this folder"}],
        "recorded": f"{start}T00:00:00Z",
        "agent": [{"who": {"display": f"longsynth {VERSION}"}}],
        "entity": [
            {
                "role": "source",
                "what": {
                    "identifier": {
                        "system": "urn:longsynth:release",
                        "value": fingerprint or "unknown",
                    },
                    "display": "a differentially private release",
                },
            }
        ],
    }


def fhir(start_date: str) -> Writer:
    return Writer(
        partial(_write, start_of(start_date)),
        people_files=lambda _: ["Patient.ndjson"],
        other_files=lambda _: [f"{kind}.ndjson" for kind in FILES if kind != "Patient"],
        rows=lambda path: csv_rows(path) + 1,
    )
