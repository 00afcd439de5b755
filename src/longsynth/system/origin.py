"""Origin: which code made a result. longsynth's version, its libraries, and a method's package.

An origin is a claim. A release repeats it, and a signature covers it.
"""

import platform
import re
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

VERSION, OPENDP_VERSION = version("longsynth"), version("opendp")
OURS = "longsynth"
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")
_METHOD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def surroundings() -> dict[str, str]:
    """Return the platform and library versions under which the same bits can be expected."""
    import numpy
    import scipy.linalg  # noqa: F401  so that its BLAS is loaded and listed
    from threadpoolctl import threadpool_info

    blas: list[dict[str, Any]] = [i for i in threadpool_info() if i.get("user_api") == "blas"]
    kernels = sorted({f"{i['internal_api']} {i['version']} {i.get('architecture')}" for i in blas})
    return {
        "longsynth": VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "numpy": numpy.__version__,
        "pyarrow": version("pyarrow"),
        "blas": "; ".join(kernels),
    }


@dataclass(frozen=True, slots=True)
class Origin:
    """The installed package that a method came with, and a hash of its code.

    The hash covers every file of the top-level package or module with the method's class, except
    hidden files and compiled copies. None: not installed as a package, or no file was found.
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
        """Return the warning for everyone who relies on a method that is not ours."""
        if self.ours:
            return None
        return (
            f"method '{method}' comes from {self.named}, not from longsynth ({self.hashed}). "
            "longsynth has not proved its sensitivity. The guarantee (ε, δ) relies on the claim of "
            "the method's author that each row depends on one patient only."
        )


UNKNOWN = Origin()


def origin_json(origin: Origin) -> dict[str, Any]:
    return asdict(origin)


def read_origin(content: Any) -> Origin | None:
    """Return what `origin_json` wrote, or None for anything else."""
    try:
        origin = Origin(**content)
    except TypeError:
        return None
    return origin if is_plausible(origin) else None


def is_method_name(text: str) -> bool:
    return _is(_METHOD, text)


def is_plausible(origin: Origin) -> bool:
    """A package has a name and a version. Ours also has a hash."""
    return (
        (origin.distribution is None) == (origin.version is None)
        and _is(_DISTRIBUTION, origin.distribution)
        and _is(_VERSION, origin.version)
        and _is(_SHA256, origin.sha256)
        and not (origin.ours and origin.sha256 is None)
    )


def _is(pattern: re.Pattern[str], text: object) -> bool:
    return text is None or (isinstance(text, str) and pattern.fullmatch(text) is not None)
