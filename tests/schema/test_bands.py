"""Bands: a group that is a public function of a number, such as age bands."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pydantic import ValidationError

import longsynth
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.importing import import_cohort
from longsynth.schema.file import dump, parse_text
from longsynth.schema.schema import Schema
from longsynth.writing import output_format

AGES = [17.0, 44.999, 45.0, 59.0, 60.0, 81.0, None, float("nan"), float("inf")]
BANDS = [0, 0, 1, 1, 2, 2, 0, 0, 0]  # what is no number counts as the first level
AGE = {"name": "age", "kind": "continuous", "static": True, "bounds": [0, 120], "bounds_from": "x"}
PULSE = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
BAND = {"name": "age_band", "column": "age", "bands": [45, 60]}


def banded(*groups: dict[str, Any], age: bool = True, **changes: object) -> Schema:
    variables = [PULSE, AGE] if age else [PULSE]
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "clinic",
            "slots": 2,
            "max_gap": 48,
            "groups": list(groups or [BAND]),
            "outcomes": [],
            "variables": variables,
        }
        | changes
    )


def tables(ages: list[float | None] = AGES) -> tuple[pa.Table, pa.Table]:
    number = len(ages)
    people = {"patient_id": range(number), "age": pa.array(ages, pa.float64())}
    rows = {"patient_id": range(number), "time": [0.0] * number, "pulse": [80.0] * number}
    return pa.table(rows), pa.table(people)


def test_bands_are_named_by_default() -> None:
    assert banded().levels("group") == ("under 45", "45 to under 60", "60 and over")
    assert banded(BAND | {"bands": [65]}).levels("group") == ("under 65", "65 and over")


@pytest.mark.parametrize(
    ("band", "remedy"),
    [
        ({"bands": [60, 45]}, "rise"),
        ({"bands": [45, 60], "levels": ["young", "old"]}, "2 cut points make 3 levels"),
        ({"bands": ["old"], "levels": ["a", "b"]}, "number"),
        ({"bands": [45, 130]}, "outside the bounds"),
    ],
)
def test_bands_that_cannot_be_are_refused(band: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValidationError) as caught:
        banded(BAND | band)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("age", [True, False], ids=["age is a variable too", "only the band"])
def test_frames_are_read_in_bands(age: bool) -> None:
    assert longsynth.read_frames(banded(age=age), *tables()).group.tolist() == BANDS


def test_a_second_group_has_bands_too_and_no_number_is_missing() -> None:
    schema = banded({"name": "sex", "column": "age", "bands": [50]}, BAND)
    cohort = longsynth.read_frames(schema, *tables())
    place = [v.name for v in schema.variables].index("age_band")
    known = cohort.observed[:, 0, place]
    assert known.tolist() == [True] * 6 + [False] * 3
    assert cohort.values[known, 0, place].tolist() == BANDS[:6]


@pytest.mark.parametrize("age", [True, False], ids=["age is a variable too", "only the band"])
def test_tidy_tables_are_imported_in_bands(tmp_path: Path, age: bool) -> None:
    schema = banded(age=age)
    for name, table in zip(("observations", "patients"), tables(), strict=True):
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "schema.yaml").write_text(dump(schema))
    import_cohort("events", tmp_path, tmp_path / "schema.yaml", tmp_path / "out")
    back, cohort = longsynth.read_cohort(tmp_path / "out")
    assert cohort.group.tolist() == BANDS and back.rules == schema.rules


RECIPE = """
longsynth_recipe: 1
record:
  name: clinic
  slots: 2
  max_gap: 48
  time: {unit: timestamp}
  outcomes: []
  groups: [{name: age_band, column: age, bands: [45, 60]}]
  variables:
    - {name: pulse, kind: continuous, bounds: [20, 220], bounds_from: a monitor}
    - {name: age, kind: continuous, static: true, bounds: [0, 120], bounds_from: x, resolution: 1}
tables:
  - files: visits.csv
    columns:
      Id: {use: id}
      Day: {use: time, format: "%Y-%m-%d"}
      Pulse: {use: variable, variable: pulse}
      Age: {use: static, variable: age}
"""


def test_a_recipe_needs_no_column_for_bands(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    rows = [f"{i},2024-01-01,80,{age}" for i, age in enumerate((17, 45, 60, ""))]
    (tmp_path / "visits.csv").write_text("\n".join(["Id,Day,Pulse,Age", *rows]) + "\n")
    files = [tmp_path / "visits.csv"]
    import_cohort("table", files, tmp_path / "recipe.yaml", tmp_path / "out")
    assert longsynth.read_cohort(tmp_path / "out")[1].group.tolist() == [0, 1, 2, 0]


def test_the_file_of_a_schema_with_bands_says_the_same() -> None:
    schema = banded({"name": "sex", "levels": ["m", "f"]}, BAND)
    assert parse_text(dump(schema), "here") == schema
    assert parse_text(dump(schema.canonical()), "here").rules == (
        "age_band != under 45 if age >= 45",
        "age_band != 45 to under 60 if age < 45",
        "age_band != 45 to under 60 if age >= 60",
        "age_band != 60 and over if age < 60",
    )
    assert banded().canonical().rules[0] == "age < 45 if age_band = 0"


@pytest.mark.parametrize("name", METHODS)
def test_the_age_of_a_synthetic_patient_is_in_its_band(tmp_path: Path, name: str) -> None:
    ages = np.random.default_rng(1).normal(55, 15, 300).clip(18, 95).tolist()
    schema = banded(BAND, {"name": "senior", "column": "age", "bands": [75]})
    cohort = longsynth.read_frames(schema, *tables(ages))
    if isinstance(METHODS[name], PrivateMethod):
        plan = longsynth.plan(schema, 300, epsilon=1, delta=1e-5, method=name)
        bundle = longsynth.fit(cohort, plan)
    else:
        bundle = longsynth.fit_without_privacy(cohort, schema, name)
    made = longsynth.sample(longsynth.model_of(bundle), 400, seed=1)
    output_format("parquet").load().write(tmp_path, schema, [made])
    people = parquet.read_table(tmp_path / "patients.parquet").to_pylist()
    known = [p for p in people if p["age"] is not None]
    levels = schema.levels("group")
    assert known and len({p["age_band"] for p in known}) > 1
    for p in known:
        assert p["age_band"] == levels[int(np.searchsorted([45, 60], p["age"], side="right"))]
        senior = "75 and over" if p["age"] >= 75 else "under 75"
        assert p["senior"] in (senior, None)
    back = longsynth.read_cohort(tmp_path)[1]
    assert (back.group == made.group).all()
