"""Stopped commands: all or nothing, nothing left lying about, and a word on how to go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomic.outputs import WHOLE, Work, commands, environment, hearing, main_here, start

LOOP = 'for n in 1 2; do "$0" -m longsynth.commands simulate --patients 150000 --out "$1/$n"; done'


def wait_for(path: Path, child: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not path.exists() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    assert path.exists(), child.communicate()


@pytest.mark.parametrize(
    ("name", "number", "patients"),
    [
        ("fit", signal.SIGTERM, 300),
        ("sample", signal.SIGHUP, 100_000),
        ("simulate", signal.SIGINT, 150_000),
        ("audit", signal.SIGTERM, 300),
    ],
)
def test_a_stopped_command_leaves_nothing_and_says_how_to_go_on(
    work: Work, place: Path, tmp_path: Path, name: str, number: signal.Signals, patients: int
) -> None:
    (tmp_path / "tmp").mkdir()
    child = start(*commands(work, patients)[name], "--out", place / "out", TMPDIR=tmp_path / "tmp")
    wait_for(place / ".out.partial", child)
    os.killpg(child.pid, number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == -number  # a shell shows 128 more than the signal
    assert said == (
        f"longsynth: interrupted ({number.name}). Nothing was written at {place / 'out'}: run the "
        "same command to start again.\n"
    )
    assert list(place.iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_command_leaves_only_its_owners_and_the_same_command_then_works(
    work: Work, place: Path, tmp_path: Path
) -> None:
    command = [*commands(work, 300)["fit"], "--out", place / "out"]
    (tmp_path / "tmp").mkdir()
    child = start(*command, TMPDIR=tmp_path / "tmp")
    wait_for(place / ".out.partial" / "internal", child)
    child.kill()
    child.communicate(timeout=60)
    for left in (*place.iterdir(), *(tmp_path / "tmp").iterdir()):
        assert left.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in place.iterdir()] == [".out.partial"]
    code, _, said = main_here(*command)
    assert code == 0, said
    assert WHOLE["fit"](work, place / "out", 300)
    assert [p.name for p in place.iterdir()] == ["out"]


def test_an_interrupt_ends_the_shells_loop_too(place: Path) -> None:
    """Otherwise the next fit of a loop would start, and be paid for."""
    child = subprocess.Popen(
        ["bash", "-c", LOOP, sys.executable, str(place)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        preexec_fn=hearing,
    )
    wait_for(place / ".1.partial", child)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert said.count("interrupted (SIGINT)") == 1
    assert child.returncode == -signal.SIGINT
    assert list(place.iterdir()) == []


def test_what_was_ignored_from_the_start_stays_ignored_and_the_rest_does_not(place: Path) -> None:
    """As with nohup, or in the background of a script."""
    quiet = (
        f"trap '' INT HUP; exec {sys.executable} -m longsynth.commands simulate --patients 150000"
    )
    command = ["bash", "-c", f"{quiet} --out {place / 'out'}"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
    wait_for(place / ".out.partial", child)
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert (place / ".out.partial").exists()
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert "interrupted (SIGTERM)" in said
    assert list(place.iterdir()) == []
