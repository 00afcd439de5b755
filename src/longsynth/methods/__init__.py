"""One folder per private method: release.py sees patients, model.py sees the bundle only, and
settings.py is what they share. A baseline without privacy is one file.

The names below are what a method of your own needs of this package. They are loaded when first
used.
"""

TYPE_CHECKING = False  # so that `longsynth --help` loads nothing
if TYPE_CHECKING:
    from typing import Any

    from longsynth.methods import lines
    from longsynth.methods.fact import Fact
    from longsynth.methods.method import Line, OpenMethod, PrivateMethod, Work
    from longsynth.privacy.statistic import Statistic
    from longsynth.privacy.sums import Contribution

__all__ = [
    "DEFAULT",
    "Contribution",
    "Fact",
    "Line",
    "OpenMethod",
    "PrivateMethod",
    "Statistic",
    "Work",
    "lines",
]

DEFAULT = "copula-score"  # where nobody says which

_PLACES = {  # where names are defined, as above
    "methods.fact": ("Fact",),
    "methods.method": ("Line", "OpenMethod", "PrivateMethod", "Work"),
    "privacy.statistic": ("Statistic",),
    "privacy.sums": ("Contribution",),
}


def __getattr__(name: str) -> "Any":
    """Load what a name needs when it is first used."""
    from importlib import import_module  # noqa: TID251  the contracts see the imports above

    if name == "lines":
        return import_module("longsynth.methods.lines")
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"longsynth.{place}"), name)
    raise AttributeError(f"longsynth.methods has no {name!r}")
