"""Two streams joined by patient: the same records as any other way of reading them."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth.reading.by_patient
import longsynth.reading.parquet
from longsynth.reading.by_patient import Order, order_of
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.parquet import read_numbers
from longsynth.reading.records import Cohort
from longsynth.schema.file import dump
from support import small_schema, write_folder


def ragged(seed: int, *, sort: bool) -> tuple[dict[str, object], dict[str, object]]:
    """Patients with none to nine rows, times in any order, strangers, cells and ids missing."""
    rng = np.random.default_rng(seed)
    known = np.sort(rng.choice(400, 90, replace=False)) - 30
    number = rng.integers(0, 10, 400)
    ids = np.repeat(np.arange(400) - 30, number)
    if not sort:
        ids = rng.permutation(ids)
    rows = len(ids)
    time = rng.integers(0, 60, rows).astype(float)
    time[rng.random(rows) < 0.05] = np.inf
    observations: dict[str, object] = {
        "patient_id": pa.array(ids, mask=rng.random(rows) < 0.02),
        "time": pa.array(time, mask=rng.random(rows) < 0.05),
        "pulse": pa.array(rng.normal(80, 30, rows), mask=rng.random(rows) < 0.3),
        "dose": pa.array(rng.integers(0, 5, rows), pa.int8(), mask=rng.random(rows) < 0.3),
        "oxygen": pa.array(rng.random(rows) < 0.5, mask=rng.random(rows) < 0.3),
    }
    patients: dict[str, object] = {
        "patient_id": known if sort else rng.permutation(known),
        "group": known % 2,
        "event": (known // 2) % 2,
        "site": ["ABC"[i % 3] for i in range(len(known))],
    }
    return observations, patients


def read(folder: Path) -> tuple[Cohort, dict[str, object]]:
    with CohortFolder(folder) as source:
        return Cohort.joined(source.batches()), source.repairs()


def same(one: Cohort, other: Cohort) -> bool:
    names = [field.name for field in fields(Cohort)]
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_arrow_and_duckdb_read_the_same_records(
    seed: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = dump(small_schema())
    monkeypatch.setattr(longsynth.reading.by_patient, "BATCH", size)
    folder = write_folder(tmp_path / "sorted", schema, *ragged(seed, sort=True))
    with CohortFolder(folder) as source:
        assert source._streams._by_arrow
        assert source._streams._rising
    straight = read(folder)
    monkeypatch.setattr(longsynth.reading.by_patient, "_has_only_numbers", lambda *_: False)
    queried = read(folder)
    assert same(straight[0], queried[0])
    assert straight[1] == queried[1]
    assert straight[0].patients == 90
    assert 0 < straight[0].observed.mean() < 1
    assert straight[1]["rows_of_unknown_patients"]
    assert straight[1]["patients_without_rows"]


def test_counts_are_the_same_before_and_after_a_pass(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "any", dump(small_schema()), *ragged(1, sort=False))
    with CohortFolder(folder) as source:
        before = source.repairs()
        for _ in range(2):
            assert sum(batch.patients for batch in source.batches()) == 90
            assert source.repairs() == before
    assert before == read(folder)[1]


def test_a_pass_that_was_broken_off_counts_nothing(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "any", dump(small_schema()), *ragged(1, sort=False))
    with CohortFolder(folder) as source:
        next(iter(source.batches()))
        assert source.repairs() == read(folder)[1]


@pytest.mark.parametrize(
    ("ids", "order"),
    [
        ([1, 2, 5], Order(3, 3, rising=True, distinct=True)),
        ([1, 1, 5], Order(3, 3, rising=True, distinct=False)),
        ([1, None, 5], Order(3, 2, rising=True, distinct=True)),
        ([-1, -2, 5], Order(3, 3, rising=False, distinct=False)),
        ([], Order(0, 0, rising=True, distinct=True)),
    ],
)
def test_the_order_of_ids_is_found(ids: list[int | None], order: Order, tmp_path: Path) -> None:
    file = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"id": pa.array(ids, pa.int32())}), file)
    assert order_of(file, "id") == order


def test_ids_that_fall_between_two_batches_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longsynth.reading.parquet, "ROWS_OF_NUMBERS", 2)
    file = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"id": [3, 4, 1, 2]}), file)
    assert not order_of(file, "id").rising
    pq.write_table(pa.table({"id": [3, 4, 4, 5]}), file)
    assert order_of(file, "id") == Order(4, 4, rising=True, distinct=False)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.uint8(), pa.bool_()])
def test_numbers_are_read_as_arrow_reads_them(kind: pa.DataType) -> None:
    cells = [1, None, 0, 1, 1, None, None, 0, 1, None, 1]
    column = pa.array([None if x is None else x * 1.0 for x in cells], pa.float64()).cast(kind)
    for start in range(len(cells)):
        out = np.full((len(cells) - start, 2), -7.0)
        read_numbers(column.slice(start), out[:, 1])
        assert np.array_equal(out[:, 1], np.array(cells[start:], float), equal_nan=True)
        assert (out[:, 0] == -7).all()
