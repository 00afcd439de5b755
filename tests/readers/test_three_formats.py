"""The same three patients in every format give the same cohort, the one worked out by hand."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from longsynth.reading.cohort_folder import read_cohort
from readers.small_sources import (
    PEOPLE,
    ROWS,
    SCHEMA,
    hashed,
    imported,
    meds,
    omop,
    omop_duckdb,
    omop_tables,
    renumbered,
    rows_of,
)


def test_a_meds_dataset_becomes_the_cohort_worked_out_by_hand(tmp_path: Path) -> None:
    folder = imported("meds", meds(tmp_path / "meds"), tmp_path)
    assert rows_of(folder) == ROWS
    assert rows_of(folder, "patients") == PEOPLE


def test_omop_tables_become_the_same_cohort(tmp_path: Path) -> None:
    folder = imported("omop", omop(tmp_path / "omop"), tmp_path)
    assert renumbered(rows_of(folder)) == ROWS
    assert renumbered(rows_of(folder, "patients")) == PEOPLE


def test_a_duckdb_file_gives_the_bytes_that_parquet_gives(tmp_path: Path) -> None:
    one = imported("omop", omop(tmp_path / "omop"), tmp_path)
    other = imported("omop", omop_duckdb(tmp_path / "db" / "omop.duckdb"), tmp_path)
    for name in ("patients.parquet", "observations.parquet", "schema.yaml", "internal/import.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_dates_stored_as_text_are_read(tmp_path: Path) -> None:
    tables = omop_tables()
    for name, table in tables.items():
        for i, field in enumerate(table.schema):
            if pa.types.is_temporal(field.type):
                text = [None if v is None else str(v) for v in table.column(i).to_pylist()]
                table = table.set_column(i, field.name, pa.array(text, pa.string()))
        tables[name] = table
    nobody_knows = {"person_id": [hashed(2)], "death_date": ["soon"], "death_datetime": [""]}
    tables["death"] = pa.concat_tables([tables["death"], pa.table(nobody_knows)])
    folder = imported("omop", omop(tmp_path / "omop", tables), tmp_path)
    assert renumbered(rows_of(folder)) == ROWS
    assert renumbered(rows_of(folder, "patients")) == PEOPLE


def test_the_folder_is_one_that_fit_reads(tmp_path: Path) -> None:
    schema, cohort = read_cohort(imported("meds", meds(tmp_path / "meds"), tmp_path))
    assert schema.slot_rule.anchors == ("pulse",), "slots are made by fit, so the rule is kept"
    assert cohort.patients == 3
    assert cohort.length.tolist() == [1, 1, 0]
    assert cohort.event.tolist() == [1, 0, 0]
    assert cohort.site.tolist() == [0, 1, 0], "an unknown site is the first"


def test_the_written_schema_holds_no_mapping(tmp_path: Path) -> None:
    text = (imported("meds", meds(tmp_path / "meds"), tmp_path) / "schema.yaml").read_text()
    assert "source" not in text
    assert "HR" not in text


def test_what_could_not_be_mapped_is_counted_inside(tmp_path: Path) -> None:
    folder = imported("meds", meds(tmp_path / "meds"), tmp_path)
    counts = json.loads((folder / "internal/import.json").read_text())
    assert counts["events"] == 21
    assert counts["events_without_usable_time"] == 3
    assert counts["patients_without_a_start"] == 1
    assert counts["by_name"]["pulse"] == {
        "events": 6,
        "used": 2,
        "left_out": {
            "after_the_end": 1,
            "before_the_start": 1,
            "of_patients_without_a_start": 1,
            "without_a_usable_value": 1,
        },
    }
    assert counts["by_name"]["temperature"]["units_that_are_not_mapped"] == {"K": 1}
    assert counts["patients_without"] == {"age": 1, "group": 0, "event": 0, "site": 1}
    assert (folder / "internal").stat().st_mode & 0o077 == 0, "for the owner alone"
    assert (folder / "observations.parquet").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["id", "target", "number", "level", "hours", "clock", "stop"])
def test_a_variable_may_have_any_name(tmp_path: Path, name: str) -> None:
    renamed = [dict(SCHEMA["variables"][0], name=name), *SCHEMA["variables"][1:]]
    schema = SCHEMA | {"variables": renamed, "slot_rule": {}}
    assert rows_of(imported("meds", meds(tmp_path / "meds"), tmp_path, schema)) == ROWS
