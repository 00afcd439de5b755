"""Synthetic patients as OMOP and FHIR: as the standards ask, and back as the same patients."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow.parquet as pq
import pytest

from io_formats import ohdsi
from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused
from longsynth.writing import FORMATS, Writer
from readers.postgres_server import binaries, running

SLOTS, PATIENTS = 5, 90
WITH_OHDSI = pytest.mark.skipif(
    not ohdsi.FOLDER.is_dir() or not ohdsi.FOLDER.name, reason=ohdsi.REASON
)


def ward(**changes: Any) -> Schema:
    continuous = {"kind": "continuous", "bounds_from": "a book"}
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "ward",
            "slots": SLOTS,
            "max_gap": 48,
            "group": {"column": "sex", "levels": ["M", "F"]},
            "event": {"column": "died", "levels": ["alive", "dead"]},
            "variables": [
                {"name": "heart_rate", "unit": "bpm", "bounds": [20, 300]} | continuous,
                {"name": "temperature", "unit": "°C", "bounds": [25, 45]} | continuous,
                {"name": "age", "unit": "years", "bounds": [0, 120], "static": True} | continuous,
            ],
        }
        | changes
    )


RICH = {
    "group": {"column": "arm", "levels": ["drug", "placebo"]},
    "event": {"column": "relapse", "levels": ["no", "early", "late"]},
    "site": {"column": "site", "levels": ["A", "B'C"]},
    "max_gap": 2000,
    "variables": [
        {"name": "x", "kind": "continuous", "bounds": [0, 9], "bounds_from": "a book"},
        {"name": "grade", "kind": "ordinal", "bounds": [0, 4], "bounds_from": "a scale"},
        {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "AF//fast", "it's paced"]},
    ],
}


def patients(schema: Schema) -> Cohort:
    rng, n = np.random.default_rng(4), PATIENTS
    values = np.stack(
        [
            rng.uniform(*v.bounds, (n, SLOTS))
            if v.kind == "continuous"
            else rng.integers(0, len(v.levels or range(5)), (n, SLOTS)).astype(float)
            for v in schema.variables
        ],
        axis=2,
    )
    length = rng.integers(0, SLOTS + 1, n)
    used = np.arange(SLOTS) < length[:, None]
    static = np.array([v.static for v in schema.variables])
    seen = rng.random(values.shape) < 0.7
    return Cohort(
        values=np.round(values, 3),
        observed=np.where(static, np.arange(SLOTS)[:, None] == 0, seen & used[:, :, None]),
        gaps=np.where(
            np.arange(SLOTS) == 0, 0.0, np.round(rng.exponential(9, (n, SLOTS)), 2) + 0.1
        ),
        length=length,
        group=rng.integers(0, 2, n),
        event=rng.integers(0, len(schema.levels("event")), n),
        site=rng.integers(0, len(schema.sites), n),
    )


def writer(form: str, day: str = "2020-03-01") -> Writer:
    return FORMATS[form].load({"start_date": day})


def written(form: str, folder: Path, schema: Schema) -> Path:
    folder.mkdir()
    made, whole = writer(form), patients(schema)
    made.write(folder, schema, [whole.take(np.arange(50)), whole.take(np.arange(50, PATIENTS))])
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert names == sorted(made.files(1))
    assert sum(made.rows(folder / name) for name in made.people_files(1)) == PATIENTS
    return folder


@pytest.mark.parametrize("form", ["omop", "fhir"])
@pytest.mark.parametrize("changes", [{}, RICH], ids=["ward", "rich"])
def test_patients_come_back_as_they_left(
    tmp_path: Path, form: str, changes: dict[str, Any]
) -> None:
    schema = ward(**changes)
    folder = written(form, tmp_path / "out", schema)
    import_cohort(form, folder, folder / "schema.yaml", tmp_path / "in")
    read, cohort = read_cohort(tmp_path / "in")
    given = patients(schema)
    order = np.argsort([int(str(i).strip("p")) for i in _ids(tmp_path / "in")])
    assert [v.name for v in read.variables] == [v.name for v in schema.variables]
    assert [v.bounds for v in read.variables] == [v.bounds for v in schema.variables]
    assert (cohort.group[order] == given.group).all()
    assert (cohort.event[order] == given.event).all()
    assert (cohort.site[order] == given.site).all()
    assert cohort.observed.sum() == given.observed.sum()
    totals = [np.where(c.observed, c.values, 0).sum((0, 1)) for c in (cohort, given)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)


def _ids(folder: Path) -> list[Any]:
    return list(pq.read_table(folder / "patients.parquet")["patient_id"].to_pylist())


def ask(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for file in folder.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
        return connection.execute(query).fetchall()


def test_omop_rows_are_numbered_typed_and_dated_from_the_public_day(tmp_path: Path) -> None:
    folder = written("omop", tmp_path / "out", ward())
    assert ask(folder, "SELECT min(person_id), max(person_id), count(*) FROM person") == [
        (1, 90, 90)
    ]
    assert ask(
        folder, "SELECT count(DISTINCT measurement_id) = max(measurement_id) FROM measurement"
    ) == [(True,)]
    assert ask(folder, "SELECT DISTINCT measurement_type_concept_id FROM measurement") == [(32817,)]
    units = "SELECT DISTINCT measurement_concept_id, unit_concept_id FROM measurement ORDER BY ALL"
    assert ask(folder, units) == [(3020891, 586323), (3027018, 8541)]
    assert ask(
        folder, "SELECT count(birth_datetime), count(DISTINCT gender_concept_id) FROM person"
    ) == [(90, 2)]
    ((about, number),) = ask(
        folder, "SELECT any_value(source_description), count(*) FROM cdm_source"
    )
    assert number == 1
    assert "dates are invented: every record starts on 2020-03-01" in about
    assert ask(folder, "SELECT min(measurement_date)::VARCHAR FROM measurement") == [
        ("2020-03-01",)
    ]
    outside = """SELECT count(*) FROM measurement JOIN visit_occurrence USING (visit_occurrence_id)
        WHERE measurement_datetime NOT BETWEEN visit_start_datetime AND visit_end_datetime"""
    assert ask(folder, outside) == [(0,)]
    dead = int((patients(ward()).event > 0).sum())
    assert ask(folder, "SELECT count(*) FROM death") == [(dead,)]


def test_an_event_that_is_no_death_is_a_condition(tmp_path: Path) -> None:
    folder = written("omop", tmp_path / "out", ward(**RICH))
    assert ask(folder, "SELECT count(*) FROM death") == [(0,)]
    relapsed = int((patients(ward(**RICH)).event > 0).sum())
    assert ask(folder, "SELECT count(*) FROM condition_occurrence") == [(relapsed,)]


def test_the_script_makes_a_duckdb_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not compared: DuckDB puts a random identifier into its header."""
    monkeypatch.chdir(written("omop", tmp_path / "out", ward()))
    with duckdb.connect(tmp_path / "cdm.duckdb") as connection:
        connection.execute(Path("duckdb.sql").read_text())
        assert connection.execute("SELECT count(*) FROM person").fetchall() == [(90,)]
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO person (person_id) VALUES (91)")
    import_cohort("omop", tmp_path / "cdm.duckdb", "schema.yaml", tmp_path / "in")
    import_cohort("omop", tmp_path / "out", "schema.yaml", tmp_path / "again")
    read, again = (read_cohort(tmp_path / name)[1] for name in ("in", "again"))
    assert np.array_equal(read.values, again.values, equal_nan=True)


