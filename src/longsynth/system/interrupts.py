"""Ctrl-C while a command is still being loaded: one sentence, and an end by that very signal.

`commands/exit.py` takes over once there is anything to clean up. Nothing is imported here that
Python has not loaded already: until the handler is set, Python itself answers, with a traceback.
"""

import _signal as signal  # type: ignore[import-not-found]  # without the names, which take time
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

SENTENCE = b"longsynth: interrupted (SIGINT) before anything was begun.\n"


class EarlyInterruptHandler:
    """Hears Ctrl-C while a block runs, unless it is ignored, as for what nohup starts."""

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before != signal.SIG_IGN:
            signal.signal(signal.SIGINT, _end)

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) is _end:  # nobody else has taken over
            signal.signal(signal.SIGINT, self._before)


def _end(number: int, _: "FrameType | None") -> None:
    """Raise nothing: Python would print an exception that comes in the middle of an import."""
    try:
        os.write(2, SENTENCE)
    finally:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
