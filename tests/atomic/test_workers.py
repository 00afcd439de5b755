"""Processes that work for a command end with it, however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from longsynth.system.errors import Code
from longsynth.system.workers import in_threads, work_through
from refusals import refused

WORKED_FOR = """
import os, time
from longsynth.system.workers import work_through

def piece():
    print("at work:", os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    work_through([piece] * 4, 2, lambda done, total: None)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_no_process_outlives_the_command_that_started_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    script = tmp_path / "command.py"
    script.write_text(WORKED_FOR)
    command = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    at_work = [int(command.stdout.readline().removeprefix("at work: ")) for _ in range(2)]
    try:
        command.send_signal(number)
        more, _ = command.communicate(timeout=60)  # all that hold the other end are gone
    finally:
        command.kill()
        for process in at_work:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    assert command.returncode == -number
    assert len(set(at_work)) == 2
    assert more == ""


def test_a_terminal_that_closes_makes_python_say_nothing(tmp_path: Path) -> None:
    """SIGHUP reaches the whole group: it must not end what Python tracks shared resources with."""
    script = tmp_path / "command.py"
    heard = "import signal, sys\nsignal.signal(signal.SIGHUP, lambda *_: sys.exit(3))\n"
    script.write_text(heard + WORKED_FOR)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = subprocess.Popen([sys.executable, script], text=True, start_new_session=True, **pipes)
    assert command.stdout is not None
    command.stdout.readline()
    os.killpg(command.pid, signal.SIGHUP)
    try:
        _, said = command.communicate(timeout=60)
    finally:
        command.kill()
    assert "resource_tracker" not in said


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_the_system_kills_ends_the_command_with_a_sentence() -> None:
    with refused(Code.PROCESS_KILLED):
        work_through([killed], 1, lambda done, total: None)


def test_results_come_in_the_order_of_the_pieces_wherever_they_are_worked_on() -> None:
    pieces = [partial(pow, number, 2) for number in range(5)]
    for processes in (0, 2):
        seen: list[tuple[int, int]] = []
        found = work_through(pieces, processes, lambda *of, seen=seen: seen.append(of))
        assert found == [0, 1, 4, 9, 16]
        assert seen == [(done, 5) for done in range(6)]


def test_threads_give_results_in_order_and_hold_few_pieces() -> None:
    asked: list[int] = []

    def pieces() -> Iterator[int]:
        for number in range(50):
            asked.append(number)
            yield number

    for jobs in (1, 3):
        asked.clear()
        for place, found in enumerate(in_threads(lambda n: n * n, pieces(), jobs)):
            assert found == place * place
            assert len(asked) <= place + jobs + 2
    assert place == 49


def test_an_error_in_a_thread_ends_the_others() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda n: 1 // (n - 3), range(1000), 2))
