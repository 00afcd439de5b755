"""A kind of input, and what all of them share.

A reader returns the texts that it would show, or raises. Whatever is neither an answer nor
`Refused` is a fault, and so is an answer in which one patient's cells moved another's record.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from numpy.random import Generator

from fuzz.cohorts import write_typed

PROMISE = {"epsilon": 1.0, "delta": 1e-5, "method": "trust"}


class Fault(Exception):
    """A reader broke its word without raising."""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    share: int  # how often it comes in a cycle of all kinds
    make: Callable[[Path, Generator], None]
    read: Callable[[Path, Generator], list[str]]


@cache
def made_once() -> Path:
    """A place for what inputs are made from, with the well-formed cohort in it."""
    place = Path(tempfile.mkdtemp(prefix="base-"))
    (place / "cohort").mkdir()
    write_typed(place / "cohort")
    return place


def kind_of(number: int, kinds: tuple[Kind, ...]) -> Kind:
    """Return the kind of an input: they come in turn, each as often as its share says."""
    cycle = [kind for kind in kinds for _ in range(kind.share)]
    return cycle[number % len(cycle)]
