"""Names of people and roles: when two of them mean the same."""

from collections.abc import Iterable
from unicodedata import normalize

from longsynth.system.errors import Refused
from longsynth.system.outside_text import NAME, is_name


def require_name(name: str) -> None:
    if not is_name(name):
        raise Refused(
            f"{name!r} cannot stand as a name: use up to {NAME} letters, digits, spaces and "
            ". , @ : + ' - signs, beginning with a letter or a digit."
        )


def same_name(one: str, other: str) -> bool:
    """Capitals, the width of blanks and the way letters are encoded make no other person."""
    return _plain(one) == _plain(other)


def is_among(name: str, names: Iterable[str]) -> bool:
    return any(same_name(name, other) for other in names)


def _plain(name: str) -> str:
    folded = normalize("NFKC", name).casefold()
    return " ".join(normalize("NFKC", folded).split())
