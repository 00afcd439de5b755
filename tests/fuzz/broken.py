"""Readers that fail on purpose, to see that the fuzzer notices each way of failing."""

import ctypes
import tempfile
import time
from pathlib import Path

from numpy.random import Generator

from fuzz.kind import Fault, Kind
from leaks.sentinels import MARK
from longsynth.system.errors import Refused


def _nothing(folder: Path, rng: Generator) -> None:
    """No input is needed to fail."""


def _accepts(folder: Path, rng: Generator) -> list[str]:
    return ["all is well"]


def _refuses(folder: Path, rng: Generator) -> list[str]:
    raise Refused("a-code", "it is wrong.", "Give another.")


def _breaks(folder: Path, rng: Generator) -> list[str]:
    raise KeyError("x")


def _moves(folder: Path, rng: Generator) -> list[str]:
    raise Fault("one patient's cells moved another's record")


def _quotes(folder: Path, rng: Generator) -> list[str]:
    try:
        raise ValueError(f"cannot read {MARK}-1")
    except ValueError:
        raise Refused("a-code", "cannot be read.", "Give another.") from None


def _hangs(folder: Path, rng: Generator) -> list[str]:
    time.sleep(60)
    return []


def _works_for_ever(folder: Path, rng: Generator) -> list[str]:
    while True:
        pass


def _hangs_in_a_library(folder: Path, rng: Generator) -> list[str]:
    ctypes.CDLL(None).pause()
    return []


def _crashes(folder: Path, rng: Generator) -> list[str]:
    ctypes.string_at(0)
    return []


def _leaves(folder: Path, rng: Generator) -> list[str]:
    tempfile.mkdtemp()
    return []


def _cannot_be_made(folder: Path, rng: Generator) -> None:
    raise ValueError("the fuzzer itself is wrong")


EXPECTED = {  # reader to what the fuzzer must call it
    _accepts: "accepted",
    _refuses: "refused",
    _breaks: "traceback",
    _moves: "traceback",
    _quotes: "sentinel",
    _hangs: "hang",
    _works_for_ever: "hang",
    _hangs_in_a_library: "hang",
    _crashes: "crash",
    _leaves: "left behind",
}
KINDS = (
    *(Kind(read.__name__.strip("_"), 1, _nothing, read) for read in EXPECTED),
    Kind("not made", 1, _cannot_be_made, _accepts),
)
