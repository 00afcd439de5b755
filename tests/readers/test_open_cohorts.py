"""Real open cohorts: counts and values agree with what DuckDB says of the same files."""

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import import_cohort
from longsynth_lab.outcomes import prepared

COHORTS = Path(os.environ.get("LONGSYNTH_COHORTS", ""))
SCHEMAS = Path(__file__).parents[2] / "examples" / "schemas"
pytestmark = pytest.mark.skipif(
    "LONGSYNTH_COHORTS" not in os.environ,
    reason="set LONGSYNTH_COHORTS to the folder of open cohorts",
)
WIDE = """
longsynth: 1
name: {name}
slots: 8
max_gap: 17520
time: {{unit: {unit}}}
event: {{column: outcome, levels: [0, 1]}}
site: {{column: cohort, levels: {levels}}}
variables:
  - {{name: first, column: {column}, kind: continuous, bounds: [0, 500], bounds_from: a textbook}}
"""
TIDY = {
    "pbc": WIDE.format(name="pbc", unit="days", levels="[placebo, D-penicillamine]", column="bili"),
    "physionet2012": WIDE.format(
        name="icu", unit="hours", levels="[MICU, SICU, CSRU, CCU]", column="HR"
    ),
}
ANOTHER_STUDY_OF = {
    "pbc_survival": "pbc",
    "physionet2012_outcomes": "physionet2012",
    "physionet2019_sepsis": "physionet2019_a",
}
PATIENTS = {
    "pbc": "patients.parquet",
    "physionet2012": "patients.parquet",
    "mimic4_demo_meds": "metadata/subject_splits.parquet",
    "mimic4_demo_omop": "person.parquet",
}


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an import of each cohort."""
    out = tmp_path_factory.mktemp("imports")
    for name in PATIENTS:
        if not (COHORTS / name).is_dir():
            pytest.skip(f"{name} is not among the open cohorts")
        schema = SCHEMAS / f"{name}.yaml"
        if name in TIDY:
            schema = out / f"{name}.yaml"
            schema.write_text(TIDY[name])
        form: str = "events" if name in TIDY else "meds" if name.endswith("meds") else "omop"
        import_cohort(form, str(COHORTS / name), schema, out / name)
    return out


def ask(query: str, *arguments: Any) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(query, arguments).fetchall()


@pytest.mark.parametrize("name", PATIENTS)
def test_there_are_as_many_patients_as_rows_in_the_patient_table(imports: Path, name: str) -> None:
    ((rows,),) = ask(f"SELECT count(*) FROM '{COHORTS / name / PATIENTS[name]}'")
    with CohortFolder(imports / name) as source:
        assert source.patients == rows
        assert sum(batch.patients for batch in source.batches()) == rows


@pytest.mark.parametrize("name", sorted(p.stem for p in SCHEMAS.glob("*.yaml")))
def test_every_example_schema_imports_its_cohort(tmp_path: Path, name: str) -> None:
    form: str = "meds" if name.endswith("meds") else "omop" if name.endswith("omop") else "events"
    cohort = COHORTS / ANOTHER_STUDY_OF.get(name, name)
    if not cohort.is_dir():
        pytest.skip(f"{cohort.name} is not among the open cohorts")
    listed = cohort / PATIENTS.get(cohort.name, "patients.parquet")
    cohort = prepared(name, cohort, tmp_path / "tables")
    imported = import_cohort(form, str(cohort), SCHEMAS / f"{name}.yaml", tmp_path / "out")
    assert ask(f"SELECT count(*) FROM '{listed}'") == [(imported.patients,)]


@pytest.mark.parametrize(("name", "column"), [("pbc", "bili"), ("physionet2012", "HR")])
def test_wide_tables_keep_every_row_and_value(imports: Path, name: str, column: str) -> None:
    scale = 24 if name == "pbc" else 1
    query = "SELECT count(*), count({0}), sum({0}::DOUBLE), max(time) * {1} FROM '{2}'"
    before = ask(query.format(column, scale, COHORTS / name / "observations.parquet"))
    after = ask(query.format("first", 1, imports / name / "observations.parquet"))
    assert after[0][:2] == before[0][:2]
    assert after[0][2:] == pytest.approx(before[0][2:], rel=1e-12)


MEDS = f"'{COHORTS}/mimic4_demo_meds/data/*/*.parquet'"
STAY = f"""
    WITH start AS (SELECT subject_id, min(time) AS start FROM {MEDS}
                   WHERE regexp_full_match(code, 'ED_REGISTRATION|HOSPITAL_ADMISSION//.*')
                   GROUP BY subject_id),
         stay AS (SELECT subject_id, any_value(start) AS start, min(time) AS stop FROM {MEDS}
                  JOIN start USING (subject_id)
                  WHERE code LIKE 'HOSPITAL_DISCHARGE//%' AND time > start GROUP BY subject_id)
    SELECT count(*), sum({{value}}), sum(date_diff('second', start, time)) / 3600
    FROM {MEDS} JOIN stay USING (subject_id)
    WHERE time BETWEEN start AND stop AND numeric_value IS NOT NULL AND code IN ({{codes}})"""
FAHRENHEIT = "if(code LIKE '%°F', (numeric_value::DOUBLE - 32) / 1.8, numeric_value::DOUBLE)"
CODES = {
    "heart_rate": ("numeric_value::DOUBLE", "'LAB//220045//bpm'"),
    "respiratory_rate": (
        "numeric_value::DOUBLE",
        "'LAB//220210//insp/min', 'LAB//224690//insp/min'",
    ),
    "temperature": (FAHRENHEIT, "'LAB//223761//°F', 'LAB//223762//°C', 'LAB//226329//°C'"),
    "creatinine": ("numeric_value::DOUBLE", "'LAB//50912//mg/dL'"),
}


@pytest.mark.parametrize("variable", CODES)
def test_meds_counts_and_values_are_those_of_the_files(imports: Path, variable: str) -> None:
    value, codes = CODES[variable]
    expected = ask(STAY.format(value=value, codes=codes))
    found = ask(f"""SELECT count(*), sum({variable}), sum(time)
        FROM '{imports}/mimic4_demo_meds/observations.parquet' WHERE {variable} IS NOT NULL""")
    assert found[0][0] == expected[0][0] > 100
    assert found[0][1:] == pytest.approx(expected[0][1:], rel=1e-9)


def test_meds_deaths_ages_and_sexes_are_those_of_the_files(imports: Path) -> None:
    expected = ask(f"""
        SELECT subject_id, max(if(code LIKE 'GENDER//%', code[-1], NULL)),
               max(if(code = 'MEDS_BIRTH', time, NULL)), max(if(code = 'MEDS_DEATH', time, NULL)),
               min(if(code LIKE 'HOSPITAL_ADMISSION//%' OR code = 'ED_REGISTRATION', time, NULL))
        FROM {MEDS} GROUP BY subject_id ORDER BY subject_id""")
    found = ask(f"""SELECT patient_id, "group", event, age
        FROM '{imports}/mimic4_demo_meds/patients.parquet' ORDER BY patient_id""")
    for (subject, sex, born, died, start), row in zip(expected, found, strict=True):
        dead = died is not None and (died - start).total_seconds() <= 720 * 3600
        assert row == (subject, sex, "dead" if dead else "alive", float(start.year - born.year))


def test_both_views_of_the_same_patients_agree(imports: Path) -> None:
    """Where both datasets have the same first stay; the OMOP conversion lacks that of three."""
    person = f"'{COHORTS}/mimic4_demo_omop/person.parquet'"
    visits = f"'{COHORTS}/mimic4_demo_omop/visit_occurrence.parquet'"
    stays = STAY.split("SELECT count(*)")[0]
    same = ask(f"""
        {stays}, visit AS (
            SELECT person_source_value AS subject_id,
                   arg_min((visit_start_datetime::TIMESTAMP, visit_end_datetime::TIMESTAMP),
                           visit_start_datetime) AS seen
            FROM {visits} JOIN {person} USING (person_id)
            WHERE visit_concept_id IN (262, 8870, 8883, 9201, 581385) GROUP BY subject_id)
        SELECT subject_id FROM stay JOIN visit USING (subject_id) WHERE seen = (start, stop)""")
    ids = ", ".join(str(subject) for (subject,) in same)
    assert len(same) >= 95
    meds, omop = (imports / f"mimic4_demo_{form}" for form in ("meds", "omop"))
    one = f"SELECT * FROM '{meds}/observations.parquet' WHERE patient_id IN ({ids})"
    other = f"""SELECT person_source_value, o.* EXCLUDE (patient_id)
        FROM '{omop}/observations.parquet' o JOIN {person} ON person_id = patient_id
        WHERE person_source_value IN ({ids})"""
    assert ask(f"SELECT count(*) FROM ({one})")[0][0] > 30_000
    for left, right in ((one, other), (other, one)):
        assert ask(f"SELECT count(*) FROM (({left}) EXCEPT ALL ({right}))") == [(0,)]
    apart = ask(f"""
        SELECT m."group" = o."group" AND m.age = o.age, m.event, o.event, count(*)
        FROM '{meds}/patients.parquet' m JOIN {person} ON person_source_value = m.patient_id
        JOIN '{omop}/patients.parquet' o ON o.patient_id = person_id
        WHERE m.patient_id IN ({ids}) GROUP BY ALL ORDER BY ALL""")
    assert {row[:3] for row in apart} <= {
        (True, "alive", "alive"),
        (True, "dead", "dead"),
        (True, "dead", "alive"),  # the OMOP tables hold deaths in hospital only
    }
