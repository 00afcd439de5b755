"""Malformed sources: one clear sentence each, exit code 2, and nothing is written."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from longsynth.commands import __main__ as cli
from readers.small_sources import (
    MEDS_ROWS,
    SCHEMA,
    meds,
    omop,
    omop_duckdb,
    omop_tables,
    write,
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `longsynth import`; return its exit code and what it printed."""

    def command(form: str, source: Path | str, schema: dict[str, Any] = SCHEMA) -> Any:
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(schema, allow_unicode=True))
        arguments = ["import", form, str(source), "--schema", str(tmp_path / "s.yaml")]
        out = str(tmp_path / "out" / "cohort")
        monkeypatch.setattr(sys, "argv", ["longsynth", *arguments, "--out", out])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    return command


def refusal(run: Run, tmp: Path, *arguments: Any) -> str:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("longsynth: ")
    assert err.count("\n") == 1, "one sentence"
    assert not (tmp / "out").exists() or list((tmp / "out").iterdir()) == []
    return err


def replaced(table: str, column: str, values: Any) -> dict[str, pa.Table]:
    tables = omop_tables()
    place = tables[table].schema.get_field_index(column)
    tables[table] = tables[table].set_column(place, column, values)
    return tables


def without(table: str, *columns: str) -> dict[str, pa.Table]:
    tables = omop_tables()
    return tables | {table: tables[table].drop_columns(list(columns))}


def as_text(table: str, column: str) -> dict[str, pa.Table]:
    cells = omop_tables()[table][column].to_pylist()
    return replaced(table, column, pa.array([f"<{cell}>" for cell in cells]))


def zoned(table: str, column: str) -> dict[str, pa.Table]:
    return replaced(table, column, omop_tables()[table][column].cast(pa.timestamp("us", "UTC")))


def zoned_beside_text() -> dict[str, pa.Table]:
    """Only measurements say their zone; all other stamps are text, as in many exports."""
    tables = zoned("measurement", "measurement_datetime")
    for name, table in tables.items():
        for i, field in enumerate(table.schema):
            if field.type == pa.timestamp("us"):
                tables[name] = tables[name].set_column(
                    i, field.name, table.column(i).cast(pa.string())
                )
    return tables


def with_source(**source: Any) -> dict[str, Any]:
    changed = dict(SCHEMA["variables"][0], source=source)
    return SCHEMA | {"variables": [changed, *SCHEMA["variables"][1:]]}


MEDS_TYPES = {  # the column's type and a piece of the sentence
    "an id as a float": ({"subject_id": pa.float64()}, "stores subject_id as double"),
    "a time as text": ({"time": pa.string()}, "stores time as string"),
    "a time with a zone": ({"time": pa.timestamp("us", "UTC")}, "with a time zone"),
    "a code as a number": ({"code": pa.int64()}, "stores code as int64"),
    "a value as text": ({"numeric_value": pa.string()}, "stores numeric_value as string"),
}


@pytest.mark.parametrize("case", MEDS_TYPES)
def test_a_wrong_type_in_meds_is_named(run: Run, tmp_path: Path, case: str) -> None:
    types, words = MEDS_TYPES[case]
    (column,) = types
    place = ["subject_id", "time", "code", "numeric_value"].index(column)
    kind = types[column]
    rows = [list(row) for row in MEDS_ROWS]
    for row in rows:
        cell = row[place]
        row[place] = (
            str(cell) if kind == pa.string() else 7 if kind == pa.int64() and place else cell
        )
    message = refusal(run, tmp_path, "meds", meds(tmp_path / "meds", rows, types))
    assert words in message
    assert "data/train/0.parquet" in message


@pytest.mark.parametrize("kind", [pa.struct({"SECRET": pa.int64()}), pa.timestamp("us", "SECRET")])
@pytest.mark.parametrize("place", range(4))
def test_what_a_type_is_made_of_is_not_told(
    run: Run, tmp_path: Path, place: int, kind: pa.DataType
) -> None:
    column = ["subject_id", "time", "code", "numeric_value"][place]
    rows = [[None if n == place else cell for n, cell in enumerate(row)] for row in MEDS_ROWS]
    message = refusal(run, tmp_path, "meds", meds(tmp_path / "meds", rows, {column: kind}))
    assert f"stores {column} " in message
    assert "SECRET" not in message


