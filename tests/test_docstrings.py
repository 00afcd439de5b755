"""The examples in the docstrings of the public names run, and print what they show."""

import doctest
from pathlib import Path

import pytest

import longsynth
from preloaded import longsynth as command

KINDS = {"METHODS", "Bundle", "Cohort", "Plan", "Synthetic", "SparkCohort"}  # made by functions
REFUSALS = {"CohortError", "OverBudget", "Refused", "ReleaseError", "SchemaError"}
WITH_EXAMPLE = sorted(set(longsynth.__all__) - KINDS - REFUSALS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort, the same patients as a hospital's tables, and a run."""
    folder = tmp_path_factory.mktemp("docstrings")
    for arguments in (
        "simulate --patients 200 --seed 1 --out cohort",
        "simulate --patients 200 --seed 1 --out hospital",
        "fit cohort --epsilon 4 --delta 1e-5 --out run",
    ):
        assert command(*arguments.split(), cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_examples_run_and_print_what_they_show(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    public = getattr(longsynth, name)
    found = doctest.DocTestFinder(exclude_empty=True).find(public, name, globs={})
    tests = [test for test in found if test.examples]
    assert tests, f"longsynth.{name} has no example"
    printed: list[str] = []
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test, out=printed.append)
    assert not runner.failures, "".join(printed)
