"""`longsynth bench`: what it is given, what it refuses."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from longsynth.system.errors import Refused
from longsynth_lab.commands import app


def run(*arguments: str) -> None:
    CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_lists_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    for arguments in (("--seeds", "11,x"), ("--seeds", "1.5"), ("--epsilon", "twelve")):
        with pytest.raises(Refused, match=f"{arguments[0]} takes numbers"):
            run("population", "--out", str(tmp_path / "out"), *arguments)


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="--resume"):
        run("paper", "--out", str(tmp_path))


def test_population_prints_its_table(tmp_path: Path) -> None:
    wanted = ["--methods", "independent", "--seeds", "11", "--train-patients", "40", "--jobs", "1"]
    found = CliRunner().invoke(app, ["population", "--out", str(tmp_path / "out"), *wanted])
    assert found.exit_code == 0
    assert "| Independent |" in found.output


def test_membership_prints_what_can_be_said_and_can_be_continued(tmp_path: Path) -> None:
    wanted = ["--methods", "bootstrap,dp-score", "--seeds", "1,2", "--epsilon", "1,4"]
    wanted += ["--train-patients", "40", "--jobs", "1", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, ["membership", *wanted])
    assert found.exit_code == 0, found.exception
    assert "of 4 private rows have an uncorrected 95 % interval" in found.output
    page = (tmp_path / "out" / "MEMBERSHIP.md").read_text(encoding="utf-8")
    assert page.count("| DP-Score |") == 4  # two budgets under two attacks
    assert page.count("| Bootstrap | – |") == 2
    again = CliRunner().invoke(app, ["membership", *wanted, "--resume"])
    assert again.output == found.output
