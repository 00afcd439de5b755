"""The catalogue is sound, a first schema comes from names alone, and a check never quotes data."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from longsynth.commands.app import app
from longsynth.schema.catalogue import catalogue, known
from longsynth.schema.file import parse_text
from longsynth.schema.from_names import Columns, read_columns, remarks, starting_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError

SENTINEL = 77.31337


def cohort(folder: Path, kind: str = "parquet") -> Path:
    folder.mkdir()
    tables = {
        "observations": {"patient_id": [1], "time": [0.5], "HR": [SENTINEL], "humour": [3]},
        "patients": {"patient_id": [1], "group": [0], "outcome": [1], "age": [SENTINEL]},
    }
    for name, columns in tables.items():
        if kind == "parquet":
            pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        else:
            rows = [",".join(columns), ",".join(str(c[0]) for c in columns.values())]
            (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_every_entry_is_a_variable_with_bounds_and_their_source() -> None:
    entries = catalogue()
    assert len(entries) >= 60
    assert len({e.variable.name for e in entries}) == len(entries)
    for entry in entries:
        v = entry.variable
        assert v.kind in ("binary", "nominal") or v.bounds_from
        assert v.kind != "continuous" or (v.centre is not None and v.scale is not None)
    codes = [c for e in entries for c in e.loinc] + [e.omop for e in entries if e.omop]
    assert len(set(codes)) == len(codes) > 160


@pytest.mark.parametrize("column", ["HR", "Heart Rate", "heart_rate", "hr"])
def test_a_column_is_known_by_any_of_its_names(column: str) -> None:
    found = known(column)
    assert found is not None
    assert found.variable.name == "heart_rate"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_first_schema_reads_names_and_no_row(tmp_path: Path, kind: str) -> None:
    folder = cohort(tmp_path / "cohort", kind)
    text = starting_schema("mine", read_columns(folder))
    schema = parse_text(text, "schema.yaml")
    assert [v.name for v in schema.variables] == ["heart_rate", "age"]
    assert [v.static for v in schema.variables] == [False, True]
    assert (schema.event.column, schema.patient.column) == ("outcome", "patient_id")
    assert "humour is not in the catalogue" in text
    assert str(SENTINEL) not in text


def test_names_alone_tell_what_is_known_once_a_patient() -> None:
    names = ("patient_id", "time", "HR", "age", "sex", "humour")
    schema = parse_text(starting_schema("mine", Columns(names, names)), "schema.yaml")
    assert {v.name: v.static for v in schema.variables} == {"heart_rate": False, "age": True}
    assert schema.group.column == "sex"


def test_the_names_that_hospitals_use_are_known() -> None:
    names = ("MRN", "Visit date", "DOB", "Sex", "BP", "Pulse", "Gewicht", "Died")
    text = starting_schema("mine", Columns(names, names))
    schema = parse_text(text, "schema.yaml")
    assert schema.patient.column == "MRN"
    assert (schema.time.column, schema.time.unit) == ("Visit date", "timestamp")
    assert (schema.group.column, schema.event.column) == ("Sex", "Died")
    assert [v.name for v in schema.variables] == ["heart_rate", "body_weight"]
    for name in ("DOB", "BP"):
        assert f"FILL IN, or leave out: {name}" in text


def test_sex_is_a_variable_where_another_column_is_the_group() -> None:
    names = ("patient_id", "time", "group", "sex", "HR", "event")
    schema = parse_text(starting_schema("mine", Columns(names, names)), "schema.yaml")
    assert schema.group.column == "group"
    assert {v.name for v in schema.variables} == {"heart_rate", "sex"}


def test_a_long_table_of_events_has_no_columns_to_start_from(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(f"patient_id,time,variable,value\n1,0,HR,{SENTINEL}\n")
    (tmp_path / "patients.csv").write_text("patient_id,group,event\n1,0,0\n")
    with pytest.raises(CohortError) as refused:
        read_columns(tmp_path)
    assert refused.value.code == Code.COLUMNS_UNKNOWN
    assert "--" not in str(refused.value), "the library knows no options"


def test_a_check_counts_the_marks_that_are_left(tmp_path: Path) -> None:
    file = tmp_path / "schema.yaml"
    file.write_text(starting_schema("mine", Columns(("HR",), ("outcome",))))
    said = CliRunner().invoke(app, ["schema", "check", str(file)])
    assert "8 lines are still marked" in said.output
    assert "The schema is not finished" in said.output
    assert f"then longsynth schema check {file}" in said.output
    file.write_text("\n".join(line.partition("# ")[0] for line in file.read_text().splitlines()))
    assert "Nothing looks wrong" in CliRunner().invoke(app, ["schema", "check", str(file)]).output


def test_two_columns_of_one_meaning_keep_two_names() -> None:
    names = ("patient_id", "time", "SysABP", "NISysABP", "weight")
    schema = parse_text(starting_schema("mine", Columns(names, ("patient_id",))), "schema.yaml")
    assert [v.name for v in schema.variables] == ["systolic_bp", "nisysabp", "body_weight"]
    assert [v.column for v in schema.variables] == ["SysABP", "NISysABP", "weight"]


def test_a_table_without_a_header_is_not_quoted(tmp_path: Path) -> None:
    folder = cohort(tmp_path / "cohort", "csv")
    (folder / "observations.csv").write_text(f"17,0.5,{SENTINEL},3\n18,0.5,80,2\n")
    with pytest.raises(CohortError, match="header") as caught:
        read_columns(folder)
    assert str(SENTINEL) not in str(caught.value)


def schema(**variable: object) -> Schema:
    facts = {"name": "creatinine", "unit": "mg/dL", "kind": "continuous", "bounds": [0.1, 40]}
    facts |= {"bounds_from": "a laboratory", "transform": "log"} | variable
    return Schema.model_validate(
        {"longsynth": 1, "name": "x", "slots": 3, "max_gap": 9, "variables": [facts]}
    )


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ({"bounds": [0.7, 1.0]}, "cut into the usual"),
        ({"bounds": [0.1, 4000]}, "another unit?"),
        ({"bounds": [50, 90]}, "miss the usual"),
        ({"unit": "umol/L"}, "not compared"),
        ({"transform": "none"}, "log scale"),
        ({"kind": "ordinal", "bounds": [1, 3], "transform": "none"}, "usually continuous"),
        ({"name": "humour", "transform": "none"}, "not in the catalogue"),
    ],
)
def test_what_looks_odd_is_said(variable: dict[str, object], said: str) -> None:
    assert any(said in remark for remark in remarks(schema(**variable)))


def test_what_is_usual_raises_no_remark() -> None:
    assert list(remarks(schema())) == []


def test_the_commands_name_columns_and_no_value(tmp_path: Path) -> None:
    folder, out = cohort(tmp_path / "cohort"), tmp_path / "schema.yaml"
    made = CliRunner().invoke(app, ["schema", "new", "--cohort", str(folder), "--out", str(out)])
    assert made.exit_code == 0, made.output
    said = CliRunner().invoke(app, ["schema", "check", str(out), "--cohort", str(folder)])
    assert said.exit_code == 0, said.output
    assert "'humour' are not used" in said.output
    assert str(SENTINEL) not in made.output + said.output + out.read_text()
