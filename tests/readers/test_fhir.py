"""FHIR exports, with what real ones contain, become the cohort that was worked out by hand."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from longsynth.reading.first_map import first_map
from longsynth.reading.importing import import_cohort
from longsynth.system.errors import Code, Refused
from readers.small_fhir import (
    ACT,
    LOINC,
    SNOMED,
    bundle,
    concept,
    contained,
    encounter,
    fhir,
    observation,
    quantity,
    resources,
    schema,
    stamp,
)
from readers.small_sources import PEOPLE, ROWS, imported, rows_of


def numbered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(int(row[0]), *row[1:]) for row in rows]


@pytest.mark.parametrize(
    "store",
    [fhir, lambda folder: fhir(folder, zipped=True), bundle, contained],
    ids=["lines", "gz", "bundle", "contained"],
)
def test_an_export_becomes_the_cohort_worked_out_by_hand(
    tmp_path: Path, store: Callable[[Path], Path]
) -> None:
    folder = imported("fhir", store(tmp_path / "in"), tmp_path, schema())
    assert numbered(rows_of(folder)) == ROWS
    assert numbered(rows_of(folder, "patients")) == PEOPLE


def test_what_was_left_out_and_why_is_counted_inside(tmp_path: Path) -> None:
    folder = imported("fhir", fhir(tmp_path / "in"), tmp_path, schema())
    counts = json.loads((folder / "internal/import.json").read_text())
    assert counts["older_versions_of_resources"] == {"Observation": 1}
    assert counts["events_entered_in_error_or_not_done"] == 2
    assert counts["events_without_a_value_for_a_stated_reason"] == 2
    assert counts["events_of_unknown_patients"] == 1
    assert counts["by_name"]["pulse"] == {
        "events": 5,
        "used": 2,
        "left_out": {"after_the_end": 1, "before_the_start": 1, "of_patients_without_a_start": 1},
    }
    assert counts["by_name"]["temperature"]["units_that_are_not_mapped"] == {"{x}": 1}


def test_a_version_that_was_entered_in_error_takes_the_earlier_ones_with_it(tmp_path: Path) -> None:
    last = observation("o2", "Patient/1", stamp(1, 1), "8867-4", status="entered-in-error")
    given = [*resources(), last | {"meta": {"lastUpdated": stamp(1, 9)}}]
    folder = imported("fhir", fhir(tmp_path / "in", given), tmp_path, schema())
    assert numbered(rows_of(folder)) == ROWS[1:]


def with_start(start: dict[str, Any], end: dict[str, Any] | None = None) -> dict[str, Any]:
    return schema() | {"source": {"start": start} | ({"end": end} if end else {})}


def stays() -> list[dict[str, Any]]:
    """Hours 10 to 20 of the admission are in intensive care."""
    whole = {"partOf": {"reference": "Encounter/e3"}}
    care = encounter("icu", "Patient/1", "IMP", stamp(1, 10), stamp(1, 20), **whole)
    pulses = [
        observation(f"p{h}", "Patient/1", stamp(1, h), "8867-4", valueQuantity=quantity(h, "/min"))
        for h in (9, 11, 19, 21)
    ]
    return [r for r in resources() if r["resourceType"] == "Patient"] + [
        next(r for r in resources() if r["id"] == "e3"),
        care,
        *pulses,
    ]


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ({"part_of": True}, None, [1.0, 9.0]),  # the stay within an admission
        ({"part_of": False}, None, [9.0, 11.0, 19.0, 21.0]),  # the admission
        ({"part_of": True}, {"hours": 12}, [1.0, 9.0, 11.0]),
        ({"codes": [f"{LOINC}|8867-4"], "resource": "Observation"}, None, [0.0, 2.0, 10.0, 12.0]),
        ({}, None, [0.0, 2.0, 10.0, 12.0]),  # the first event of the mapping
        ({"part_of": True}, {"column": "Patient.deceasedDateTime"}, [1.0, 9.0, 11.0]),
    ],
)
def test_a_record_starts_and_ends_where_the_mapping_says(
    tmp_path: Path, start: dict[str, Any], end: dict[str, Any] | None, hours: list[float]
) -> None:
    source = fhir(tmp_path / "in", stays())
    folder = imported("fhir", source, tmp_path, with_start(start, end))
    assert [row[1] for row in rows_of(folder)] == hours


def outcome(**source: Any) -> dict[str, Any]:
    label = {"levels": ["no", "yes"], "source": {"fact": "occurs"} | source}
    return schema() | {"event": label}


def condition(**more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Condition",
        "id": "c1",
        "code": concept((SNOMED, "91302008")),
        "subject": {"reference": "Patient/1"},
    } | more


MEDICINE = {"resourceType": "Medication", "id": "m1", "code": concept(("urn:atc", "N02BE01"))}
OF_ONE = {"id": "x1", "subject": {"reference": "Patient/1"}, "status": "completed"}
GIVEN = OF_ONE | {"resourceType": "MedicationAdministration", "effectiveDateTime": stamp(1, 5)}
ASKED = OF_ONE | {"resourceType": "MedicationRequest", "authoredOn": stamp(1, 5)}
ATC = {"codes": ["urn:atc|N02BE01"]}
SEPSIS = {"codes": [f"{SNOMED}|91302008"], "resource": "Condition"}
EXPIRED = "http://terminology.hl7.org/CodeSystem/discharge-disposition"
DISCHARGE = {"hospitalization": {"dischargeDisposition": concept((EXPIRED, "exp"))}}
OUTCOMES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "a condition": ([condition(onsetDateTime=stamp(1, 5, 2))], SEPSIS, "yes"),
    "one without a time, in an encounter": (
        [condition(encounter={"reference": "Encounter/e3"})],
        SEPSIS,
        "yes",
    ),
    "one that was refuted": (
        [condition(onsetDateTime=stamp(1, 5), verificationStatus=concept((None, "refuted")))],
        SEPSIS,
        "no",
    ),
    "one years after the end": ([condition(onsetDateTime=stamp(1, 9999))], SEPSIS, "no"),
    "one after the end, in a longer window": (
        [condition(onsetDateTime=stamp(1, 60))],
        SEPSIS | {"within": 72},
        "yes",
    ),
    "a year alone": ([condition(onsetDateTime="2021")], SEPSIS | {"within": 9999}, "yes"),
    "how an encounter ended": (
        [encounter("e9", "Patient/1", "OBSENC", stamp(1, 1), stamp(1, 4), **DISCHARGE)],
        {"codes": [f"{EXPIRED}|exp"], "resource": "Encounter"},
        "yes",
    ),
    "a procedure": (
        [
            OF_ONE
            | {
                "resourceType": "Procedure",
                "code": concept((SNOMED, "40617009")),
                "performedPeriod": {"start": stamp(1, 3)},
            }
        ],
        {"codes": [f"{SNOMED}|40617009"], "resource": "Procedure"},
        "yes",
    ),
    "a medication by its code": (
        [GIVEN | {"medicationCodeableConcept": MEDICINE["code"]}],
        ATC | {"resource": "MedicationAdministration"},
        "yes",
    ),
    "one by reference": (
        [MEDICINE, GIVEN | {"medicationReference": {"reference": "Medication/m1"}}],
        ATC | {"resource": "MedicationAdministration"},
        "yes",
    ),
    "one that is contained": (
        [ASKED | {"contained": [MEDICINE], "medicationReference": {"reference": "#m1"}}],
        ATC | {"resource": "MedicationRequest"},
        "yes",
    ),
    "one that was not given": (
        [GIVEN | {"medicationCodeableConcept": MEDICINE["code"], "status": "not-done"}],
        ATC | {"resource": "MedicationAdministration"},
        "no",
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_outcome_may_be_any_resource_in_the_record(tmp_path: Path, case: str) -> None:
    more, source, expected = OUTCOMES[case]
    folder = imported(
        "fhir", fhir(tmp_path / "in", resources() + more), tmp_path, outcome(**source)
    )
    assert [row[2] for row in rows_of(folder, "patients")] == [expected, "no", "no"]


@pytest.mark.parametrize(("censored", "value"), [("limit", 40), ("half", 20), ("missing", None)])
def test_a_censored_number_stands_for_its_limit_its_half_or_nothing(
    tmp_path: Path, censored: str, value: float | None
) -> None:
    below = observation(
        "b", "Patient/1", stamp(1, 9), "8867-4",
        valueQuantity=quantity(40, "/min", comparator="<"),
    )  # fmt: skip
    mapped = schema()
    mapped["variables"][0]["source"]["censored"] = censored
    rows = rows_of(imported("fhir", fhir(tmp_path / "in", [*resources(), below]), tmp_path, mapped))
    assert [row[2] for row in rows if row[1] == 9.0] == ([] if value is None else [value])


def mapped_by(codes: list[str]) -> dict[str, Any]:
    changed = schema()
    changed["variables"][0]["source"] = {"codes": codes}
    return changed


def without_systems() -> list[dict[str, Any]]:
    text = json.dumps(resources()).replace(f'"system": "{LOINC}"', '"system": null')
    given = json.loads(text.replace(f'"system": "{ACT}"', '"system": null'))
    for resource in given:
        for coding in resource.get("code", {}).get("coding", []):
            coding.pop("system", None)
    return list(given)


def truncated(folder: Path) -> None:
    file = folder / "Observation.ndjson"
    file.write_bytes(file.read_bytes()[:-40])


def truncated_zip(folder: Path) -> None:
    file = folder / "Observation.ndjson"
    (folder / "More.ndjson.gz").write_bytes(gzip.compress(file.read_bytes() * 99)[:-60])


def mixed(folder: Path) -> None:
    file = folder / "Observation.ndjson"
    file.write_bytes(file.read_bytes() + (folder / "Patient.ndjson").read_bytes())


def huge(folder: Path) -> None:
    large = observation("SECRET", "Patient/1", stamp(1, 1), "8867-4", note="SECRET" * 2_000_000)
    file = folder / "Observation.ndjson"
    file.write_text(file.read_text() + json.dumps(large) + "\n")


def no_patients(folder: Path) -> None:
    (folder / "Patient.ndjson").unlink()


def no_json(folder: Path) -> None:
    (folder / "Condition.ndjson").write_text("SECRET,1\n")


def broken_bundle(folder: Path) -> None:
    (folder / "more.json").write_text('{\n"resourceType": "Bundle", "entry": ["SECRET"]}')


DAMAGED: dict[str, tuple[Callable[[Path], None], Code, str]] = {
    "cut short": (truncated, Code.FILE_UNREADABLE, "Observation.ndjson"),
    "a zip that is cut short": (truncated_zip, Code.FILE_UNREADABLE, "More.ndjson.gz"),
    "another type": (mixed, Code.SOURCE_INCOMPLETE, "Observation"),
    "a resource of 12 MB": (huge, Code.TOO_LARGE, "Observation.ndjson"),
    "nobody": (no_patients, Code.SOURCE_INCOMPLETE, "Patient"),
    "no JSON": (no_json, Code.FILE_UNREADABLE, "Condition.ndjson"),
    "a bundle that is none": (broken_bundle, Code.FILE_UNREADABLE, "more.json"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_export_is_refused_and_nothing_is_written(tmp_path: Path, case: str) -> None:
    damage, code, named = DAMAGED[case]
    damage(fhir(tmp_path / "in"))
    with pytest.raises(Refused) as refused:
        imported("fhir", tmp_path / "in", tmp_path, schema())
    assert refused.value.code == code
    assert named in str(refused.value)
    assert "SECRET" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert not (tmp_path / "cohort0").exists()


MAPPINGS = {
    "codes without a system": (lambda: mapped_by(["8867-4"]), Code.MAPPING_UNUSABLE),
    "no codes": (lambda: mapped_by([]), Code.MAPPING_UNUSABLE),
    "a start without a system": (lambda: with_start({"codes": ["IMP"]}), Code.MAPPING_UNUSABLE),
    "a start for another format": (lambda: with_start({"visits": [9201]}), Code.MAPPING_UNUSABLE),
    "a start that is no time": (
        lambda: with_start({"column": "Patient.gender"}),
        Code.MAPPING_UNUSABLE,
    ),
}


@pytest.mark.parametrize("case", MAPPINGS)
def test_a_mapping_that_cannot_work_is_refused(tmp_path: Path, case: str) -> None:
    mapping, code = MAPPINGS[case]
    with pytest.raises(Refused) as refused:
        imported("fhir", fhir(tmp_path / "in"), tmp_path, mapping())
    assert refused.value.code == code


def test_an_export_whose_codes_have_no_system_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(json.dumps(with_start({})))
    with pytest.raises(Refused) as refused:
        import_cohort(
            "fhir", fhir(tmp_path / "in", without_systems()), tmp_path / "s.yaml", tmp_path / "out"
        )
    assert refused.value.code == Code.SOURCE_INCOMPLETE


@pytest.mark.parametrize("wrapped", [False, True], ids=["lines", "bundle"])
def test_contained_resources_share_the_time_and_the_fate_of_their_container(
    tmp_path: Path, *, wrapped: bool
) -> None:
    beats = observation("p", "#SECRET", "", "8867-4", valueQuantity=quantity(77, "/min"))
    del beats["effectiveDateTime"]
    stay = encounter("s", "", "AMB", stamp(1, 7), None)
    own = beats | {"id": "own", "encounter": {"reference": "#s"}}
    given = [
        observation("c1", "Patient/1", stamp(1, 6), "x", contained=[beats, {"x": 1}]),
        observation("c2", "Patient/1", stamp(1, 8), "x", status="cancelled", contained=[beats]),
        own | {"id": "c3", "subject": {"reference": "Patient/1"}, "contained": [stay, own]},
    ]
    store = bundle if wrapped else fhir
    rows = rows_of(
        imported("fhir", store(tmp_path / "in", resources() + given), tmp_path, schema())
    )
    found = [(row[1], row[2]) for row in rows if int(row[0]) == 1 and row[1] > 5]
    assert found == [(6.0, 77.0), (7.0, 77.0), (7.0, 77.0)]


def test_a_first_mapping_comes_from_codes_and_units_and_imports(tmp_path: Path) -> None:
    text = first_map(fhir(tmp_path / "in"), "three")
    assert {v["name"] for v in yaml.safe_load(text)["variables"]} == {
        "age",
        "heart_rate",
        "inspired_oxygen",
        "temperature",
    }
    assert "values in a unit that is not known will be left out" in text, "its text is not repeated"
    assert "{x}" not in text
    (tmp_path / "map.yaml").write_text(text)
    done = import_cohort("fhir", tmp_path / "in", tmp_path / "map.yaml", tmp_path / "out")
    assert done.patients == 3
    assert rows_of(tmp_path / "out")[0][1:4] == (0.0, 90.0, None)


def test_medications_are_codes_given_in_slots(tmp_path: Path) -> None:
    """Also by reference; a code that is in no public list is left out."""
    other = concept(("urn:atc", "A10BA02"))
    given = [
        MEDICINE,
        GIVEN | {"medicationReference": {"reference": "Medication/m1"}},
        GIVEN | {"id": "x2", "medicationCodeableConcept": other},
        GIVEN | {"id": "x3", "medicationCodeableConcept": concept(("urn:atc", "SECRET"))},
    ]
    codes = {"name": "drugs", "levels": ["urn:atc|A10BA02", "urn:atc|N02BE01"]}
    codes |= {"cap": 2, "source": {"resource": "MedicationAdministration"}}
    source = fhir(tmp_path / "in", resources() + given)
    folder = imported("fhir", source, tmp_path, schema() | {"codes": [codes]})
    drugs = [row[-1] for row in rows_of(folder) if row[-1] is not None]
    assert sorted(drugs) == ["urn:atc|A10BA02", "urn:atc|N02BE01"]
