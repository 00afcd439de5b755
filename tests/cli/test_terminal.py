"""What a newcomer types: nothing, the wrong word, the wrong folder; and what a script reads."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import preloaded
from longsynth.commands.app import FIRST_COMMANDS, app
from longsynth.show.terminal import bar

BOOKED = ["--book", "book", "--dataset", "ward", "--by", "An Engineer"]
PROMISE = ["--epsilon", "4", "--delta", "1e-4"]
DRAWN = ["--patients", 5, "--seed", 1, "--out", "x"]
EXPORT = Path(__file__).parents[2] / "examples/exports/ward.csv"


def longsynth(*arguments: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "120"} | more
    return preloaded.longsynth(*arguments, cwd=cwd, environment=environment)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort, two runs of it, and synthetic patients."""
    folder = tmp_path_factory.mktemp("terminal")
    for step in (
        ["simulate", "--patients", 60, "--out", "cohort"],
        ["budget", "init", "book"],
        ["budget", "grant", "book", "--dataset", "ward", "--epsilon", "8", "--delta", "1e-4"],
        ["fit", "cohort", *PROMISE, "--method", "dp-markov", *BOOKED, "--out", "run"],
        ["fit", "cohort", "--method", "bootstrap", "--out", "raw"],
        ["sample", "run/release", "--patients", 20, "--seed", 7, "--out", "synthetic"],
        ["keygen", "--out", "key", "--name", "A Steward"],
    ):
        done = longsynth(*step, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_alone_it_says_where_to_start_and_what_it_says_can_be_typed(tmp_path: Path) -> None:
    done = longsynth(cwd=tmp_path)
    assert done.returncode == 0
    assert "longsynth demo" in done.stdout
    shutil.copy(EXPORT, tmp_path / "ward.csv")
    readers = ("I have an export of patient data", "I want to know what it would cost")
    for command in [command for reader in readers for command in FIRST_COMMANDS[reader]]:
        assert command in done.stdout
        typed = longsynth(*command.split()[1:], cwd=tmp_path)
        assert typed.returncode == 0, typed.stderr


def test_the_status_of_a_run_says_what_stands_and_what_to_type_next(work: Path) -> None:
    done = longsynth("status", "run", cwd=work)
    assert done.returncode == 0, done.stderr
    for phrase in (
        "you may share it",
        "dp-markov",
        "4 at δ = 0.0001",
        "spent for 'ward'",
        "entry 3",
        "An Engineer",
        "not signed",
        "checks passed",
        "longsynth verify run/release synthetic",
        "longsynth sign run/release --key KEY",
    ):
        assert phrase in done.stdout, phrase
    commands = [line.split() for line in done.stdout.partition("Next:\n")[2].splitlines()]
    for command in commands:
        typed = longsynth(*command[1:], cwd=work)
        assert typed.returncode == (2 if "KEY" in command else 0), typed.stderr


def test_the_status_of_a_run_is_the_same_for_a_script(work: Path) -> None:
    found = json.loads(longsynth("status", "run", "--json", cwd=work).stdout)
    assert found["kind"] == "release"
    assert (found["epsilon"], found["patients"], found["method"]) == (4.0, 60, "dp-markov")
    assert found["verified"] is True
    assert found["signed"] is False
    assert found["drawn"] == ["synthetic"]
    assert sum(found["lines"].values()) == pytest.approx(1)
    (account,) = found["accounts"]
    assert account["spent_rho"] == pytest.approx(found["rho"])
    assert found["fingerprint"] in (work / "run/release/manifest.json").read_text()


def test_a_signature_is_told_and_a_changed_release_is_not_called_fit_to_leave(
    work: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(work / "run", run)
    assert longsynth("sign", run / "release", "--key", work / "key", cwd=work).returncode == 0
    signed = longsynth("status", run, cwd=work).stdout
    assert "by A Steward" in signed
    assert "longsynth sign" not in signed.partition("Next:")[2]
    ledger = run / "release/ledger.json"
    ledger.write_text(ledger.read_text().replace('"epsilon": 4.0', '"epsilon": 3.0'))
    for arguments in (["status", run], ["status", run / "release"]):
        broken = longsynth(*arguments, cwd=work)
        assert broken.returncode == 1
        assert "FAIL" in broken.stdout
        assert "may share it" not in broken.stdout
    ledger.write_text("{}")
    hopeless = longsynth("status", run, cwd=work)
    assert hopeless.returncode == 1
    assert "may share it" not in hopeless.stdout
    assert json.loads(longsynth("status", run, "--json", cwd=work).stdout)["verified"] is False


def test_every_kind_of_folder_has_a_status(work: Path) -> None:
    said = {name: longsynth("status", name, cwd=work) for name in ("cohort", "raw", "synthetic")}
    assert all(done.returncode == 0 for done in said.values())
    assert "do not share it" in said["cohort"].stdout
    assert "checked" in said["cohort"].stdout
    assert "longsynth plan cohort/schema.yaml" in said["cohort"].stdout
    assert "NOT PRIVATE" in said["raw"].stdout
    assert "longsynth verify run/release synthetic" in said["synthetic"].stdout
    lost = longsynth("status", ".", cwd=work)
    assert lost.returncode == 2
    assert "longsynth status run" in lost.stderr
    assert longsynth("status", "nowhere", cwd=work).returncode == 2


MISTAKES = {
    "a word that is nearly one": (["fitt"], "'fit'"),
    "a word within a group": (["budget", "shw", "book"], "'show'"),
    "a flag that is nearly one": (["fit", "cohort", "--epsilom", 4], "--epsilon"),
    "nothing after the command": (["fit"], "longsynth fit cohort --epsilon"),
    "half of the options": (["sample", "run/release", "--seed", 1], "--patients 500 --seed 7"),
    "a cohort for a release": (["ledger", "cohort"], "longsynth status cohort"),
    "a run for a cohort": (["check", "run"], "run is a run"),
    "a run for a schema": (["schema", "check", "run"], "run/release"),
    "a run for a release": (["sample", "run", *DRAWN], "Give run/release. [not-a-release]"),
    "a run to verify": (["verify", "run"], "Give run/release. [not-a-release]"),
    "a release that is not there": (
        ["verify", "nowhere"],
        "for example RUN/release. [not-a-release]",
    ),
    "a drawing that is not there": (["verify", "run/release", "nowhere"], "[file-missing]"),
    "nothing after a group's command": (["budget", "grant"], "longsynth budget grant ward.book"),
    "words for a number": (["fit", "cohort", "--epsilon", "abc"], "--epsilon 4"),
    "no budget at all": (
        ["fit", "cohort", "--epsilon", 0, "--delta", "1e-4", "--out", "x"],
        "[budget-unusable]",
    ),
    "a file for a folder": (
        ["fit", "cohort/schema.yaml", *PROMISE, "--out", "x"],
        "Give the cohort's folder",
    ),
    "a folder that holds something": (
        ["fit", "cohort", *PROMISE, "--out", "run"],
        "[output-exists]",
    ),
    "a method that is nearly one": (
        ["fit", "cohort", *PROMISE, "--method", "copula", "--out", "x"],
        "Did you mean 'copula-score'?",
    ),
    "a format that is nearly one": (
        ["import", "tabel", "ward.csv", "--recipe", "recipe.yaml", "--out", "x"],
        "Choose table, events, fhir, meds, omop. Did you mean 'table'?",
    ),
    "no key yet": (["sign", "run/release", "--key", "none"], "longsynth keygen"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_to_type_instead(work: Path, mistake: str) -> None:
    arguments, remedy = MISTAKES[mistake]
    done = longsynth(*arguments, cwd=work)
    assert done.returncode == 2
    assert done.stdout == ""
    words = " ".join(re.sub("[│╭╰─╮╯]", " ", done.stderr).split())
    assert remedy in words


def leaves(group: Any, *before: str) -> Iterator[tuple[list[str], Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *before, name)
        else:
            yield [*before, name], command


def test_every_command_shows_an_example_with_options_that_exist() -> None:
    for called, command in leaves(typer.main.get_command(app)):
        words = (command.epilog or "").split()
        assert words[: len(called) + 3] == ["For", "example:", "longsynth", *called]
        known = {flag for option in command.params for flag in option.opts}
        assert {word for word in words if word.startswith("--")} <= known
        required = {p.opts[0] for p in command.params if p.required and p.opts[0].startswith("-")}
        assert required <= set(words), called


@pytest.mark.parametrize(
    "arguments",
    [
        ["methods"],
        ["plan", "cohort/schema.yaml", "--patients", 60, *PROMISE],
        ["ledger", "run/release"],
        ["verify", "run/release", "synthetic"],
        ["status", "run"],
        ["check", "cohort"],
        ["schema", "check", "cohort"],
        ["budget", "show", "book"],
        ["budget", "verify", "book"],
    ],
    ids=lambda a: " ".join(map(str, a[:2])),
)
def test_what_a_script_would_read_is_json(work: Path, arguments: list[object]) -> None:
    done = longsynth(*arguments, "--json", cwd=work)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_a_failed_check_is_json_and_exit_code_one(work: Path) -> None:
    done = longsynth("verify", "run/release", "cohort", "--json", cwd=work)
    assert done.returncode == 1
    assert json.loads(done.stdout)["holds"] is False


def test_no_color_is_respected_where_colour_is_forced(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    monkeypatch.setattr(os, "environ", plain)
    assert colour.search(longsynth("verify", "run/release", cwd=work, **forced).stdout)
    told = longsynth("verify", "run/release", cwd=work, NO_COLOR="1", **forced)
    assert not colour.search(told.stdout)
    assert "ok" in told.stdout


def test_a_shell_can_complete_commands_and_options() -> None:
    named = "import sys; sys.argv[0] = 'longsynth'; "
    called = named + "from longsynth.commands.__main__ import main; main()"
    for typed, place, wanted in (
        ("longsynth sta", "1", "status"),
        ("longsynth fit --eps", "2", "--epsilon"),
        ("longsynth budget gr", "2", "grant"),
    ):
        asked = {"_LONGSYNTH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": place}
        done = subprocess.run(
            [sys.executable, "-c", called], capture_output=True, text=True, env=os.environ | asked
        )
        assert done.stdout.split() == [wanted], done.stderr


def test_bars_are_as_long_as_their_shares() -> None:
    assert bar(0, 4) == "    "
    assert bar(1, 4) == bar(7, 4) == "████"
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert {len(bar(k / 100)) for k in range(101)} == {10}
