"""How a command ends: one sentence, no traceback, and an exit code that a script can rely on.

0    done
1    a check failed (check, verify, bench paper)
2    refused: wrong input, no space, no permission; the sentence names the remedy
3    a bug in longsynth, or a fault of the machine
129  the terminal closed (SIGHUP), 130  Ctrl-C (SIGINT), 143  asked to end (SIGTERM)
141  nobody reads standard output any longer, as in `longsynth methods | head -1`

After a signal the process cleans up and then ends by that same signal. A loop in a shell then ends
too, instead of starting (and paying for) the next fit. A shell shows the codes above.
"""

import atexit
import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer, main_thread
from types import FrameType
from typing import NoReturn

import typer

from longsynth.system.errors import ArithmeticFault, Code, Refused, notes
from longsynth.system.folders import system_refusal
from longsynth.system.text import lines

STOPS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PIPE_CLOSED = 128 + signal.SIGPIPE
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
RUN_AGAIN = "Output folders that exist are complete. If yours is missing, run the command again."


@dataclass(slots=True, eq=False)
class _Stop:
    """Handles a signal. It raises while a command runs, and only records the signal afterwards."""

    number: int = 0
    raising: bool = True

    def __call__(self, number: int, _: FrameType | None) -> None:
        self.number = self.number or number
        if self.raising:
            raise KeyboardInterrupt

    def unraisable(self, lost: "sys.UnraisableHookArgs") -> None:
        """Repeat an interrupt that came where Python cannot raise one, such as a clean-up during an
        import. Print nothing, whatever it was: it could quote a record."""
        if self.raising and lost.exc_type is KeyboardInterrupt:
            main = main_thread().ident or 0  # whose sleep a signal of another thread does not end
            Timer(0.05, signal.pthread_kill, (main, self.number)).start()

    def end(self) -> None:
        """End by the signal. The first process of a container ignores it and just exits."""
        signal.signal(self.number, signal.SIG_DFL)
        os.kill(os.getpid(), self.number)


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command, say how it ended and exit."""
    stop = _Stop()
    atexit.register(stop.end)  # first in, last out: temporary folders are removed before
    before = {n: h for n in STOPS if (h := signal.getsignal(n)) is not signal.SIG_IGN}
    for number in before:  # nohup and & have some ignored: they stay so
        signal.signal(number, stop)
    hook, sys.unraisablehook = sys.unraisablehook, stop.unraisable
    code = _said(*_outcome(command, stop))
    if code - 128 not in STOPS:
        atexit.unregister(stop.end)
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
    sys.exit(code)


def _outcome(command: Callable[[], object], stop: _Stop) -> tuple[int, str]:
    try:
        command()
    except BaseException as error:  # noqa: BLE001  a traceback could quote a patient's value
        stop.raising = False
        return _explained(error, stop.number)
    stop.raising = False
    return 0, ""


def _explained(error: BaseException, stopped: int) -> tuple[int, str]:
    """Return the exit code and a sentence; a signal explains any error that came after it."""
    chain = list(_chain(error))
    after = " ".join(dict.fromkeys(note for one in chain for note in notes(one)))
    if isinstance(error, SystemExit) and not error.code:
        return 0, ""
    if stopped:
        return 128 + stopped, f"interrupted ({signal.Signals(stopped).name}). {after or RUN_AGAIN}"
    if any(isinstance(one, BrokenPipeError) for one in chain):
        return PIPE_CLOSED, ""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1, ""
    if isinstance(error, OSError | MemoryError):
        error = _as_refusal(error)
    if isinstance(error, Refused):
        return 2, f"{error} [{error.code}] {after}"
    if isinstance(error, ArithmeticFault):
        return 3, f"{error} {after}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return 3, (
        f"unexpected {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}. The "
        "message is hidden because it could quote a record. Please report this place, or use the "
        f"Python API to see more. {after}"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it came from."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        yield error
        visited.add(id(error))
        error = error.__cause__ or error.__context__


def _as_refusal(error: OSError | MemoryError) -> Refused:
    """Explain an error of the operating system that no other part has explained."""
    from tempfile import gettempdir

    if isinstance(error, MemoryError):
        return Refused(
            Code.NO_ROOM, "there is not enough memory.", "Use a larger machine, or fewer columns."
        )
    try:
        temporary = gettempdir()
    except OSError:
        problem = "there is no temporary folder to write to."
        return Refused(Code.OUTPUT_NOT_WRITTEN, problem, "Set TMPDIR to one.")
    if error.errno not in FULL:
        return system_refusal("the system refused", error)
    lost = f"the temporary folder {temporary}" if error.filename else "standard output"
    return system_refusal(f"{lost} could not be written", error)


def _said(code: int, sentence: str) -> int:
    """Print the sentence and return the code, which is another if standard output is lost."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):  # so that the interpreter does not try once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return code or PIPE_CLOSED
        if code in (0, 2):
            code = 2
            refusal = system_refusal("standard output could not be written", error)
            sentence = f"{refusal} [{refusal.code}]"
    if sentence:
        with suppress(OSError):  # a terminal that hung up
            typer.echo(lines(f"longsynth: {sentence.strip()}"), err=True)
    return code
