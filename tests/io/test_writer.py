"""Cohort folders as longsynth writes them: columns, order, and the same patients read again."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.reading.cohort_folder import CohortFolder, read_cohort
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.file import load_schema
from longsynth.schema.schema import Schema
from longsynth.writing.cohort import write_cohort
from support import random_cohort, small_schema

SCHEMA = small_schema()  # four slots; pulse, dose, oxygen; sites A, B, C


def written(tmp_path: Path, *chunks: object, schema: Schema = SCHEMA, name: str = "out") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    write_cohort(folder, schema, chunks)  # type: ignore[arg-type]
    return folder


def assert_same(found: Cohort, expected: Cohort) -> None:
    """Values bit for bit wherever observed, masks and labels; gaps to 1e-9 hours."""
    used = np.arange(expected.gaps.shape[1]) < expected.length[:, None]
    observed = expected.observed & used[:, :, None]
    assert np.array_equal(found.observed, observed)
    assert found.values[observed].tobytes() == expected.values[observed].tobytes()
    assert np.abs(np.where(used, found.gaps - expected.gaps, 0)).max() < 1e-9
    for name in ("length", "group", "event", "site"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("patients", [1, 50])
def test_a_written_cohort_is_read_as_the_same_patients(patients: int, tmp_path: Path) -> None:
    cohort = random_cohort(patients, seed=patients)
    schema, found = read_cohort(written(tmp_path, cohort))
    assert schema == SCHEMA.canonical()
    assert_same(found, cohort)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_numbers_survive_the_way_through_the_files(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    n = data.draw(st.integers(1, 3))
    finite = st.floats(allow_nan=False, allow_infinity=False)

    def drawn(strategy: st.SearchStrategy[object], *shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(strategy, min_size=size, max_size=size))).reshape(shape)

    cohort = Cohort(
        values=drawn(finite, n, 4, 3),
        observed=drawn(st.booleans(), n, 4, 3),
        gaps=drawn(st.floats(0, 1e4), n, 4),
        length=drawn(st.integers(0, 4), n),
        group=drawn(st.integers(0, 1), n),
        event=drawn(st.integers(0, 1), n),
        site=drawn(st.integers(0, 2), n),
    )
    assert_same(read_cohort(written(tmp_path_factory.mktemp("any"), cohort))[1], cohort)


@pytest.mark.parametrize("start", [0.0, 1e-300, 5.0, 1e9])
def test_slots_without_a_gap_between_them_stay_apart(start: float, tmp_path: Path) -> None:
    cohort = replace(random_cohort(5, seed=3), length=np.full(5, 4), gaps=np.zeros((5, 4)))
    cohort.gaps[:, 0] = start
    folder = written(tmp_path, cohort)
    found = read_cohort(folder)[1]
    assert found.length.tolist() == [4] * 5
    assert np.abs(found.gaps - cohort.gaps).max() <= 4 * np.spacing(start)
    with CohortFolder(folder) as source:
        assert source.repairs()["rows_merged_into_the_slot_of_another"] == 0


def test_observations_have_the_documented_columns_in_order_and_nothing_else(tmp_path: Path) -> None:
    found = pq.read_schema(written(tmp_path, random_cohort(5, seed=1)) / "observations.parquet")
    assert found.names == ["patient_id", "time", "pulse", "dose", "oxygen"]
    assert found.types == [pa.int64(), *[pa.float64()] * 4]


def test_patients_have_the_documented_columns_in_order_and_nothing_else(tmp_path: Path) -> None:
    table = pq.read_table(written(tmp_path, random_cohort(40, seed=1)) / "patients.parquet")
    assert table.column_names == ["patient_id", "group", "event", "site"]
    assert table.column("patient_id").to_pylist() == list(range(1, 41))
    assert (
        set(table.column("group").to_pylist()) == set(table.column("event").to_pylist()) == {0, 1}
    )
    assert set(table.column("site").to_pylist()) == {"A", "B", "C"}


def test_a_folder_holds_three_files(tmp_path: Path) -> None:
    found = sorted(p.name for p in written(tmp_path, random_cohort(5, seed=1)).iterdir())
    assert found == ["observations.parquet", "patients.parquet", "schema.yaml"]


def test_rows_are_sorted_by_patient_and_time_and_times_are_hours_since_zero(tmp_path: Path) -> None:
    gaps = np.array([[0.5, 2.0, 3.0, 9.0], [1.0, 0.25, 9.0, 9.0]])
    cohort = replace(random_cohort(2, seed=1), gaps=gaps, length=np.array([3, 2]))
    table = pq.read_table(written(tmp_path, cohort) / "observations.parquet")
    assert table.column("patient_id").to_pylist() == [1, 1, 1, 2, 2]
    assert table.column("time").to_pylist() == [0.5, 2.5, 5.5, 1.0, 1.25]


def test_what_is_not_observed_is_null_and_never_a_number(tmp_path: Path) -> None:
    cohort = replace(random_cohort(1, seed=1), length=np.array([2]))
    cohort.observed[:] = [[[True, False, False], [False, False, True], [True] * 3, [True] * 3]]
    cohort.values[~cohort.observed] = np.nan
    table = pq.read_table(written(tmp_path, cohort) / "observations.parquet")
    values = cohort.values[0]
    assert table.column("pulse").to_pylist() == [values[0, 0], None]
    assert table.column("dose").to_pylist() == [None, None]
    assert table.column("oxygen").to_pylist() == [None, values[1, 2]]


def test_a_patient_of_length_zero_stands_in_the_patient_table_alone(tmp_path: Path) -> None:
    cohort = replace(random_cohort(2, seed=1), length=np.array([0, 1]))
    folder = written(tmp_path, cohort)
    assert pq.read_table(folder / "observations.parquet").column("patient_id").to_pylist() == [2]
    assert pq.read_table(folder / "patients.parquet").column("patient_id").to_pylist() == [1, 2]


def test_synthetic_patients_carry_their_weight_in_a_last_column(tmp_path: Path) -> None:
    cohort = random_cohort(3, seed=1)
    arrays = {field.name: getattr(cohort, field.name) for field in fields(cohort)}
    synthetic = Synthetic(**arrays, weight=np.array([0.5, 1.0, 2.5]), fingerprint="none")
    folder = written(tmp_path, synthetic)
    table = pq.read_table(folder / "patients.parquet")
    assert table.column_names == ["patient_id", "group", "event", "site", "weight"]
    assert table.column("weight").to_pylist() == [0.5, 1.0, 2.5]
    assert_same(read_cohort(folder)[1], cohort)


def test_chunks_are_written_like_one_cohort(tmp_path: Path) -> None:
    cohort = random_cohort(10, seed=1)
    whole, parts = (written(tmp_path, *cohort.batches(size), name=str(size)) for size in (10, 3))
    for name in ("observations.parquet", "patients.parquet"):
        assert pq.read_table(whole / name).equals(pq.read_table(parts / name))


def test_the_same_patients_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = (written(tmp_path, random_cohort(10, seed=1), name=n) for n in ("one", "two"))
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes()


def test_a_mapped_schema_is_written_in_longsynths_own_names(tmp_path: Path) -> None:
    mapped = Schema.model_validate(
        SCHEMA.model_dump()
        | {
            "patient": {"column": "pid"},
            "time": {"column": "at", "unit": "timestamp"},
            "group": {"column": "sex", "levels": ["m", "f"]},
            "site": None,
        }
    )
    cohort = replace(random_cohort(6, seed=1), site=np.zeros(6, np.int64))
    folder = written(tmp_path, cohort, schema=mapped)
    assert load_schema(folder / "schema.yaml") == mapped.canonical()
    assert set(pq.read_table(folder / "patients.parquet").column("site").to_pylist()) == {"all"}
    assert_same(read_cohort(folder)[1], cohort)


def test_files_are_closed_when_a_chunk_fails(tmp_path: Path) -> None:
    def failing() -> Iterator[Cohort]:
        yield random_cohort(3, seed=1)
        raise KeyboardInterrupt

    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        write_cohort(folder, SCHEMA, failing())
    assert pq.read_metadata(folder / "patients.parquet").num_rows == 3
