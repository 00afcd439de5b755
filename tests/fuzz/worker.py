"""A process that tries a range of inputs and reports each in a line of JSON.

The timers' own action ends the process, also inside a library that never returns to Python: the
driver sees the signal, counts a hang, and starts another process behind that input.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.kind import Kind


def main(kinds: str, seed: int, numbers: range, limit: float, memory: int) -> None:
    from fuzz.kind import kind_of
    from fuzz.watch import try_input

    chosen = _kinds(kinds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("error")
    reports = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        tempfile.tempdir = place
        for number in numbers:
            kind = kind_of(number, chosen)
            reports.write(json.dumps([number, kind.name]) + "\n")
            reports.flush()
            _set_timers(limit)
            outcome = try_input(kind, seed, number, Path(place) / "input")
            _set_timers(0)
            reports.write(json.dumps(asdict(outcome)) + "\n")
            reports.flush()


def _kinds(wanted: str) -> "tuple[Kind, ...]":
    if wanted == "readers":
        from fuzz.targets import KINDS
    else:
        from fuzz.broken import KINDS
    return KINDS


def _set_timers(limit: float) -> None:
    """Waiting counts against the limit; work already against a quarter of it, as others may share
    the processor."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    signal.setitimer(signal.ITIMER_PROF, limit / 4)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # so that this folder is the package `fuzz`
    kinds, limit, memory, *numbers = sys.argv[1:]
    seed, *ends = map(int, numbers)
    main(kinds, seed, range(*ends), float(limit), int(memory))
