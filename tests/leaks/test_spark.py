"""On Spark too, no command says or leaves a patient's value or id, whatever the cells hold."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from leaks.capture import private_tmp
from leaks.planted import write_parquet
from leaks.scenarios import PROMISE, Step
from leaks.sentinels import NEEDLES, SHORT, found_in, found_under
from leaks.test_every_command import run
from spark_sessions import Sessions

pytestmark = pytest.mark.xdist_group("spark")
SPARK = ("--engine", "spark", "--master", "local[2]")
KINDS = ("whole", "extreme", "malformed")


def test_a_fit_on_spark_says_the_same_whatever_the_cells_hold_and_nothing_of_them(
    tmp_path: Path, sparks: Sessions
) -> None:
    sparks.on()  # Java starts before anything is heard; a test of the README hears it start
    said = {}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with private_tmp(temporary):
        for kind in KINDS:
            cohort, out = write_parquet(tmp_path / "cohort", kind), tmp_path / "run"
            ran = run(Step("fit", (cohort, *PROMISE, *SPARK, "--partitions", 2, "--out", out)))
            assert not found_in(ran.said, NEEDLES + SHORT)
            assert not found_under(out)
            statement = (out / "release/STATEMENT.md").read_text()
            said[kind] = re.sub(r"[0-9a-f]{64}", "…", ran.said + statement), ran.exit_code
            cohort.rename(tmp_path / f"cohort of {kind}")
            out.rename(tmp_path / f"run of {kind}")
    assert len(set(said.values())) == 1, said
    assert said["whole"][1] == 0
    assert not list(temporary.iterdir())


def test_a_check_on_spark_says_counts_and_no_cell(tmp_path: Path, sparks: Sessions) -> None:
    sparks.on()
    cohort = write_parquet(tmp_path / "cohort", "malformed")
    there, here = (
        run(Step("check", (cohort, "--json", *SPARK))),
        run(Step("check", (cohort, "--json"))),
    )
    assert there == replace(here, step=there.step)
    assert not found_in(there.said, NEEDLES + SHORT)


def test_a_refusal_on_spark_names_the_remedy_and_no_cell(tmp_path: Path, sparks: Sessions) -> None:
    sparks.on()
    cohort = write_parquet(tmp_path / "cohort", "malformed")
    whole = (cohort / "observations.parquet").read_bytes()
    (cohort / "observations.parquet").write_bytes(whole[: len(whole) // 2] + whole[-8:])
    ran = run(Step("fit", (cohort, *PROMISE, *SPARK, "--out", tmp_path / "run")))
    assert ran.exit_code == 2
    assert "not damaged" in ran.printed
    assert not found_in(ran.said, NEEDLES + SHORT)
    assert not (tmp_path / "run").exists()
