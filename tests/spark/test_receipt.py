"""The receipt of a folder that only Spark reads: the same, made by a check on Spark."""

from pathlib import Path

import pytest

from atomic.outputs import main_here
from longsynth import SparkCohort, run_fit
from longsynth.reading.quality import read_receipt
from longsynth.system.errors import Code
from longsynth.writing.cohort import write_parts
from refusals import refused
from spark_sessions import Sessions
from support import random_cohort, small_schema

pytestmark = pytest.mark.xdist_group("spark")
BUDGET = {"epsilon": 4.0, "delta": 1e-4, "method": "dp-markov"}


def test_a_folder_on_spark_needs_a_receipt_and_tables_of_spark_need_none(
    tmp_path: Path, sparks: Sessions
) -> None:
    spark, folder = sparks.on(), tmp_path / "cohort"
    folder.mkdir()
    write_parts(folder, small_schema(), random_cohort(60, seed=1).batches(20))
    with refused(Code.NOT_CHECKED):
        run_fit(SparkCohort(spark, folder), tmp_path / "run", **BUDGET)  # type: ignore[arg-type]
    place = ("--engine", "spark", "--master", "local[2]")
    code, said, _ = main_here("check", folder, *place, "--accept-problems", "random numbers")
    assert code == 0, said
    assert read_receipt(folder)
    spark = sparks.on()  # the command stopped it
    run_fit(SparkCohort(spark, folder), tmp_path / "run", **BUDGET)  # type: ignore[arg-type]
    (folder / "internal/check.json").unlink()
    frames = {n: spark.read.parquet(f"{folder}/{n}.parquet") for n in ("observations", "patients")}
    tables = SparkCohort(spark, folder, **frames)
    run_fit(tables, tmp_path / "of frames", **BUDGET)  # type: ignore[arg-type]
