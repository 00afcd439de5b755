"""Ctrl-C while a command is being loaded: one sentence, and an end by the signal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomic.outputs import environment, hearing
from longsynth.commands import exit as ending
from longsynth.commands.__main__ import SENTENCE, EarlyInterruptHandler

SCRIPT = Path(sys.executable).with_name("longsynth")


def said_after(moment: float, *arguments: str) -> tuple[int, str]:
    """Send Ctrl-C so many seconds after the start; return how it ended and what it said."""
    program = [SCRIPT] if SCRIPT.exists() else [sys.executable, "-m", "longsynth.commands"]
    child = subprocess.Popen(
        [*program, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        preexec_fn=hearing,
    )
    time.sleep(moment)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    return child.returncode, said


def own_part(said: str) -> bool:
    """Whether our code had begun: before that, Python itself answers with a traceback."""
    return "longsynth" in said.rpartition("most recent call last")[2] and "import main" not in said


@pytest.mark.parametrize("milliseconds", [0, 20, 50, 100, 200, 400])
def test_an_interrupt_at_any_moment_is_no_traceback_of_ours(
    milliseconds: int, tmp_path: Path
) -> None:
    for turn in range(2):
        out = tmp_path / str(turn)
        code, said = said_after(
            milliseconds / 1000, "simulate", "--patients", "2000000", "--out", str(out)
        )
        if "Traceback" in said:
            assert not own_part(said), said
            continue
        assert code == -signal.SIGINT
        assert said.count("\n") <= 1, said
        assert said == "" or said.startswith("longsynth: interrupted (SIGINT)"), said
        assert not out.exists()


STOPPED = """
import os, signal, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = ["longsynth", "methods"]
sys.meta_path.insert(0, Watch())
from longsynth.commands.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "name",
    ["longsynth.commands.app", "typer", "longsynth.commands.exit", "pydantic", "numpy", "yaml"],
)
def test_an_interrupt_while_a_library_is_loaded_is_one_sentence(name: str) -> None:
    command = [sys.executable, "-c", STOPPED.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=hearing)
    assert done.returncode == -signal.SIGINT, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("longsynth: interrupted (SIGINT)")


def test_nothing_that_takes_time_is_loaded_before_the_handler_is_set() -> None:
    asked = "import sys; before = set(sys.modules); import longsynth.commands.__main__; "
    asked += "print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    names = ("", ".commands", ".commands.__main__")
    loaded = [f"longsynth{name}" for name in names]
    assert done.stdout.strip() == str(loaded), done.stderr


def test_what_nohup_has_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with EarlyInterruptHandler():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_afterwards_all_is_as_it_was_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with EarlyInterruptHandler():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert SENTENCE.count(b"\n") == 1


class Cleaned:
    """Is interrupted where Python can only print an exception, and goes on."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_where_python_cannot_raise_one_is_raised_soon_after(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending._Stop, "end", lambda _: None)
    went_on: list[bool] = []

    def command() -> None:
        Cleaned()  # and gone at once
        went_on.append(True)
        time.sleep(30)
        pytest.fail("the interrupt was lost")

    handlers = {n: signal.getsignal(n) for n in ending.STOPS}
    hook = sys.unraisablehook
    try:
        with pytest.raises(SystemExit) as ended:
            ending.run(command)
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert went_on == [True]
    assert ended.value.code == 128 + signal.SIGINT
    assert capsys.readouterr().err.startswith("longsynth: interrupted (SIGINT)")
