"""Codes from public lists are read, written and imported as the same codes in the same slots."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from code_cohorts import LISTS, code_cohort, code_schema
from longsynth import Schema
from longsynth.reading.cohort_folder import CohortFolder, read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.reading.records import Cohort
from longsynth.schema.file import dump, parse_text
from longsynth.schema.recipe import Recipe
from longsynth.schema.record import given_codes, unpacked_codes
from longsynth.writing import FORMATS


def seen(cohort: Cohort, schema: Schema) -> np.ndarray:
    return unpacked_codes(cohort.codes, len(schema.code_names))


def full_cohort(schema: Schema) -> Cohort:
    """Every slot has an observation, so that no format loses one."""
    cohort = code_cohort(40, schema, seed=3)
    cohort.observed[:] = True
    cohort.values[:] = np.clip(cohort.values, 20, 200)
    cohort.values[:, :, 1:] = 1
    return cohort


@pytest.mark.parametrize("form", ["cohort", "events", "meds", "parquet", "csv"])
def test_codes_come_back_from_every_format(form: str, tmp_path: Path) -> None:
    schema = code_schema()
    cohort, out = full_cohort(schema), tmp_path / "out"
    out.mkdir()
    FORMATS[form].load().write(out, schema, [cohort])
    if form in ("events", "meds", "csv"):
        name = "events" if form == "csv" else form
        import_cohort(name, str(out), out / "schema.yaml", tmp_path / "back")
        out = tmp_path / "back"
    _, back = read_cohort(out)
    if form == "csv":  # where ids are text, which has another order
        cohort = cohort.take(np.array(sorted(range(cohort.patients), key=lambda i: str(i + 1))))
    used = np.arange(schema.slots) < cohort.length[:, None]
    assert (back.length == cohort.length).all()
    assert (seen(back, schema) == seen(cohort, schema)).all()
    assert (back.observed == used[:, :, None]).all(), "rows for codes add no values"


def table(folder: Path, rows: dict[str, list[object]], people: dict[str, list[object]]) -> Path:
    folder.mkdir()
    for name, columns in (("observations", rows), ("patients", people)):
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    (folder / "schema.yaml").write_text(dump(code_schema(site=None)), encoding="utf-8")
    return folder


def test_a_slot_has_all_codes_of_its_rows_and_ignores_the_rest(tmp_path: Path) -> None:
    nothing: list[object] = [None] * 6
    rows: dict[str, list[object]] = {
        "patient_id": [1, 1, 1, 1, 2, 9],
        "time": [0.0, 0.0, 0.0, 4.0, float("nan"), 0.0],
        **{v.name: nothing for v in code_schema().variables},
        "drugs": ["aspirin", "7", "aspirin", "not in the list", "heparin", "heparin"],
        "procedures": ["P1", None, None, "P8", "P1", "P1"],
    }
    people: dict[str, list[object]] = {"patient_id": [1, 2], "group": [0, 0], "event": [0, 1]}
    folder = table(tmp_path / "cohort", rows, people)
    _, cohort = read_cohort(folder)
    patient, slot, code = given_codes(cohort.codes)
    assert list(zip(patient, slot, code, strict=True)) == [
        (0, 0, 0),
        (0, 0, 2),
        (0, 0, 6),
        (0, 1, 13),
    ]
    with CohortFolder(folder) as opened:
        assert opened.repairs()["cells_not_a_finite_number"]["drugs"] == 1


def test_a_dose_beside_a_code_is_not_taken_for_a_code(tmp_path: Path) -> None:
    schema, source = code_schema(site=None), tmp_path / "source"
    source.mkdir()
    events = {
        "patient_id": [1, 1, 1],
        "time": [0.0, 1.0, 2.0],
        "variable": ["aspirin", "7", "pulse"],
        "value": ["7", "100", "80"],
    }
    pq.write_table(pa.table(events), source / "events.parquet")
    people = pa.table({"patient_id": [1], "group": [0], "event": [0]})
    pq.write_table(people, source / "patients.parquet")
    (tmp_path / "schema.yaml").write_text(dump(schema), encoding="utf-8")
    import_cohort("events", str(source), tmp_path / "schema.yaml", tmp_path / "back")
    _, cohort = read_cohort(tmp_path / "back")
    assert [int(c) for c in given_codes(cohort.codes)[2]] == [0, 2]


def test_a_schema_with_codes_comes_back_from_its_file() -> None:
    schema = code_schema()
    assert parse_text(dump(schema), "s.yaml") == schema
    assert "codes" not in dump(Schema.model_validate(schema.model_dump() | {"codes": []}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"cap": 6},
        {"cap": 0},
        {"levels": ["a", "a"]},
        {"levels": ["drugs", "b"]},
        {"name": "time"},
        {"name": "pulse"},
        {"meanings": {"other": "not listed"}},
        {"levels": [f"c{i}" for i in range(501)]},
    ],
)
def test_a_list_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    names = [v.name for v in code_schema().variables]
    wrong = {"name": names[0]} if wrong == {"name": "pulse"} else wrong
    listed = LISTS[0] | wrong
    if "levels" in wrong and len(wrong["levels"]) < 5:  # type: ignore[arg-type]
        listed |= {"cap": 1}
    with pytest.raises(ValueError):
        code_schema(codes=[listed])


def test_a_recipe_refuses_codes_that_it_cannot_fill() -> None:
    tables = [{"files": "visits.csv", "columns": {"pid": {"use": "id"}}}]
    recipe = {"longsynth_recipe": 1, "record": code_schema().model_dump(), "tables": tables}
    with pytest.raises(ValueError, match="cannot fill codes"):
        Recipe.model_validate(recipe)
