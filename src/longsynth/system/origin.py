"""Origin: whose code a method is. A claim, which a release repeats and a signature covers."""

import re
from dataclasses import asdict, dataclass
from typing import Any

OURS = "longsynth"
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")
_METHOD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Origin:
    """The installed package that a method came with, and a hash of the code.

    The hash covers every file of the top-level package or module that holds the method's class, but
    for hidden files and compiled copies. None: not installed as a package, or no file was found.
    """

    distribution: str | None = None
    version: str | None = None
    sha256: str | None = None

    @property
    def ours(self) -> bool:
        """Whether longsynth's own theorems and tests cover the method."""
        return self.distribution == OURS

    @property
    def named(self) -> str:
        """The package in words."""
        if self.distribution is None:
            return "code that is not installed as a package"
        return f"the package {self.distribution} {self.version}"

    @property
    def hashed(self) -> str:
        return f"SHA-256 of the code: {self.sha256}" if self.sha256 else "its code has no hash"

    def caution(self, method: str) -> str | None:
        """What everyone has to be told who relies on a method that is not ours."""
        if self.ours:
            return None
        return (
            f"method '{method}' comes from {self.named}, not from longsynth ({self.hashed}). "
            "longsynth has not proved its sensitivity: that each row depends on one patient only "
            "is a claim of the method's author, and the promise of ε and δ rests on it."
        )


UNKNOWN = Origin()


def origin_json(found: Origin) -> dict[str, Any]:
    return asdict(found)


def read_origin(content: Any) -> Origin | None:
    """Return what `origin_json` wrote; None for anything else."""
    try:
        found = Origin(**content)
    except TypeError:
        return None
    return found if is_plausible(found) else None


def is_method_name(text: str) -> bool:
    return _is(_METHOD, text)


def is_plausible(found: Origin) -> bool:
    """A package has a name and a version. Ours has a hash as well."""
    return (
        (found.distribution is None) == (found.version is None)
        and _is(_DISTRIBUTION, found.distribution)
        and _is(_VERSION, found.version)
        and _is(_SHA256, found.sha256)
        and not (found.ours and found.sha256 is None)
    )


def _is(pattern: re.Pattern[str], text: object) -> bool:
    return text is None or (isinstance(text, str) and pattern.fullmatch(text) is not None)