OMOP_TABLES = {
    "an id as a float": (
        lambda: replaced("person", "person_id", pa.array([1.5, 2.0, 3.0])),
        "person.person_id is stored as float: store it as whole numbers",
    ),
    "a value as text": (
        lambda: as_text("measurement", "value_as_number"),
        "measurement.value_as_number is stored as text: store it as numbers",
    ),
    "a date as a number": (
        lambda: replaced("death", "death_date", pa.array([20200103])),
        "death.death_date is stored as integer: store it as dates",
    ),
    "stamps with a zone and as text": (
        zoned_beside_text,
        "measurement.measurement_datetime has a time zone and ",
    ),
    "stamps with and without a zone": (
        lambda: zoned("measurement", "measurement_datetime"),
        "measurement.measurement_datetime has a time zone and ",
    ),
    "a missing column": (
        lambda: without("measurement", "value_as_number"),
        "table measurement has no column value_as_number",
    ),
    "a person twice": (
        lambda: omop_tables() | {"person": pa.concat_tables([omop_tables()["person"]] * 2)},
        "an id twice",
    ),
    "a person without an id": (
        lambda: replaced("person", "person_id", pa.array([1, None, 3])),
        "a row without an id",
    ),
    "nobody": (
        lambda: omop_tables() | {"person": omop_tables()["person"].slice(0, 0)},
        "the patient table is empty",
    ),
}


@pytest.mark.parametrize("store", [omop, omop_duckdb])
@pytest.mark.parametrize("case", OMOP_TABLES)
def test_what_is_wrong_with_an_omop_table_is_named(
    run: Run, tmp_path: Path, case: str, store: Callable[..., Path]
) -> None:
    tables, words = OMOP_TABLES[case]
    source = store(tmp_path / "in" / "omop.duckdb", tables())
    assert words in refusal(run, tmp_path, "omop", source)


@pytest.mark.parametrize("store", [omop, omop_duckdb])
@pytest.mark.parametrize("table", ["person", "visit_occurrence", "measurement", "death"])
def test_a_missing_omop_table_is_named(
    run: Run, tmp_path: Path, table: str, store: Callable[..., Path]
) -> None:
    tables = {name: t for name, t in omop_tables().items() if name != table}
    source = store(tmp_path / "in" / "omop.duckdb", tables)
    assert f"has no table {table}" in refusal(run, tmp_path, "omop", source)


FILES = {  # form, file, a piece of the sentence
    "meds shard": ("meds", "data/train/0.parquet", "data/train/0.parquet cannot be read"),
    "meds codes": ("meds", "metadata/codes.parquet", "metadata/codes.parquet cannot be read"),
    "meds subjects": ("meds", "metadata/subject_splits.parquet", "subject_splits.parquet cannot"),
    "omop table": ("omop", "measurement.parquet", "measurement.parquet cannot be read"),
    "omop numbers": ("omop", "person.parquet", "person.parquet cannot be read"),
}


@pytest.mark.parametrize("damage", ["empty", "cut short", "other bytes"])
@pytest.mark.parametrize("case", FILES)
def test_a_damaged_file_is_named(run: Run, tmp_path: Path, case: str, damage: str) -> None:
    form, name, words = FILES[case]
    folder = {"meds": meds, "omop": omop}[form](tmp_path / "in")
    content = (folder / name).read_bytes()
    damaged = {"empty": b"", "cut short": content[:-9], "other bytes": b"PAR1" + b"\7" * 99}[damage]
    (folder / name).write_bytes(damaged)
    assert words in refusal(run, tmp_path, form, folder)


@pytest.mark.parametrize(("form", "name"), [("meds", "data/train/0"), ("omop", "person")])
def test_pages_damaged_behind_a_sound_footer_are_refused_without_quoting_them(
    run: Run, tmp_path: Path, form: str, name: str
) -> None:
    path = {"meds": meds, "omop": omop}[form](tmp_path / "in") / f"{name}.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    message = refusal(run, tmp_path, form, tmp_path / "in")
    assert "cannot be read" in message


