"""Data frames in, synthetic data frames out."""

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth
from longsynth.release.synthesizer import Synthesizer
from refusals import refused


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, pa.Table]:
    folder = tmp_path_factory.mktemp("frames")
    schema, cohort = longsynth.simulated_schema(), longsynth.simulate(200, seed=3)
    longsynth.write_cohort(folder, schema, [cohort])
    return tuple(pq.read_table(folder / f"{n}.parquet") for n in ("observations", "patients"))


def _schema() -> longsynth.Schema:
    """The simulated patients in columns and levels of a hospital's own."""
    content = longsynth.simulated_schema().model_dump(mode="json", exclude_defaults=True)
    content["group"] = {"column": "sex", "levels": ["M", "F"]}
    content["patient"] = {"column": "MRN"}
    content["protected"] = [{"group": "F"}]
    return longsynth.Schema.model_validate(content)


def _renamed(tables: tuple[pa.Table, pa.Table]) -> tuple[pa.Table, pa.Table]:
    rows, people = tables
    sex = pa.array(["F" if code else "M" for code in people["group"].to_pylist()])
    people = people.drop_columns("group").append_column("sex", sex)
    return rows.rename_columns({"patient_id": "MRN"}), people.rename_columns({"patient_id": "MRN"})


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "arrow"])
def test_frames_of_any_kind_come_back_as_they_went_in(
    kind: str, tables: tuple[pa.Table, pa.Table]
) -> None:
    make = {
        "pandas": lambda t: t.to_pandas(),
        "polars": pl.from_arrow,
        "duckdb": duckdb.from_arrow,
        "arrow": lambda t: t,
    }[kind]
    rows, people = _renamed(tables)
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score")
    synthetic = made.fit(make(rows), make(people)).sample(50, seed=1)
    expected = pa.Table if kind == "duckdb" else type(make(people))
    assert isinstance(synthetic.patients, expected)
    arrow = synthetic.to_arrow()
    assert set(arrow.patients["sex"].to_pylist()) <= {"M", "F"}
    assert "MRN" in arrow.observations.column_names
    assert len(arrow.patients) == 50


def test_numbers_have_the_decimals_of_their_resolution(tables: tuple[pa.Table, pa.Table]) -> None:
    content = _schema().model_dump(mode="json", exclude_defaults=True)
    content["variables"][0] |= {"resolution": 0.5}
    schema = longsynth.Schema.model_validate(content)
    made = Synthesizer(schema, epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    values = made.sample(40, seed=2).to_arrow().observations[schema.variables[0].name].to_pylist()
    assert all(x % 0.5 == 0 for x in values if x is not None)


def test_a_second_fit_and_a_sample_before_the_first_are_refused(
    tables: tuple[pa.Table, pa.Table],
) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score")
    with refused("not-fitted"):
        made.sample(5)
    made.fit(*_renamed(tables))
    with refused("already-fitted"):
        made.fit(*_renamed(tables))


def test_what_is_no_table_is_refused_by_its_type_alone() -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5)
    with refused("not-a-table") as caught:
        made.fit("SENTINEL", "SENTINEL")
    assert "SENTINEL" not in str(caught.value)


def test_no_representation_shows_a_patient(tables: tuple[pa.Table, pa.Table]) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    assert len(repr(made)) < 100
    assert "patients" in repr(made.sample(5, seed=1))


def test_a_release_that_is_written_can_be_verified(
    tables: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    made.write_release(tmp_path / "release")
    assert all(finding.good for finding in longsynth.verify(tmp_path / "release"))
    assert "ε = 4" in made.report()
