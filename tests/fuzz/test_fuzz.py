"""The fuzzer notices every way of failing, and a slice of it runs with every test run."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from fuzz import broken, corpus
from fuzz.fuzz import BAD, outcomes, run, table
from fuzz.kind import Kind
from fuzz.targets import KINDS, imported
from fuzz.watch import GOOD, Outcome, try_input
from longsynth.commands.data import check
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.system.errors import ReleaseError

INPUTS = 120  # four cycles of all kinds; `make nightly` tries thousands


def test_the_fuzzer_notices_every_way_of_failing() -> None:
    tried = range(len(broken.KINDS))
    found = {r["kind"]: r["what"] for r in outcomes(0, tried, kinds="broken", limit=3.0)}
    expected = {read.__name__.strip("_"): what for read, what in broken.EXPECTED.items()}
    assert found == expected | {"not made": "not made"}
    assert set(found.values()) == {*GOOD, *BAD}


def test_a_slice_of_the_fuzzer_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    reports = run(INPUTS, seed=0)
    with capsys.disabled():
        sys.stdout.write(f"\n{table(reports)}\n")
    assert [report["number"] for report in reports] == list(range(INPUTS))
    assert {report["kind"] for report in reports} == {kind.name for kind in KINDS}
    assert [report for report in reports if report["what"] in BAD] == []
    assert {report["what"] for report in reports} == set(GOOD), "some of each, or it is one-sided"


def test_an_input_follows_from_its_seed_and_number(tmp_path: Path) -> None:
    def made(kind: Kind, name: str) -> dict[str, bytes]:
        import numpy as np

        folder = tmp_path / name
        folder.mkdir()
        kind.make(folder, np.random.default_rng([3, 5]))
        return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}

    for number, kind in enumerate(KINDS[:5]):
        assert made(kind, f"{number}a") == made(kind, f"{number}b")


def test_the_command_prints_its_counts_and_fails_where_a_reader_does() -> None:
    script = Path(__file__).parent / "fuzz.py"
    command = [sys.executable, str(script), "--inputs", "3", "--seed", "4"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 fuzzed inputs, seed 4" in done.stdout
    assert done.stdout.splitlines()[-2].split()[:2] == ["total", "3"]


def _tried(tmp_path: Path, files: dict[str, bytes]) -> Outcome:
    def make(folder: Path, _: object) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content)

    def read(folder: Path, _: object) -> list[str]:
        cohort = folder
        if (folder / "observations.csv").exists():
            imported(folder)
            cohort = folder / "cohort"
        with CohortFolder(cohort) as source:
            list(source.batches())
        with suppress(typer.Exit):  # of a red verdict
            check(cohort, json=True)
        return []

    return try_input(Kind("corpus", 1, make, read), 0, 0, tmp_path / "input")


@pytest.mark.parametrize("case", corpus.COHORTS)
def test_a_malformed_cohort_is_read_or_refused_at_once_and_in_words(
    tmp_path: Path, case: str
) -> None:
    outcome = _tried(tmp_path, corpus.COHORTS[case])
    assert outcome.what in GOOD, outcome.detail
    assert outcome.seconds < 10


@pytest.mark.parametrize("case", corpus.RECIPES)
def test_a_malformed_recipe_is_refused(tmp_path: Path, case: str) -> None:
    (tmp_path / RECIPE).write_bytes(corpus.RECIPES[case])
    with pytest.raises(ReleaseError):
        read_recipe(tmp_path)
