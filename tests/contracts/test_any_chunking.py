"""Where sums and samples are made changes no bit: any chunking, order and number of threads."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth.reading.by_patient
from longsynth import engines as kernel
from longsynth import fit, model_of, plan
from longsynth.engines import sum_over
from longsynth.methods.method import PrivateMethod, contributions
from longsynth.methods.registry import METHODS
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Shared, Sums
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.records import Cohort, Patients
from longsynth.release.synthetic_folder import Recipe, write_synthetic
from longsynth.writing.cohort import write_cohort
from support import earlier, random_cohort, small_schema

PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]
PATIENTS = 150


class InBatches:
    """The same patients, so many at a time."""

    def __init__(self, cohort: Cohort, size: int) -> None:
        self.cohort, self.size, self.patients = cohort, size, cohort.patients

    def batches(self) -> Iterator[Cohort]:
        return self.cohort.batches(self.size)


def integers(name: str, patients: Patients, jobs: int = 1) -> list[list[int]]:
    """What would be noised, of every stage."""
    schema, method = small_schema(bandwidth=1).resolved(PATIENTS), METHODS[name]
    assert isinstance(method, PrivateMethod)
    found = []
    for stage in method.stages(schema):
        so_far = earlier(method, schema, stage)
        features = partial(contributions, stage, method.encoder(schema, so_far))
        for sums in sum_over(patients, [line.statistic for line in stage], features, jobs=jobs):
            assert sums.rows == PATIENTS
            found.append(sums.total.tolist())
    return found


@pytest.mark.parametrize("name", PRIVATE)
def test_any_chunking_and_any_number_of_threads_give_the_same_integers(name: str) -> None:
    cohort = random_cohort(PATIENTS, seed=5)
    expected = integers(name, cohort)
    assert any(map(any, expected))
    for size in (1, 7, 64):
        for jobs in (1, 3):
            assert integers(name, InBatches(cohort, size), jobs) == expected


@pytest.mark.parametrize("name", PRIVATE)
def test_however_few_patients_are_added_up_at_once_the_integers_are_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort, seen = random_cohort(PATIENTS, seed=5), []
    expected, add_up = integers(name, cohort), kernel.add_up

    def counted(statistic: Statistic, rows: Contribution, shared: Shared) -> Sums:
        seen.append(len(rows.right))
        return add_up(statistic, rows, shared)

    monkeypatch.setattr(kernel, "add_up", counted)
    monkeypatch.setattr(kernel, "CELLS", 1)
    monkeypatch.setattr(Statistic, "dimension", property(lambda statistic: statistic.right))
    assert integers(name, cohort) == expected
    assert max(seen) < PATIENTS // 2


def folder_of(
    path: Path, cohort: Cohort, order: np.random.Generator | None, *, text: bool
) -> CohortFolder:
    """The cohort as files: sorted, or its rows in any order; ids as numbers or as text."""
    path.mkdir()
    write_cohort(path, small_schema(), cohort.batches(40))
    for name in ("observations", "patients"):
        file = path / f"{name}.parquet"
        table = pq.read_table(file)
        if text:
            ids = pa.array([f"p{i:04}" for i in table["patient_id"].to_pylist()])
            table = table.set_column(0, "patient_id", ids)
        if order is not None:
            table = table.take(order.permutation(len(table)))
        pq.write_table(table, file, row_group_size=50)
    return CohortFolder(path)


@pytest.mark.parametrize("name", PRIVATE)
def test_files_in_any_order_with_any_ids_give_the_same_integers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort, found = random_cohort(PATIENTS, seed=6), []
    for batch in (4096, 13):
        monkeypatch.setattr(longsynth.reading.by_patient, "BATCH", batch)
        for text in (False, True):
            for order in (None, np.random.default_rng(1)):
                path = tmp_path / f"{batch}-{text}-{order is None}"
                with folder_of(path, cohort, order, text=text) as source:
                    found.append(integers(name, source, jobs=2))
    assert any(map(any, found[0]))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("name", METHODS)
def test_any_number_of_threads_writes_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contracts.test_every_method import cohort_for, fitted

    monkeypatch.setattr(sys.modules["longsynth.sample"], "CHUNK", 64)
    model = model_of(fitted(name, cohort_for(small_schema()), small_schema()))
    written = []
    for jobs in (1, 2, 5):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        write_synthetic(folder, model, Recipe("-", 500, seed=3), jobs=jobs)
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert len(written[0]) == 4
    assert written[0] == written[1] == written[2]


def test_a_fit_takes_any_number_of_threads() -> None:
    cohort = random_cohort(PATIENTS, seed=5)
    planned = plan(small_schema(), PATIENTS, epsilon=1, delta=1e-5)
    assert fit(cohort, planned, jobs=3).ledger.spent == planned.ledger.spent