@pytest.mark.parametrize("day", ["soon", "0001-01-01", "2024-13-01"])
def test_a_start_date_that_is_none_is_refused(day: str) -> None:
    with pytest.raises(Refused) as refused:
        writer("omop", day)
    assert refused.value.code == Code.OPTION_UNUSABLE


def test_fhir_resources_are_valid_and_one_provenance_names_the_release(tmp_path: Path) -> None:
    resources = pytest.importorskip("fhir.resources.R4B", reason="needs fhir.resources")
    folder = written("fhir", tmp_path / "out", ward(**RICH))
    for kind in ("Patient", "Encounter", "Observation", "Provenance"):
        model = resources.get_fhir_model_class(kind)
        for line in (folder / f"{kind}.ndjson").read_text().splitlines():
            assert "HTEST" in line
            model.model_validate(json.loads(line))
    (line,) = (folder / "Provenance.ndjson").read_text().splitlines()
    assert json.loads(line)["entity"][0]["what"]["identifier"]["system"] == "urn:longsynth:release"


@WITH_OHDSI
@pytest.mark.skipif(binaries() is None, reason="Postgres is not installed")
def test_the_statements_load_into_the_official_tables_of_postgres(tmp_path: Path) -> None:
    folder = written("omop-sql", tmp_path / "out", ward(**RICH))
    with running(binaries() or Path()) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA cdm")
        connection.execute(ohdsi.ddl("postgresql"))
        connection.execute("SET search_path TO cdm")
        for file in sorted(folder.glob("*.sql")):
            if file.stat().st_size:
                connection.execute(file.read_text())
        rows = connection.execute("SELECT count(*) FROM person").fetchone()
        assert rows == (PATIENTS,)
        rows = connection.execute("SELECT count(*) FROM cdm_source").fetchone()
        assert rows == (1,)


@WITH_OHDSI
def test_what_ohdsi_checks_passes_where_it_needs_no_vocabulary(tmp_path: Path) -> None:
    """A table without rows counts as one that is not written: this ward has no conditions."""
    folder = written("omop", tmp_path / "out", ward())
    filled = {f.stem for f in folder.glob("*.parquet") if pq.read_metadata(f).num_rows}
    results = ohdsi.quality(folder, tmp_path)
    assert len(results) > 2000
    ours = [r for r in results if r.table in filled and not r.needs_vocabulary]
    assert [r for r in ours if r.error or (r.applies and r.failed)] == []
    assert len([r for r in ours if r.applies]) > 300


@WITH_OHDSI
def test_every_default_analysis_of_achilles_runs(tmp_path: Path) -> None:
    analyses = ohdsi.achilles(written("omop", tmp_path / "out", ward()), tmp_path)
    assert len(analyses) == 194
    assert {number: error for number, error in analyses.items() if error} == {}
