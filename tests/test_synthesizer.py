"""Data frames in, synthetic data frames out."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth
from leaks.sentinels import MARK, found_in_error
from longsynth import Synthesizer
from longsynth.privacy.noise import OPENDP
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


def test_columns_of_any_type_give_the_same_patients(tables: tuple[pa.Table, pa.Table]) -> None:
    schema, (rows, people) = longsynth.simulated_schema(), tables
    expected = longsynth.read_frames(schema, rows, people)
    pandas, polars = people.to_pandas(), pl.from_arrow(people)
    for other in (
        pandas.astype({"site": "category", "event": bool, "group": object}),
        polars.with_columns(pl.col("site").cast(pl.Categorical)),
        polars.with_columns(pl.col("site").cast(pl.Enum(["C", "B", "A"]))),
    ):
        read = longsynth.read_frames(schema, rows, other)
        for name in ("group", "event", "site", "length"):
            assert np.array_equal(getattr(read, name), getattr(expected, name)), name


def test_a_column_of_mixed_types_is_refused_without_a_cell(
    tables: tuple[pa.Table, pa.Table],
) -> None:
    people = tables[1].to_pandas().astype({"event": object})
    people.loc[0, "event"] = MARK
    with refused("not-a-table") as caught:
        longsynth.read_frames(longsynth.simulated_schema(), tables[0], people)
    assert not found_in_error(caught.value)


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


def _split(tables: tuple[pa.Table, pa.Table], *, held_out: bool) -> tuple[pa.Table, pa.Table]:
    return tuple(
        pl.from_arrow(table).filter((pl.col("MRN") % 2 == 0) == held_out).to_arrow()
        for table in tables
    )


def test_an_audit_of_frames_is_that_of_the_same_arrays(tables: tuple[pa.Table, pa.Table]) -> None:
    schema = _schema()
    train, test = (_split(_renamed(tables), held_out=held_out) for held_out in (False, True))
    made = Synthesizer(schema, epsilon=4, delta=1e-5, method="dp-score").fit(*train)
    synthetic = made.sample(80, seed=1)
    result = longsynth.audit(schema, train, test, synthetic, bootstrap=0)
    weight = synthetic.patients["weight"].to_numpy()
    arrays = [longsynth.read_frames(schema, *pair) for pair in (train, test, synthetic)]
    weighted = longsynth.Synthetic(
        **{name: getattr(arrays[2], name) for name in arrays[2].__slots__},
        weight=weight,
        fingerprint="",
    )
    again = longsynth.audit(schema, arrays[0], arrays[1], weighted, bootstrap=0)
    assert result.tidy() == again.tidy()
    assert result.patients == {"train": 100, "test": 100, "synthetic": 80, "control": 100}
    assert "internal" in repr(result) and len(repr(result)) < 200


def test_synthetic_hours_are_read_where_real_patients_have_dates(
    tables: tuple[pa.Table, pa.Table],
) -> None:
    content = _schema().model_dump(mode="json", exclude_defaults=True)
    content["time"] = {"column": "seen", "unit": "timestamp"}
    schema = longsynth.Schema.model_validate(content)
    rows, people = _renamed(tables)
    hours = pl.from_arrow(rows)
    start = pl.datetime(2020, 1, 1)
    seen = start + pl.duration(microseconds=(pl.col("time") * 3.6e9).cast(pl.Int64))
    real = hours.with_columns(seen.alias("seen")).drop("time").to_arrow(), people
    train, test = (_split(real, held_out=held_out) for held_out in (False, True))
    made = Synthesizer(schema, epsilon=4, delta=1e-5, method="dp-score").fit(*train)
    result = longsynth.audit(schema, train, test, made.sample(80, seed=1), bootstrap=0)
    assert result.patients["synthetic"] == 80


def test_a_fit_that_stopped_has_spent_the_budget(
    tables: tuple[pa.Table, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score")
    with refused("column-missing"):  # before the plan was accepted, nothing is spent
        made.fit(tables[0], tables[1])

    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("longsynth.release.synthesizer.fit", stops)
    with pytest.raises(KeyboardInterrupt):
        made.fit(*_renamed(tables))
    monkeypatch.undo()
    with refused("already-fitted"):
        made.fit(*_renamed(tables))


def test_the_noise_is_opendps(tables: tuple[pa.Table, pa.Table]) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    assert made.release.ledger.noise == OPENDP
    other = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    assert made.release.fingerprint != other.release.fingerprint


def test_a_sample_can_be_taken_apart(tables: tuple[pa.Table, pa.Table]) -> None:
    made = Synthesizer(_schema(), epsilon=4, delta=1e-5, method="dp-score").fit(*_renamed(tables))
    observations, patients = made.sample(30, seed=1)
    assert len(patients) == 30 < len(observations)
    assert made.sample(30, seed=1).patients == patients
    assert made.sample(30).patients != patients
