"""Public mistakes are said in the words of the local reader, and no error of Spark is passed on."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.engine_cohorts import Indiscreet, odd_folder, odd_schema
from leaks.planted import write_csv, write_parquet
from leaks.sentinels import MARK, found_in_error
from longsynth import CohortError, CohortFolder, Refused, SparkCohort, fit, plan
from longsynth.engines.spark import cohort as spark_cohort
from longsynth.fit import fit_without_privacy
from longsynth.plan import plan_of
from longsynth.privacy.budget import Budget
from longsynth.system.errors import ArithmeticFault, DependentRows
from spark_sessions import Sessions
from support import small_schema
from third_party import Honest, Repeats

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_folder(tmp_path_factory.mktemp("odd") / "cohort")


def changed(folder: Path, name: str, change: Any) -> Path:
    path = folder / f"{name}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    return folder


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(3, 1)])


def nameless(table: pa.Table) -> pa.Table:
    ids = table.column("patient_id").to_pylist()
    return table.set_column(0, "patient_id", pa.array([None, *ids[1:]]))


def floating(table: pa.Table) -> pa.Table:
    return table.set_column(0, "patient_id", pa.array([float(n) for n in range(len(table))]))


MISTAKES = {
    "an id twice": ("patients", twice),
    "no id": ("patients", nameless),
    "nobody": ("patients", lambda table: table.slice(0, 0)),
    "an id that is no id": ("patients", floating),
    "no column": ("observations", lambda table: table.drop_columns(["pulse"])),
    "no number": ("patients", lambda t: t.append_column("x", t.column("age")).set_column(
        t.column_names.index("age"), "age", pa.array([[1.0]] * len(t)))),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_public_mistake_is_refused_in_the_same_words(
    mistake: str, tmp_path: Path, sparks: Sessions
) -> None:
    name, change = MISTAKES[mistake]
    folder = changed(odd_folder(tmp_path / "cohort"), name, change)
    with pytest.raises(CohortError) as here:
        CohortFolder(folder)
    with pytest.raises(CohortError) as there:
        SparkCohort(sparks.on(), folder)
    assert str(there.value) == str(here.value)


def test_places_without_a_table_are_refused_with_a_remedy(tmp_path: Path, sparks: Sessions) -> None:
    spark = sparks.on()
    with pytest.raises(CohortError, match="not a folder"):
        SparkCohort(spark, tmp_path / "nowhere")
    with pytest.raises(CohortError, match="longsynth import events"):
        SparkCohort(spark, write_csv(tmp_path / "csv", "valid"))
    with pytest.raises(CohortError, match=r"ward\.observations.*TABLE_OR_VIEW_NOT_FOUND"):
        SparkCohort(spark, small_schema(), observations="ward.observations", patients="ward.people")
    with pytest.raises(Refused, match="Give both tables"):
        SparkCohort(spark, small_schema(), patients="ward.people")
    with pytest.raises(Refused, match="at least one partition"):
        SparkCohort(spark, tmp_path, partitions=0)


def test_a_delta_folder_is_never_read_as_the_files_that_lie_in_it(
    tmp_path: Path, sparks: Sessions
) -> None:
    """Files that were taken out of the table lie there as well."""
    folder = odd_folder(tmp_path / "cohort", parts=2)
    (folder / "observations.parquet" / "_delta_log").mkdir()
    with pytest.raises(CohortError, match=r"as Delta.*on Spark's path"):
        SparkCohort(sparks.on(), folder)


def test_columns_that_spark_cannot_tell_apart_are_refused_with_a_remedy(
    tmp_path: Path, sparks: Sessions
) -> None:
    def shouted(table: pa.Table) -> pa.Table:
        return table.append_column("GROUP", table.column("group"))

    folder = changed(odd_folder(tmp_path / "cohort"), "patients", shouted)
    with pytest.raises(CohortError, match="twice, ignoring capitals"):
        SparkCohort(sparks.on(), folder)


def test_a_damaged_file_is_refused_without_its_bytes(tmp_path: Path, sparks: Sessions) -> None:
    folder = write_parquet(tmp_path / "cohort", "valid")
    (folder / "patients.parquet").write_bytes(b"PAR1" + MARK.encode() * 40)
    with pytest.raises(CohortError, match="not damaged") as caught:
        SparkCohort(sparks.on(), folder)
    assert not found_in_error(caught.value)


def test_a_query_that_fails_on_a_cell_does_not_quote_it(tmp_path: Path, sparks: Sessions) -> None:
    """Whoever makes a data frame may have cast strictly: Spark's own message names the cell."""
    spark, folder = sparks.on(), write_parquet(tmp_path / "cohort", "malformed")
    tables = {n: spark.read.parquet(f"{folder}/{n}.parquet") for n in ("observations", "patients")}
    strict = tables["observations"].selectExpr(
        "patient_id", "CAST(patient_id AS DOUBLE) AS time", "pulse", "dose", "oxygen"
    )
    with pytest.raises(CohortError, match="could not read the tables") as caught:
        SparkCohort(spark, small_schema(), observations=strict, patients=tables["patients"])
    assert "CAST_INVALID_INPUT" in str(caught.value)
    assert not found_in_error(caught.value)


@pytest.mark.parametrize(
    ("how", "expected", "words"),
    [
        (ValueError, CohortError, "an executor stopped with ValueError"),
        (MemoryError, CohortError, "ran out of memory"),
        (ArithmeticFault, ArithmeticFault, "an exact sum failed its check"),
    ],
)
def test_what_fails_on_an_executor_says_no_value_here(
    how: type[Exception],
    expected: type[Exception],
    words: str,
    tmp_path: Path,
    sparks: Sessions,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = write_parquet(tmp_path / "cohort", "valid")
    with SparkCohort(sparks.on(), folder, partitions=2) as source:
        planned = plan(source.schema, source.patients, epsilon=4, delta=1e-4)
        statistics = [line.statistic for line in planned.stages[0]]
        with pytest.raises(expected, match=words) as caught:
            source.sum_over(statistics, Indiscreet(how))
    assert not found_in_error(caught.value)
    assert caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")


def test_executors_of_another_version_are_refused(
    folder: Path, sparks: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_cohort, "VERSION", "0.0.9")
    with (
        SparkCohort(sparks.on(), folder, partitions=2) as source,
        pytest.raises(Refused, match=r"this is 0\.0\.9"),
    ):
        source.repairs()


def test_a_method_that_keeps_no_promise_needs_all_records_in_one_place(
    folder: Path, sparks: Sessions
) -> None:
    with (
        SparkCohort(sparks.on(), folder, partitions=2) as source,
        pytest.raises(Refused, match="Use the local engine"),
    ):
        fit_without_privacy(source, odd_schema(), "bootstrap")


def test_a_method_that_repeats_one_patient_for_everybody_is_refused_on_executors_too(
    folder: Path, sparks: Sessions
) -> None:
    with SparkCohort(sparks.on(), folder) as cohort:
        good, bad = (
            plan_of(method, cohort.schema, cohort.patients, Budget(8.0, 1e-4))
            for method in (Honest(), Repeats())
        )
        assert fit(cohort, good).ledger.private
        with pytest.raises(DependentRows) as caught:
            fit(cohort, bad)
    assert str(caught.value) == str(DependentRows())
