"""Fingerprints: which version of the code made a number, and whether it is today's version.

A version is a hash of sources: of all modules of ours that a method, or the metrics, import. Text
that does nothing (comments, docstrings, layout) does not count. Sources can also change without any
effect on numbers, as when a function moves. So every version keeps a probe, which is what it gives
for small fixed inputs: sources whose probe agrees with that of a known version are that version.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import numpy as np

from longsynth.system.folders import write_whole
from longsynth_lab.probes import Probe, made_probe, metrics_probe
from longsynth_lab.variants import variant_of

KNOWN = Path(__file__).parents[1] / "results" / "versions.json"
METRICS = "metrics"  # what judges, beside the methods
OURS = ("longsynth.", "longsynth_lab.")
FIT = (  # what synthetic patients depend on, beside their method
    "longsynth.engines.kernel",
    "longsynth.engines.local",
    "longsynth.privacy.curator",
    "longsynth.sample",
)
JUDGE = (
    "longsynth.audit.utility",
    "longsynth.audit.fidelity",
    "longsynth.audit.attacks.membership",
    "longsynth.audit.attacks.attribute",
    "longsynth.audit.attacks.canary",
    "longsynth.reading.simulation",
    "longsynth_lab.split",
)
NOT_FOLLOWED = ("longsynth.methods.registry",)  # it names every method; a fit uses one of them
CLOSE = 1e-4  # relative: another processor may round otherwise


class Known(TypedDict):
    """What is kept of a version: its probe, and all sources that were found to be it."""

    sources: list[str]
    probe: Probe


@cache
def made_by(method: str) -> str:
    """Return the version of what makes a row's synthetic patients."""
    return _version(method, _made_sources(method), lambda: made_probe(variant_of(method)))


@cache
def judged_by() -> str:
    """Return the version of what turns synthetic patients into metrics."""
    return _version(METRICS, _sources(*JUDGE), metrics_probe)


def keep_versions(methods: Iterable[str]) -> None:
    """Add today's versions and sources to the known ones, for later ones to be held against."""
    known = _known()
    for method in methods:
        probe = partial(made_probe, variant_of(method))
        _keep(known.setdefault(method, {}), made_by(method), _made_sources(method), probe)
    _keep(known.setdefault(METRICS, {}), judged_by(), _sources(*JUDGE), metrics_probe)
    text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False)
    numbers = re.compile(r"\[[^\[\]{}]*\]")  # a list stands on one line
    write_whole(KNOWN, (numbers.sub(lambda m: " ".join(m[0].split()), text) + "\n").encode())


def _keep(known: dict[str, Known], version: str, sources: str, probe: Callable[[], Probe]) -> None:
    if version not in known:
        known[version] = {"sources": [], "probe": [float(f"{n:.8g}") for n in probe()]}
    if sources not in known[version]["sources"]:
        known[version]["sources"].append(sources)


def _version(what: str, sources: str, probe: Callable[[], Probe]) -> str:
    """Return the known version that these sources are, or else a new one, named like them."""
    known = _known().get(what, {})
    for version, kept in known.items():
        if sources in kept["sources"]:
            return version
    if not known:
        return sources
    today = probe()
    return next((v for v, kept in known.items() if _agree(kept["probe"], today)), sources)


def _agree(one: Probe, other: Probe) -> bool:
    return len(one) == len(other) and np.allclose(one, other, rtol=CLOSE, atol=CLOSE)


def _known() -> dict[str, dict[str, Known]]:
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}


def _made_sources(method: str) -> str:
    """A method's sources, and its settings."""
    variant = variant_of(method)
    return _hash(variant.settings + _sources(type(variant.method).__module__, *FIT))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


@cache
def _sources(*roots: str) -> str:
    """Return a hash of what these modules do, and all of ours that they import."""
    reached, waiting = set[str](), list(roots)
    while waiting:
        module = waiting.pop()
        if module not in reached and module not in NOT_FOLLOWED:
            reached.add(module)
            waiting += _imported(module)
    return _hash("\n".join(f"{module} {_hash(_code(module))}" for module in sorted(reached)))


@cache
def _code(module: str) -> str:
    """A module's syntax tree as text, without docstrings."""
    tree = _tree(module)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@cache
def _imported(module: str) -> tuple[str, ...]:
    """The modules of ours that it imports, anywhere in its text."""
    found = []
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
            whole = [f"{node.module}.{name.name}" for name in node.names]
            found += [name if _file(name) else str(node.module) for name in whole]
    return tuple(found)


def _tree(module: str) -> ast.Module:
    path = _file(module)
    if path is None:
        raise FileNotFoundError(module)
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _file(module: str) -> Path | None:
    """Where a module's source is; None for a name that is no module."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found and found.origin else None
