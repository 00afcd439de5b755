"""A fit asks for the receipt of a check: of exactly this cohort, and not red unless accepted."""

import json
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE

import pyarrow.parquet as pq
import pytest

from atomic.outputs import main_here
from check.test_verdict import SCHEMA, columns, spoiled, written
from longsynth import run_fit
from longsynth.reading.quality import RECEIPT, fingerprint_of, read_receipt
from longsynth.system.errors import Code
from refusals import refused

BUDGET = {"epsilon": 4.0, "delta": 1e-5, "method": "dp-markov"}
REASON = "this ward measures in Fahrenheit"


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    return written(tmp_path / "cohort", columns())


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    return written(tmp_path / "odd", spoiled("fahrenheit"))


def fits(cohort: Path) -> Path:
    run = cohort.parent / "run"
    run_fit(cohort, run, **BUDGET)  # type: ignore[arg-type]
    return run


def test_a_cohort_that_nobody_checked_is_not_fitted(cohort: Path) -> None:
    with refused(Code.NOT_CHECKED):
        fits(cohort)
    assert not (cohort.parent / "run").exists()


def test_a_cohort_that_was_checked_is_fitted(cohort: Path) -> None:
    code, said, _ = main_here("check", cohort, "--by", "A. Steward")
    assert code == 0
    assert "longsynth plan" in said
    receipt = read_receipt(cohort)
    assert receipt is not None
    assert (receipt.checked_by, receipt.colour) == ("A. Steward", "green")
    assert S_IMODE((cohort / RECEIPT).stat().st_mode) == 0o600
    assert S_IMODE((cohort / RECEIPT).parent.stat().st_mode) == 0o700
    assert (fits(cohort) / "release").is_dir()


def fewer(cohort: Path) -> None:
    table = pq.read_table(cohort / "patients.parquet")
    pq.write_table(table.slice(1), cohort / "patients.parquet")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a table": fewer,
    "the schema": lambda c: (c / "schema.yaml").write_text(SCHEMA.replace("[25, 45]", "[20, 45]")),
    "the receipt": lambda c: (c / RECEIPT).write_text('{"fingerprint": 7}'),
    "no receipt": lambda c: (c / RECEIPT).unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_receipt_is_about_exactly_one_cohort(cohort: Path, change: str) -> None:
    main_here("check", cohort)
    CHANGES[change](cohort)
    with refused(Code.NOT_CHECKED):
        fits(cohort)


def test_a_red_verdict_is_not_fitted_until_someone_accepts_it(odd: Path) -> None:
    assert main_here("check", odd)[0] == 1
    with refused(Code.CHECK_FAILED):
        fits(odd)
    assert main_here("check", odd, "--accept-problems", " ")[0] == 2
    assert main_here("check", odd, "--accept-problems", REASON)[0] == 0
    run = fits(odd)
    noted = json.loads((run / "internal/run.json").read_text())["check"]
    assert noted["accepted"] == REASON
    assert noted["colours"]["red"] == 2
    for file in (run / "release").iterdir():
        assert REASON.encode() not in file.read_bytes()


def test_a_schema_with_open_marks_is_not_fitted(tmp_path: Path) -> None:
    cohort = written(tmp_path / "cohort", columns(), SCHEMA + "# CHECK: the bounds\n")
    main_here("check", cohort, "--accept-problems", REASON)
    with refused(Code.MARKS_OPEN):
        fits(cohort)


def test_simulated_patients_need_no_look(tmp_path: Path) -> None:
    main_here("simulate", "--patients", 40, "--out", tmp_path / "cohort")
    assert (fits(tmp_path / "cohort") / "release").is_dir()


def test_status_says_whether_and_how_a_cohort_was_checked(cohort: Path, odd: Path) -> None:
    assert "not yet" in main_here("status", cohort)[1]
    assert f"longsynth check {cohort}" in main_here("status", cohort)[1]
    main_here("check", cohort, "--by", "A. Steward")
    said = main_here("status", cohort)[1]
    assert "green" in said
    assert "A. Steward" in said
    assert "longsynth plan" in said
    main_here("check", odd)
    told = json.loads(main_here("status", odd, "--json")[1])
    assert told["checked"]["colour"] == "red"
    assert told["next"] == [f"longsynth check {odd}"]
    (odd / "schema.yaml").write_text(SCHEMA + "\n")
    assert "changed" in main_here("status", odd)[1]


def test_a_table_of_several_files_has_a_fingerprint(tmp_path: Path, cohort: Path) -> None:
    table = cohort / "observations.parquet"
    content = table.read_bytes()
    table.unlink()
    table.mkdir()
    (table / "part-0.parquet").write_bytes(content)
    before = fingerprint_of(cohort)
    (table / "part-1.parquet").write_bytes(content)
    assert fingerprint_of(cohort) != before
