"""`longsynth attack game` as an auditor uses it: what it prints, writes and returns."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from longsynth.audit.game.verdict import read_report
from longsynth.commands.app import app
from longsynth.fit import fit
from longsynth.privacy.noise import OpenDPNoise
from longsynth.release.folder import Release, release_files
from longsynth.schema.file import dump
from longsynth.system.errors import Code, Refused
from support import random_cohort, small_plan, small_schema

FEW = ["--trials", "20", "--opendp-trials", "10"]
CLAIM = ["--patients", "40", "--epsilon", "12", "--delta", "1e-3", "--method", "trust"]
CLAIM += ["--accounting", "zcdp"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose data are nowhere: only its release folder is there."""
    folder = tmp_path_factory.mktemp("work") / "run"
    planned = small_plan(40, epsilon=12.0, delta=1e-3, method="dp-markov")
    (folder / "release").mkdir(parents=True)
    for name, content in release_files(Release(fit(random_cohort(40, 1), planned))).items():
        (folder / "release" / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "schema.yaml"
    path.write_text(dump(small_schema(length="full", release="joint")))
    return path


def game(*arguments: object) -> Result:
    command = ["attack", "game", *map(str, arguments), *FEW, "--jobs", "1"]
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, command)


def refusal(*arguments: object) -> str:
    error = game(*arguments).exception
    assert isinstance(error, Refused)
    return error.code


@pytest.mark.parametrize("place", ["", "release"])
def test_a_run_is_played_at_its_own_settings_without_its_data(run: Path, place: str) -> None:
    done = game(run / place, "--json")
    assert done.exit_code == 0, done.exception
    report = read_report(json.loads(done.stdout))
    claim = (report.method, report.patients, report.epsilon, report.delta, report.accounting)
    assert claim == ("dp-markov", 40, 12.0, 1e-3, "zcdp")
    assert {"transitions", "bins"} <= {row.line for row in report.rows}
    assert report.holds


def test_a_table_fits_a_hundred_columns_and_names_every_line_and_noise(schema: Path) -> None:
    done = game("--schema", schema, *CLAIM)
    assert done.exit_code == 0, done.exception
    for word in ("joint", "masks", "gap squares", "whole bundle", "fast draws", "fast fits"):
        assert word in done.stdout
    assert "OpenDP fits" in done.stdout
    assert "The claim stood" in done.stdout
    assert "proves nothing about other attacks" in done.stdout
    table = done.stdout.split("Which of two cohorts")[1].split("pair: the share")[0]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 100
    assert "…" not in done.stdout


def test_a_failed_claim_ends_with_1_and_says_why(
    schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(self: object, sums: Any, **_: float) -> Any:
        return np.array(sums)

    monkeypatch.setattr(OpenDPNoise, "add", silent)
    done = game("--schema", schema, *CLAIM)
    assert done.exit_code == 1
    assert "The claim FAILS:" in done.stdout
    assert "The claim stood" not in done.stdout
    assert "'joint': its noise has 0 ±" in done.stdout


def test_a_report_is_written_as_a_page_and_as_data(schema: Path, tmp_path: Path) -> None:
    done = game("--schema", schema, *CLAIM, "--out", tmp_path / "deep" / "report.md", "--json")
    assert done.exit_code == 0, done.exception
    page = (tmp_path / "deep" / "report.md").read_text()
    written = json.loads((tmp_path / "deep" / "report.json").read_text())
    assert written == json.loads(done.stdout)
    assert page.startswith("# The distinguishing game\n")
    assert "'trust', 40 patients, ε = 12, δ = 0.001" in page
    assert "| joint | 100.0 % |" in page
    assert "It assumes" in page or "it assumes" in page
    assert "Seed of the search and of the fast noise: 0." in page


def test_wrong_input_is_refused_before_anything_is_played(
    run: Path, schema: Path, tmp_path: Path
) -> None:
    (tmp_path / "there.json").write_text("mine")
    assert refusal(run, "--epsilon", 1) == Code.OPTIONS_CONFLICT
    assert refusal("--schema", schema, "--patients", 9) == Code.OPTION_MISSING
    assert refusal("--out", tmp_path / "there.md")
    assert refusal("--method", "bootstrap")
    assert refusal(tmp_path / "nowhere")
    assert (tmp_path / "there.json").read_text() == "mine"


def test_an_altered_release_is_not_played(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "release"
    other.mkdir()
    for path in (run / "release").iterdir():
        content = path.read_bytes()
        if path.name == "ledger.json":
            content = content.replace(b'"share": 0.', b'"share": 0.0', 1)
        (other / path.name).write_bytes(content)
    assert refusal(other)


def test_a_refusal_is_exit_code_2_and_a_finished_game_0_in_a_process_of_its_own(
    schema: Path,
) -> None:
    command = [sys.executable, "-W", "error", "-m", "longsynth.commands", "attack", "game"]
    environment = os.environ | {"NO_COLOR": "1"}
    for arguments, code in (([*CLAIM, *FEW, "--jobs", "2"], 0), (["--patients", "9"], 2)):
        done = subprocess.run(
            [*command, "--schema", str(schema), *arguments],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == code, done.stderr
        assert done.stderr == "" or code == 2
