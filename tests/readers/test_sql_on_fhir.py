"""The view on the page for FHIR people, run by a tool of somebody else, gives `import events` the
values that `import fhir` reads itself."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from longsynth.reading.importing import import_cohort
from readers.small_fhir import LOINC, encounter, fhir, observation, quantity, stamp
from readers.small_sources import rows_of

PAGE = Path(__file__).parents[2] / "docs/fhir.md"
CODES = {"heart_rate": ("bpm", "8867-4"), "temperature": ("°C", "8310-5")}


def view() -> dict[str, Any]:
    section = PAGE.read_text("utf-8").partition("## SQL on FHIR")[2]
    found = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def resources() -> list[dict[str, Any]]:
    hot = quantity(99.5, "[degF]")
    wrong = {"status": "entered-in-error", "valueQuantity": quantity(300, "/min")}
    return [
        {"resourceType": "Patient", "id": "1", "gender": "female"},
        {"resourceType": "Patient", "id": "2", "gender": "male"},
        encounter("e", "Patient/1", "IMP", stamp(1, 0), stamp(1, 9)),
        observation("a", "Patient/1", stamp(1, 0, 1), "8867-4", valueQuantity=quantity(80, "/min")),
        observation("b", "Patient/1", stamp(1, 2, 2), "8310-5", valueQuantity=hot),
        observation("c", "Patient/1", stamp(1, 3), "8867-4", **wrong),
        observation("d", "Patient/2", stamp(2, 1, 1), "85354-9"),
        observation("e", "Patient/2", stamp(2, 4, 2), "8310-5", valueQuantity=quantity(38, "Cel")),
    ]  # fmt: skip


def schema(system: str, **more: Any) -> dict[str, Any]:
    facts = {"kind": "continuous", "bounds": [0, 300], "bounds_from": "a book"}
    source = {} if system else {"convert": True}
    return {
        "longsynth": 1,
        "name": "view",
        "slots": 4,
        "max_gap": 48,
        "group": None,
        "event": None,
        "variables": [
            facts | {"name": n, "unit": unit, "source": {"codes": [system + code]} | source}
            for n, (unit, code) in CODES.items()
        ],
    } | more


def values(folder: Path) -> list[tuple[str, int, float]]:
    """Patient, place of the variable, value."""
    cells = [(str(row[0]), at, x) for row in rows_of(folder) for at, x in enumerate(row[2:])]
    return sorted((who, at, round(x, 9)) for who, at, x in cells if x is not None)


def test_a_view_gives_the_same_values_as_the_export(tmp_path: Path) -> None:
    tool = pytest.importorskip("sqlonfhir", reason="needs sqlonfhir 0.0.2")
    given = resources()
    tables = tmp_path / "tables"
    tables.mkdir()
    rows = tool.evaluate([r for r in given if r["resourceType"] == "Observation"], view())
    with (tables / "events.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["patient_id", "time", "variable", "value", "unit"])
        writer.writeheader()
        writer.writerows(rows)
    (tables / "patients.csv").write_text("patient_id,gender\n1,female\n2,male\n")
    mapping = schema("", time={"unit": "timestamp"}, source={"unit": "unit"})
    (tmp_path / "view.yaml").write_text(json.dumps(mapping))
    (tmp_path / "fhir.yaml").write_text(json.dumps(schema(f"{LOINC}|")))
    import_cohort("events", tables, tmp_path / "view.yaml", tmp_path / "by view")
    fhir(tmp_path / "export", given)
    import_cohort("fhir", tmp_path / "export", tmp_path / "fhir.yaml", tmp_path / "by us")
    assert values(tmp_path / "by view") == values(tmp_path / "by us")
    assert len(values(tmp_path / "by view")) == 3
