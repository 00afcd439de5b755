"""Malformed FHIR exports: damaged files, resources of odd shape, and odd cells of one patient."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.random import Generator

from fuzz.mutation import mutated, one_of
from fuzz.trees import altered
from leaks.sentinels import MARK
from readers.small_fhir import ACT, LOINC, bundle, contained, fhir, resources, schema

STORES: tuple[Callable[[Path], Path], ...] = (
    fhir,
    lambda folder: fhir(folder, zipped=True),
    bundle,
    contained,
)
LAYOUTS: tuple[dict[str, Any], ...] = (
    {},
    {"start": {"codes": [f"{ACT}|IMP"], "min_hours": 1}, "end": {"hours": 10}},
    {"start": {"codes": [f"{ACT}|IMP"], "part_of": False}},
    {"start": {"codes": [f"{LOINC}|8310-5"], "resource": "Observation"}},
    {"start": {"column": "Patient.birthDate"}, "end": {"column": "Patient.deceasedDateTime"}},
)
TEXTS = (
    *(MARK, "", " ", "#", "#a", "|", "x" * 5000, "\x00", "é", "nan", "1e999", "-1", "7", "a\nb"),
    *("2020", "2020-13", "2020-01-01T25:00:00Z", "9999-12-31", "-4713-01-01", "294277-01-01"),
    *("2020-01-01T00:00:00+99:00", "infinity", "Patient/1", "entered-in-error", "/min", "[degF]"),
)
NUMBERS = (None, 0, -1, 1e308, -1e308, 5e-324, 10**30, 2**63, True, "80", MARK)
# In their place, odd cells cost nobody but their own patient anything.
CELLS = {"effectiveDateTime", "start", "end", "birthDate", "gender", "deceasedDateTime", "status"}
CELLS |= {"value", "unit", "code", "system", "comparator", "versionId", "lastUpdated", "display"}


def mapping(rng: Generator) -> dict[str, Any]:
    return schema() | {"source": one_of(rng, LAYOUTS)}


def any_fhir(folder: Path, rng: Generator) -> None:
    if rng.random() < 0.4:
        shaped = [altered(r, rng) if rng.random() < 0.2 else r for r in resources()]
        whole = [
            r for r in shaped if isinstance(r, dict) and isinstance(r.get("resourceType"), str)
        ]
        names = {r["resourceType"] for r in resources()}
        fhir(folder, [r for r in whole if r["resourceType"] in names])
        return
    one_of(rng, STORES)(folder)
    file = one_of(rng, sorted(folder.iterdir()))
    content = file.read_bytes()
    if file.suffix == ".gz" and rng.random() < 0.5:
        file.write_bytes(gzip.compress(mutated(gzip.decompress(content), rng)))
    else:
        file.write_bytes(mutated(content, rng))


def odd_patient(folder: Path, rng: Generator) -> None:
    """Odd texts and numbers in the resources of patient 1."""
    given = []
    for resource in resources():
        reference = resource.get("subject", {}).get("reference", f"/{resource['id']}")
        mine = reference.removesuffix("/_history/3").split("/")[-1] == "1"
        given.append(_odd(resource, rng) if mine else resource)
    fhir(folder, json.loads(json.dumps(given)))


def _odd(node: Any, rng: Generator, name: str = "") -> Any:
    if isinstance(node, dict):
        return {key: _odd(child, rng, key) for key, child in node.items()}
    if isinstance(node, list):
        return [_odd(child, rng, name) for child in node]
    if name in CELLS and rng.random() < 0.3:
        return one_of(rng, TEXTS if isinstance(node, str) else NUMBERS)
    return node
