"""What runs on an executor, without Spark: rows in any pieces, errors without words."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from contracts.engine_cohorts import Indiscreet, odd_folder, odd_schema
from leaks.sentinels import error_texts
from longsynth import CohortFolder, plan
from longsynth.bundle import Bundle
from longsynth.engines import sum_over
from longsynth.engines.spark import executor
from longsynth.engines.spark.executor import Totals
from longsynth.methods.method import contributions
from longsynth.plan import Plan
from longsynth.reading import by_patient
from longsynth.reading.columns import Roles, cohort_columns, people_roles, row_roles

pytest.importorskip("pyspark", reason="an executor asks Spark for the number of its part")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_folder(tmp_path_factory.mktemp("odd") / "cohort")


def names(roles: Roles) -> list[str]:
    return [column for column, _ in roles]


def sorted_rows(folder: Path) -> pa.Table:
    """Both tables as the executors read them, brought together and sorted as Spark does it."""
    schema = odd_schema()
    rows = pq.read_table(folder / "observations.parquet", columns=names(row_roles(schema)))
    people = pq.read_table(folder / "patients.parquet", columns=names(people_roles(schema)))
    types = [{field.name: field.type for field in t.schema} for t in (rows, people)]
    read = cohort_columns(schema, *types)
    usable = "WHERE id IS NOT NULL AND isfinite(time)"
    queries = (
        f"SELECT * FROM (SELECT {read.rows} FROM batch) {usable}",
        f"SELECT {read.people} FROM batch",
    )
    made = [
        pa.Table.from_batches(executor.ReadCells(kinds, query)(iter(table.to_batches(100))))
        for kinds, query, table in zip(types, queries, (rows, people), strict=True)
    ]
    both = pa.concat_tables(reversed(made), promote_options="default")
    order = [("id", "ascending", "at_start"), ("time", "ascending", "at_start")]
    return both.take(pc.sort_indices(both, sort_keys=order))


@pytest.fixture(scope="module")
def planned(folder: Path) -> Plan:
    with CohortFolder(folder) as source:
        return plan(source.schema, source.patients, epsilon=4, delta=1e-4, method="trust")


def first_pass(planned: Plan) -> dict[str, object]:
    (stage,) = planned.stages
    so_far = Bundle(planned.method.name, planned.schema, planned.ledger, {})
    features = partial(contributions, stage, planned.method.encoder(planned.schema, so_far))
    return {"statistics": [line.statistic for line in stage], "contributions": features}


@pytest.mark.parametrize("piece", [1, 2, 13, 400, 10**6])
@pytest.mark.parametrize("packed", [1, 50, 10**6])
def test_rows_in_pieces_of_any_size_give_the_local_sums(
    folder: Path, planned: Plan, monkeypatch: pytest.MonkeyPatch, piece: int, packed: int
) -> None:
    monkeypatch.setattr(executor, "ROWS", packed)
    monkeypatch.setattr(by_patient, "CELLS", packed)  # of one, a patient at a time
    work = first_pass(planned)
    with CohortFolder(folder) as source:
        expected = sum_over(source, **work)  # type: ignore[arg-type]
    totals = Totals()
    pieces = iter(sorted_rows(folder).to_batches(piece))
    for batch in executor.sum_patients(pieces, schema=odd_schema(), **work):  # type: ignore[arg-type]
        totals.add_rows(batch)
    for sums in expected:
        assert totals.rows[sums.statistic.name] == sums.rows
        assert np.array_equal(totals.total[sums.statistic.name], sums.total)


def test_nobody_in_a_partition_is_no_sum(planned: Plan) -> None:
    (batch,) = executor.sum_patients(iter([]), schema=odd_schema(), **first_pass(planned))  # type: ignore[arg-type]
    assert batch.num_rows == 0


def test_totals_come_back_as_they_were_sent() -> None:
    there, back = Totals(), Totals()
    there.add("a", np.array([1, -(2**62)]), rows=3)
    there.add("b", np.array([7]))
    for part in (0, 1):
        for batch in there.as_rows(part):
            back.add_rows(batch)
    assert back.rows == {"a": 6, "b": 0}
    assert back.total["a"].tolist() == [2, -(2**63)]
    assert back.count("b") == 14
    assert back.count("never made") == 0


def test_an_error_on_an_executor_has_its_name_and_no_words(folder: Path, planned: Plan) -> None:
    work = first_pass(planned) | {"contributions": Indiscreet()}
    quiet = executor.guarded(partial(executor.sum_patients, schema=odd_schema(), **work))  # type: ignore[arg-type]
    rows: Iterator[pa.RecordBatch] = iter(sorted_rows(folder).to_batches())
    with pytest.raises(executor.ExecutorError) as caught:
        list(quiet(rows))
    said = list(error_texts(caught.value))
    assert str(caught.value) == "longsynth failed on an executor with ValueError."
    assert not any("[" in text and "values" in text for text in said), said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
