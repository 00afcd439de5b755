"""METHODS: every generator by name. Third parties add theirs as entry points."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points

from longsynth.bundle import Bundle
from longsynth.methods.method import Method, PrivateMethod
from longsynth.methods.nonprivate.bootstrap import Bootstrap
from longsynth.methods.nonprivate.gaussian import ScoreDiff, TemporalPCA
from longsynth.methods.nonprivate.independent import Independent
from longsynth.methods.private.copula.method import CopulaScore
from longsynth.methods.private.dp_markov import DPMarkov
from longsynth.methods.private.dp_score import DPScore
from longsynth.methods.private.trust import Trust
from longsynth.sampling.model import Model
from longsynth.system.errors import Refused
from longsynth.system.text import is_name
from longsynth.system.workers import one_thread

ENTRY_POINTS = "longsynth.methods"  # name = "package.module:MethodClass"
METHODS: dict[str, Method] = {
    "bootstrap": Bootstrap(),
    "independent": Independent(),
    "temporal-pca": TemporalPCA(),
    "scorediff": ScoreDiff(),
    "dp-markov": DPMarkov(),
    "dp-score": DPScore(),
    "trust": Trust(),
    "copula-score": CopulaScore(),
}


def all_methods() -> dict[str, Method]:
    """Ours and those of installed packages; ours cannot be replaced."""
    points = (p for p in entry_points(group=ENTRY_POINTS) if p.name not in METHODS)
    return {point.name: _loaded(point) for point in points} | METHODS


def method_named(name: str) -> Method:
    found = METHODS.get(name) or all_methods().get(name)
    if found is None:
        raise Refused(f"method {name!r} is unknown: {_instead_of(name, all_methods())}")
    return found


def _loaded(point: EntryPoint) -> Method:
    if not is_name(point.name):
        raise Refused(
            f"a package adds the method {point.name!r}, which cannot stand as a name: remove the "
            "package, or ask its author for a plain name."
        )
    method: Method = point.load()()
    if method.name != point.name:  # a release would name another method than the one that made it
        raise Refused(
            f"method {point.name!r} calls itself {method.name!r}: its author has to use one name, "
            "or uninstall it."
        )
    return method


def _instead_of(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = [other for other in known if name and name.lower() in other]
    near = near or get_close_matches(name, known)
    return f"choose {', '.join(known)}." + (f" Did you mean '{near[0]}'?" if near else "")


def private_method(name: str) -> PrivateMethod:
    found = method_named(name)
    if not isinstance(found, PrivateMethod):
        raise Refused(f"method '{name}' is NOT PRIVATE: there is nothing to plan or to promise.")
    return found


def model_of(bundle: Bundle) -> Model:
    """Return the sampler that a bundle describes. Post-processing: no data, no noise."""
    with one_thread():  # more would change the last bits
        return method_named(bundle.method).model(bundle)
