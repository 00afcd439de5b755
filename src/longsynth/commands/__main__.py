"""The console script. It answers Ctrl-C before anything that takes time is loaded.

Nothing is imported at first that Python has not loaded already: until the handler is set, Python
itself answers Ctrl-C, with a traceback. `commands/exit.py` takes over once there is anything to
clean up.
"""

import _signal as signal  # type: ignore[import-not-found]  # without the names, which take time
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

SENTENCE = b"longsynth: interrupted (SIGINT) before anything was begun.\n"


class EarlyInterruptHandler:
    """Answers Ctrl-C while a block runs, unless it is ignored, as under nohup."""

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before != signal.SIG_IGN:
            signal.signal(signal.SIGINT, _end)

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) is _end:  # nobody else has taken over
            signal.signal(signal.SIGINT, self._before)


def _end(signal_number: int, _: "FrameType | None") -> None:
    """Raise nothing: Python would print an exception that comes in the middle of an import."""
    try:
        os.write(2, SENTENCE)
    finally:
        signal.signal(signal_number, signal.SIG_DFL)
        os.kill(os.getpid(), signal_number)


def main() -> None:
    """Run the commands; `commands/exit.py` lists the exit codes."""
    with EarlyInterruptHandler():
        from longsynth.commands.app import app
        from longsynth.commands.exit import run

        run(app)


if __name__ == "__main__":
    main()