SOURCES = {  # form, what is given, a piece of the sentence
    "no such folder": ("meds", lambda tmp: tmp / "none", "has no data/*.parquet"),
    "no such omop": ("omop", lambda tmp: tmp / "none", "neither a folder of Parquet tables"),
    "no such tables": ("events", lambda tmp: tmp / "none", "is not a folder"),
    "no database": ("omop", lambda tmp: _file(tmp / "x.duckdb"), "cannot be opened as a DuckDB"),
    "a password in the address": (
        "omop",
        lambda _: "postgresql://me:secret@localhost/cdm",
        "set PGPASSWORD",
    ),
    "no server": (
        "omop",
        lambda tmp: f"postgresql://me@/cdm?host={tmp}",
        "database cdm cannot be opened: does the server run",
    ),
    "no address": ("omop", lambda _: "postgresql://[", "give postgresql://user@host:port/database"),
}


def _file(path: Path) -> Path:
    path.write_bytes(b"no database" * 1000)
    return path


@pytest.mark.parametrize("case", SOURCES)
def test_a_source_that_is_none_is_refused(run: Run, tmp_path: Path, case: str) -> None:
    form, given, words = SOURCES[case]
    message = refusal(run, tmp_path, form, given(tmp_path))
    assert words in message
    assert "secret" not in message


SCHEMAS = {  # what the schema says, a piece of the sentence
    "a regular expression that is none": (with_source(pattern="LAB//(50912"), "not a regular exp"),
    "an unknown group": (with_source(pattern="(?P<dose>.)"), "named 'value' and 'unit' only"),
    "a unit that is no number": (with_source(codes=["HR"], units={"bpm": "one"}), "give a factor"),
    "a unit with one number too many": (with_source(units={"bpm": [1, 2, 3]}), "give a factor"),
    "a factor of zero": (with_source(codes=["HR"], units={"bpm": 0}), "a factor of zero"),
    "a unit that is not finite": (with_source(codes=["HR"], units={"b": float("inf")}), "finite"),
    "an unknown code": (with_source(codes=["PULSE"]), "none of its codes"),
    "units that nothing names": (with_source(codes=["HR"], units={"bpm": 1}), "which unit"),
    "no mapping": (with_source(), "say which codes it comes from"),
    "a label without a mapping": (SCHEMA | {"group": {"column": "g", "levels": [0, 1]}}, "group: "),
    "a misspelt key": (with_source(code=["HR"]), "did you mean 'codes'"),
    "three levels of an outcome": (
        SCHEMA | {"site": {"levels": ["a", "b", "c"], "source": {"fact": "death"}}},
        "site: 'fact: death' needs two levels",
    ),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_mistake_in_the_mapping_is_named(run: Run, tmp_path: Path, case: str) -> None:
    schema, words = SCHEMAS[case]
    message = refusal(run, tmp_path, "meds", meds(tmp_path / "meds"), schema)
    assert words in message


def test_a_subject_twice_in_the_list_is_refused(run: Run, tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    write(folder / "metadata/subject_splits.parquet", pa.table({"subject_id": [1, 1]}))
    assert "an id twice" in refusal(run, tmp_path, "meds", folder)


def test_a_missing_column_of_meds_is_named(run: Run, tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    write(folder / "data/train/0.parquet", pa.table({"subject_id": [1], "time": [None]}))
    message = refusal(run, tmp_path, "meds", folder)
    assert "data/train/0.parquet has no column 'code', 'numeric_value'" in message


def test_a_label_in_a_table_that_has_none_is_refused(run: Run, tmp_path: Path) -> None:
    source = {"column": "provider.provider_name"}
    schema = SCHEMA | {"site": {"levels": ["A", "B"], "source": source}}
    message = refusal(run, tmp_path, "omop", omop(tmp_path / "omop"), schema)
    assert "site: a column is one of person, visit_occurrence, care_site" in message


def test_without_ibis_the_extra_to_install_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    assert "longsynth[omop]" in refusal(run, tmp_path, "omop", omop(tmp_path / "omop"))


def test_an_existing_folder_is_never_touched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "cohort").mkdir(parents=True)
    code, _, err = run("meds", meds(tmp_path / "meds"))
    assert (code, "[output-exists]" in err) == (2, True)
    assert list((tmp_path / "out" / "cohort").iterdir()) == []
