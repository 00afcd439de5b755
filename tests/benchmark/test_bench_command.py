"""`longsynth bench`: what it is given, what it refuses."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from longsynth.commands.bench import app
from longsynth.errors import Refused


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
