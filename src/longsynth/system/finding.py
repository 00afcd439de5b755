"""Finding: what one check of a release found, in a sentence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    good: bool
    sentence: str
    caution: bool = False  # it holds, but whoever relies on it has to know this and to judge it
