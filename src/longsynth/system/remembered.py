"""What was made of the last argument, for those that ask for the same one batch by batch."""

from collections.abc import Callable
from typing import TypeVar

Argument = TypeVar("Argument")
Made = TypeVar("Made")


def remembered(make: Callable[[Argument], Made]) -> Callable[[Argument], Made]:
    """Make it anew for another object only. A schema is frozen, but one that holds a mapping has
    no hash: it is known by being the same object, which is kept so that no other takes its place.
    """
    last: tuple[Argument, Made] | None = None

    def made(argument: Argument) -> Made:
        nonlocal last
        found = last  # threads share it
        if found is None or found[0] is not argument:
            last = found = argument, make(argument)
        return found[1]

    return made
