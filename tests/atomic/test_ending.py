"""How a command ends: an exit code, and one sentence that never quotes an error's own text."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longsynth.commands import exit as ending
from longsynth.system.errors import ArithmeticFault, Refused, noting
from longsynth.system.folders import new_folder

SPENT = "The charge is spent."


Ended = tuple[int, list[int]]  # exit code, and the signals that the process sent itself at its end
Ending = Callable[[Callable[[], object]], Ended]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ending]:
    """Run a command to its end, but for the signal that would end the tests as well."""
    before = {number: signal.getsignal(number) for number in ending.STOPS}
    at_exit: list[Callable[[], None]] = []
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    monkeypatch.setattr(ending.atexit, "register", at_exit.append)
    monkeypatch.setattr(ending.atexit, "unregister", at_exit.remove)

    def run(command: Callable[[], object]) -> Ended:
        with pytest.raises(SystemExit) as end:
            ending.run(command)
        for function in at_exit:
            function()
        return int(end.value.code or 0), sent

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


def raised(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        with noting() as after:
            after.append(SPENT)
            raise error

    return command


def swallowed() -> None:
    """A library turns the interrupt into an error of its own, as DuckDB does."""
    with noting() as after:
        after.append(SPENT)
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("a cell") from None


def stopped() -> None:
    with noting() as after:
        after.append(SPENT)
        signal.raise_signal(signal.SIGHUP)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (stopped, 129, f"interrupted (SIGHUP). {SPENT}"),
        (swallowed, 143, f"interrupted (SIGTERM). {SPENT}"),
        (
            raised(Refused("a-code", "It is so.", "Do that.")),
            2,
            f"It is so. Do that. [a-code] {SPENT}",
        ),
        (raised(OSError(30, "a cell")), 2, f"[output-not-written] {SPENT}"),
        (
            raised(OSError(28, "a cell")),
            2,
            f"[output-not-written] {SPENT}",
        ),
        (raised(MemoryError("a cell")), 2, SPENT),
        (raised(ArithmeticFault("Wrong sum.")), 3, f"Wrong sum. {SPENT}"),
        (raised(ValueError("a cell")), 3, "unexpected ValueError at test_ending.py:"),
    ],
)
def test_every_end_has_its_code_its_sentence_and_what_is_not_undone(
    command: Callable[[], None],
    code: int,
    said: str,
    ended: Ending,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended(command) == (code, [code - 128] if code > 128 else [])
    shown = capsys.readouterr()
    assert shown.err.startswith("longsynth: ")
    assert said in shown.err
    assert SPENT in shown.err
    assert "a cell" not in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_without_a_note_an_interrupt_still_says_how_to_go_on(
    ended: Ending, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(lambda: signal.raise_signal(signal.SIGINT)) == (130, [signal.SIGINT])
    assert capsys.readouterr().err == f"longsynth: interrupted (SIGINT). {ending.RUN_AGAIN}\n"


def test_a_signal_after_the_work_is_done_does_not_undo_it(
    ended: Ending,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = ending._said

    def late(code: int, sentence: str) -> int:
        signal.raise_signal(signal.SIGTERM)
        return judged(code, sentence)

    monkeypatch.setattr(ending, "_said", late)
    assert ended(lambda: None) == (0, [])
    assert capsys.readouterr().err == ""


def test_handlers_are_put_back(ended: Ending) -> None:
    before = [signal.getsignal(number) for number in ending.STOPS]
    ended(lambda: None)
    assert [signal.getsignal(number) for number in ending.STOPS] == before


def test_no_temporary_folder_is_a_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ended: Ending,
) -> None:
    import tempfile

    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert ended(none) == (2, [])
    assert "Set TMPDIR" in capsys.readouterr().err


def test_a_second_interrupt_while_scratch_is_removed_does_not_leave_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from longsynth.system import folders

    rmtree, times = shutil.rmtree, [0]

    def interrupted(path: Path, ignore_errors: bool = False) -> None:
        times[0] += 1
        if times[0] == 1:
            raise KeyboardInterrupt
        rmtree(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(folders.shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out"):
        raise KeyboardInterrupt
    assert times == [2]
    assert list(tmp_path.iterdir()) == []
