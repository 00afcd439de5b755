"""METHODS: every generator by name, and whose code it is. Others add theirs as entry points."""

import re
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from longsynth.bundle import Bundle
from longsynth.methods.bootstrap import Bootstrap
from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.dp_markov import DPMarkov
from longsynth.methods.dp_score import DPScore
from longsynth.methods.independent import Independent
from longsynth.methods.method import Method, OpenMethod, PrivateMethod
from longsynth.methods.scorediff import ScoreDiff, TemporalPCA
from longsynth.methods.trust import Trust
from longsynth.sample import sampled
from longsynth.sampling.model import Model
from longsynth.sampling.selection import completed
from longsynth.system.errors import Code, Refused, checked, instead_of
from longsynth.system.origin import OURS, VERSION, Origin, is_plausible
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
_AS_SHIPPED = dict(METHODS)  # before any other package is loaded


def all_methods() -> dict[str, Method]:
    """Ours and those of installed packages; ours cannot be replaced."""
    points = (p for p in entry_points(group=ENTRY_POINTS) if p.name not in METHODS)
    return {point.name: _loaded(point) for point in points} | METHODS


def method_named(name: str) -> Method:
    method = METHODS.get(name) or all_methods().get(name)
    if method is None:
        remedy = instead_of(name, all_methods())
        raise Refused(Code.METHOD_UNKNOWN, f"method {name!r} is unknown.", remedy)
    return method


def _loaded(point: EntryPoint) -> Method:
    if not is_name(point.name):
        raise Refused(
            Code.METHOD_UNUSABLE,
            f"a package adds the method {point.name!r}, which is not a usable name.",
            "Remove the package, or ask its author for a simple name.",
        )
    method = point.load()()
    if not isinstance(method, PrivateMethod | OpenMethod):
        raise Refused(
            Code.METHOD_UNUSABLE,
            f"method {point.name!r} is neither a PrivateMethod nor an OpenMethod.",
            "Uninstall its package, or ask its author to derive it from longsynth.methods.",
        )
    if method.name != point.name:  # a release would name another method than the one that made it
        raise Refused(
            Code.METHOD_UNUSABLE,
            f"method {point.name!r} calls itself {method.name!r}.",
            "Ask its author to use one name, or uninstall it.",
        )
    return method


def private_method(name: str) -> PrivateMethod:
    method = method_named(name)
    if not isinstance(method, PrivateMethod):
        raise Refused(
            Code.NOT_PRIVATE,
            f"method '{name}' is NOT PRIVATE, so it has no budget to plan.",
            "Choose a private method.",
        )
    return method


def open_method(name: str) -> OpenMethod:
    method = method_named(name)
    if not isinstance(method, OpenMethod):
        raise Refused(
            Code.BUDGET_MISSING,
            f"method '{name}' is private, and no budget was given.",
            "Give epsilon and delta.",
        )
    return method


@checked(bundle="Call fit(cohort, plan) or load_release(folder) first.")
def model_of(bundle: Bundle) -> Model:
    """Return the sampler that a bundle describes. Post-processing: no data, no noise.

    >>> import longsynth
    >>> longsynth.model_of(longsynth.load_release("run/release"))
    Model('simulated deterioration cohort', 12 strata)
    """
    with one_thread():  # more would change the last bits
        return completed(method_named(bundle.method).model(bundle), bundle, sampled)


def origin_of(method: Method) -> Origin:
    """Return whose code a method is. A method that is neither one of ours nor an entry point's
    belongs to no package, whatever its name or class."""
    if _is_ours(method):
        return installed_here()
    kind = type(method)
    point = next((p for p in entry_points(group=ENTRY_POINTS) if _gives(p, method)), None)
    if point is None or point.dist is None:
        return Origin(sha256=code_hash(kind.__module__))
    origin = Origin(point.dist.name, point.dist.version, code_hash(kind.__module__))
    if not is_plausible(origin) or re.sub("[-_.]+", "-", point.dist.name).lower() == OURS:
        raise Refused(
            Code.METHOD_UNUSABLE,
            f"the package of method {method.name!r} has no usable name or version, or uses "
            "longsynth's.",
            "Ask its author for a proper name, or uninstall it.",
        )
    return origin


@cache
def installed_here() -> Origin:
    """The longsynth that runs."""
    return Origin(OURS, VERSION, code_hash(__name__))


@cache
def code_hash(module: str) -> str | None:
    """Return the SHA-256 of the files of the outermost package, or module, that holds a module.

    It covers each file's path below the package, its size and its bytes, in the order of the paths.
    All files count, because code also reads tables; hidden files and compiled copies do not. What a
    package imports from others is not covered.
    """
    root = _root(module)
    if root is None:
        return None
    files = {path.relative_to(root.parent).as_posix(): path for path in _files(root)}
    digest = sha256()
    for name in sorted(files):
        content = files[name].read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _root(module: str) -> Path | None:
    """The folder of the outermost package that has a file of its own; for a lone module, its file.
    A namespace package has none: packages of several authors share it."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        file = getattr(sys.modules.get(".".join(parts[:depth])), "__file__", None)
        if file is not None:
            path = Path(file)
            root = path.parent if path.stem == "__init__" else path
            return root if root.exists() else None
    return None


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    return [
        path
        for path in root.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and not any(p.startswith(".") or p == "__pycache__" for p in path.relative_to(root).parts)
    ]


def _is_ours(method: Method) -> bool:
    """The very object that longsynth ships, with no function of its class replaced."""
    kind = type(method)
    replaced = any(callable(getattr(kind, name, None)) for name in vars(method))
    return _AS_SHIPPED.get(method.name) is method and not replaced


def _gives(point: EntryPoint, method: Method) -> bool:
    return point.name == method.name and type(point.load()()) is type(method)
