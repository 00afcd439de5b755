"""From raw exports to signed releases and dossiers, as the tutorial does it: by commands alone."""

import json
import re
import shlex
from pathlib import Path

import pytest
from numpy.random import default_rng
from typer.testing import CliRunner

from longsynth.commands.app import app
from readers.test_table import EXPORTS, _maker

PATIENTS = 40
METHODS = {"ward": "copula-score"}  # the default, once: its model takes most of a command's time
DECISIONS = {"ward": 2, "laboratory": 2, "follow_up": 3, "clinic": 2}  # as the tutorial says
TUTORIAL = Path(__file__).parents[2] / "docs/tutorial.md"


def typed(command: str) -> str:
    """Type a command, and return what it says."""
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, (command, done.output)
    return done.output


@pytest.mark.parametrize("export", EXPORTS)
def test_an_odd_export_becomes_a_signed_release_and_a_dossier_in_six_commands(
    export: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    getattr(_maker(), export)(tmp_path, default_rng(4), PATIENTS)
    monkeypatch.chdir(tmp_path)
    typed("longsynth keygen --out steward --name 'B. Steward'")  # once for all releases
    files = " ".join(EXPORTS[export])
    assert f"recipe new {EXPORTS[export][0]}" in typed(f"longsynth status {EXPORTS[export][0]}")

    typed(f"longsynth recipe new {files} --name 'a journey' --out recipe.yaml")
    recipe = Path("recipe.yaml")
    decided, marks = re.subn(r" +# (?:CHECK|FILL IN).*", "", recipe.read_text("utf-8"))
    assert marks == DECISIONS[export]
    recipe.write_text(decided, encoding="utf-8")

    said = [
        typed(f"longsynth import table {files} --recipe recipe.yaml --out cohort"),
        typed("longsynth check cohort --by 'A. Steward'"),
    ]
    assert "check cohort" in said[0] and "Verdict: green" in said[1]
    assert "fit cohort" in typed("longsynth status cohort")
    method = METHODS.get(export, "dp-score")
    fitted = f"longsynth fit cohort --epsilon 4 --delta 1e-3 --method {method}"
    typed(f"{fitted} --by 'A. Engineer' --out run")
    state = json.loads(typed("longsynth status run --json"))
    assert any(" sign " in line for line in state["next"])
    assert any(" dossier " in line for line in state["next"]) and not state["dossiers"]
    assert "dossier" in typed("longsynth sign run/release --key steward")
    typed("longsynth dossier run --out dossier.html --redraws 0")

    state = json.loads(typed("longsynth status run --json"))
    assert state["signed_by"] == "B. Steward" and state["verified"]
    assert state["dossiers"] == ["dossier.html"]
    assert not any(" dossier " in line for line in state["next"])
    assert "a journey" in Path("dossier.html").read_text("utf-8")
    assert "All" in typed("longsynth verify run/release --key steward.pub")


def test_status_leads_through_a_hold_out_and_an_audit_to_the_internal_dossier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed("longsynth simulate --seed 3 --patients 160 --out cohort")
    typed("longsynth split cohort --holdout 0.4 --out parts")
    assert "check parts/train" in typed("longsynth status parts")
    typed("longsynth check parts/train")
    assert "fit parts/train" in typed("longsynth status parts")
    typed("longsynth fit parts/train --epsilon 4 --delta 1e-3 --method dp-score --out run")
    typed("longsynth sample run/release --patients 60 --seed 1 --out synthetic")
    audit = "--train parts/train --test parts/holdout --synthetic synthetic --bootstrap 0"
    assert "status audit" in typed(f"longsynth audit {audit} --out audit")
    command = "longsynth dossier run --audit audit --out internal.html"
    assert command in typed("longsynth status audit")
    assert command in typed("longsynth status run")


def test_the_tutorial_says_how_many_decisions_each_export_takes() -> None:
    text = TUTORIAL.read_text("utf-8")
    for export, files in EXPORTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{files[0]}`"))
        assert row.split("|")[3].strip() == str(DECISIONS[export])
