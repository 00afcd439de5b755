"""Malformed sources: one clear sentence each, exit code 2, and nothing is written."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from longsynth.commands import __main__ as cli
from longsynth.system.errors import Code
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


def refusal(run: Run, tmp: Path, code: Code, *arguments: Any) -> str:
    ended, out, err = run(*arguments)
    assert (ended, out) == (2, "")
    assert err.startswith("longsynth: ")
    assert err.endswith(f" [{code}]\n"), err
    assert err.count("\n") == 1, "one line"
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


MEDS_TYPES = {  # the column's type, and what the refusal names
    "an id as a float": ({"subject_id": pa.float64()}, "subject_id as double"),
    "a time as text": ({"time": pa.string()}, "time as string"),
    "a time with a zone": ({"time": pa.timestamp("us", "UTC")}, "with a time zone"),
    "a code as a number": ({"code": pa.int64()}, "code as int64"),
    "a value as text": ({"numeric_value": pa.string()}, "numeric_value as string"),
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
    message = refusal(run, tmp_path, Code.COLUMN_TYPE, "meds", meds(tmp_path / "meds", rows, types))
    assert words in message
    assert "data/train/0.parquet" in message


@pytest.mark.parametrize("kind", [pa.struct({"SECRET": pa.int64()}), pa.timestamp("us", "SECRET")])
@pytest.mark.parametrize("place", range(4))
def test_what_a_type_is_made_of_is_not_told(
    run: Run, tmp_path: Path, place: int, kind: pa.DataType
) -> None:
    column = ["subject_id", "time", "code", "numeric_value"][place]
    rows = [[None if n == place else cell for n, cell in enumerate(row)] for row in MEDS_ROWS]
    source = meds(tmp_path / "meds", rows, {column: kind})
    message = refusal(run, tmp_path, Code.COLUMN_TYPE, "meds", source)
    assert f" {column} " in message
    assert "SECRET" not in message


OMOP_TABLES = {
    "an id as a float": (
        lambda: replaced("person", "person_id", pa.array([1.5, 2.0, 3.0])),
        Code.COLUMN_TYPE,
        "person.person_id is stored as float",
    ),
    "a value as text": (
        lambda: as_text("measurement", "value_as_number"),
        Code.COLUMN_TYPE,
        "measurement.value_as_number is stored as text",
    ),
    "a date as a number": (
        lambda: replaced("death", "death_date", pa.array([20200103])),
        Code.COLUMN_TYPE,
        "death.death_date is stored as integer",
    ),
    "stamps with a zone and as text": (
        zoned_beside_text,
        Code.COLUMN_TYPE,
        "measurement.measurement_datetime has a time zone and ",
    ),
    "stamps with and without a zone": (
        lambda: zoned("measurement", "measurement_datetime"),
        Code.COLUMN_TYPE,
        "measurement.measurement_datetime has a time zone and ",
    ),
    "a missing column": (
        lambda: without("measurement", "value_as_number"),
        Code.COLUMN_MISSING,
        "value_as_number",
    ),
    "a person twice": (
        lambda: omop_tables() | {"person": pa.concat_tables([omop_tables()["person"]] * 2)},
        Code.PATIENT_IDS,
        "twice",
    ),
    "a person without an id": (
        lambda: replaced("person", "person_id", pa.array([1, None, 3])),
        Code.PATIENT_IDS,
        "without",
    ),
    "nobody": (
        lambda: omop_tables() | {"person": omop_tables()["person"].slice(0, 0)},
        Code.NO_PATIENTS,
        "empty",
    ),
}


@pytest.mark.parametrize("store", [omop, omop_duckdb])
@pytest.mark.parametrize("case", OMOP_TABLES)
def test_what_is_wrong_with_an_omop_table_is_named(
    run: Run, tmp_path: Path, case: str, store: Callable[..., Path]
) -> None:
    tables, code, words = OMOP_TABLES[case]
    source = store(tmp_path / "in" / "omop.duckdb", tables())
    assert words in refusal(run, tmp_path, code, "omop", source)


@pytest.mark.parametrize("store", [omop, omop_duckdb])
@pytest.mark.parametrize("table", ["person", "visit_occurrence", "measurement", "death"])
def test_a_missing_omop_table_is_named(
    run: Run, tmp_path: Path, table: str, store: Callable[..., Path]
) -> None:
    tables = {name: t for name, t in omop_tables().items() if name != table}
    source = store(tmp_path / "in" / "omop.duckdb", tables)
    assert f" {table}," in refusal(run, tmp_path, Code.SOURCE_INCOMPLETE, "omop", source)


FILES = {  # form, file
    "meds shard": ("meds", "data/train/0.parquet"),
    "meds codes": ("meds", "metadata/codes.parquet"),
    "meds subjects": ("meds", "metadata/subject_splits.parquet"),
    "omop table": ("omop", "measurement.parquet"),
    "omop numbers": ("omop", "person.parquet"),
}


@pytest.mark.parametrize("damage", ["empty", "cut short", "other bytes"])
@pytest.mark.parametrize("case", FILES)
def test_a_damaged_file_is_named(run: Run, tmp_path: Path, case: str, damage: str) -> None:
    form, name = FILES[case]
    folder = {"meds": meds, "omop": omop}[form](tmp_path / "in")
    content = (folder / name).read_bytes()
    damaged = {"empty": b"", "cut short": content[:-9], "other bytes": b"PAR1" + b"\7" * 99}[damage]
    (folder / name).write_bytes(damaged)
    assert name in refusal(run, tmp_path, Code.FILE_UNREADABLE, form, folder)


@pytest.mark.parametrize(("form", "name"), [("meds", "data/train/0"), ("omop", "person")])
def test_pages_damaged_behind_a_sound_footer_are_refused_without_quoting_them(
    run: Run, tmp_path: Path, form: str, name: str
) -> None:
    path = {"meds": meds, "omop": omop}[form](tmp_path / "in") / f"{name}.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    refusal(run, tmp_path, Code.FILE_UNREADABLE, form, tmp_path / "in")


SOURCES = {  # form, what is given, code
    "no such folder": ("meds", lambda tmp: tmp / "none", Code.SOURCE_INCOMPLETE),
    "no such omop": ("omop", lambda tmp: tmp / "none", Code.SOURCE_INCOMPLETE),
    "no such tables": ("events", lambda tmp: tmp / "none", Code.SOURCE_INCOMPLETE),
    "no such format": ("excel", lambda tmp: tmp / "none", Code.FORMAT_UNKNOWN),
    "no database": ("omop", lambda tmp: _file(tmp / "x.duckdb"), Code.FILE_UNREADABLE),
    "a password in the address": (
        "omop",
        lambda _: "postgresql://me:secret@localhost/cdm",
        Code.DATABASE_UNREADABLE,
    ),
    "no server": (
        "omop",
        lambda tmp: f"postgresql://me@/cdm?host={tmp}",
        Code.FILE_UNREADABLE,
    ),
    "no address": ("omop", lambda _: "postgresql://[", Code.DATABASE_UNREADABLE),
}


def _file(path: Path) -> Path:
    path.write_bytes(b"no database" * 1000)
    return path


@pytest.mark.parametrize("case", SOURCES)
def test_a_source_that_is_none_is_refused(run: Run, tmp_path: Path, case: str) -> None:
    form, given, code = SOURCES[case]
    assert "secret" not in refusal(run, tmp_path, code, form, given(tmp_path))


UNMAPPED = SCHEMA | {"group": {"column": "g", "levels": [0, 1]}}
THREE = SCHEMA | {"site": {"levels": ["a", "b", "c"], "source": {"fact": "death"}}}
SCHEMAS = {  # what the schema says, and what the refusal names
    "a regular expression that is none": (with_source(pattern="LAB//(50912"), "not a regular exp"),
    "an unknown group": (with_source(pattern="(?P<dose>.)"), "named 'value' and 'unit' only"),
    "a unit that is no number": (with_source(codes=["HR"], units={"bpm": "one"}), "give a factor"),
    "a unit with one number too many": (with_source(units={"bpm": [1, 2, 3]}), "give a factor"),
    "a factor of zero": (with_source(codes=["HR"], units={"bpm": 0}), "a factor of zero"),
    "a unit that is not finite": (with_source(codes=["HR"], units={"b": float("inf")}), "finite"),
    "a misspelt key": (with_source(code=["HR"]), "did you mean 'codes'"),
}
MAPPINGS = {
    "an unknown code": (with_source(codes=["PULSE"]), "variables.pulse: "),
    "units that nothing names": (with_source(codes=["HR"], units={"bpm": 1}), "variables.pulse: "),
    "no mapping": (with_source(), "variables.pulse: "),
    "a label without a mapping": (UNMAPPED, "group: "),
    "three levels of an outcome": (THREE, "site: 'fact: death'"),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_mistake_in_the_schema_is_named(run: Run, tmp_path: Path, case: str) -> None:
    schema, words = SCHEMAS[case]
    ended, _, err = run("meds", meds(tmp_path / "meds"), schema)
    assert (ended, words in err) == (2, True), err


@pytest.mark.parametrize("case", MAPPINGS)
def test_a_mistake_in_the_mapping_is_named(run: Run, tmp_path: Path, case: str) -> None:
    schema, place = MAPPINGS[case]
    source = meds(tmp_path / "meds")
    assert place in refusal(run, tmp_path, Code.MAPPING_UNUSABLE, "meds", source, schema)


def test_a_subject_twice_in_the_list_is_refused(run: Run, tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    write(folder / "metadata/subject_splits.parquet", pa.table({"subject_id": [1, 1]}))
    refusal(run, tmp_path, Code.PATIENT_IDS, "meds", folder)


def test_a_missing_column_of_meds_is_named(run: Run, tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    write(folder / "data/train/0.parquet", pa.table({"subject_id": [1], "time": [None]}))
    message = refusal(run, tmp_path, Code.COLUMN_MISSING, "meds", folder)
    assert "data/train/0.parquet has no column 'code', 'numeric_value'" in message


def test_a_label_in_a_table_that_has_none_is_refused(run: Run, tmp_path: Path) -> None:
    source = {"column": "provider.provider_name"}
    schema = SCHEMA | {"site": {"levels": ["A", "B"], "source": source}}
    source = omop(tmp_path / "omop")
    message = refusal(run, tmp_path, Code.MAPPING_UNUSABLE, "omop", source, schema)
    assert "person, visit_occurrence, care_site" in message


def test_without_ibis_the_extra_to_install_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    source = omop(tmp_path / "omop")
    assert "longsynth[omop]" in refusal(run, tmp_path, Code.PACKAGE_MISSING, "omop", source)


def test_an_existing_folder_is_never_touched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "cohort").mkdir(parents=True)
    code, _, err = run("meds", meds(tmp_path / "meds"))
    assert (code, "[output-exists]" in err) == (2, True)
    assert list((tmp_path / "out" / "cohort").iterdir()) == []
