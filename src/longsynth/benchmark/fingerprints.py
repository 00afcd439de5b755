"""Fingerprints: which version of the code made a number, and whether it is today's version.

A version is a hash of sources: of all modules of ours that a method, or the metrics, import. Text
that does nothing (comments, docstrings, layout) does not count. Sources can also change without any
effect on numbers, as when a function moves. So every version keeps a probe, which is what it gives
for small fixed inputs: sources whose probe agrees with that of a known version are that version.
"""

import ast
import json
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from longsynth.benchmark.probes import Probe, made_probe, metrics_probe
from longsynth.benchmark.variants import variant_of
from longsynth.folders import write_whole

KNOWN = Path(__file__).parents[3] / "benchmarks" / "results" / "versions.json"
METRICS = "metrics"  # what judges, beside the methods
OURS = "longsynth."
FIT = (  # what synthetic patients depend on, beside their method
    "longsynth.engines.kernel",
    "longsynth.engines.local",
    "longsynth.privacy.curator",
    "longsynth.sample",
)
JUDGE = (
    "longsynth.audit.utility",
    "longsynth.audit.subgroups",
    "longsynth.audit.fidelity",
    "longsynth.audit.attacks.membership",
    "longsynth.audit.attacks.attribute",
    "longsynth.audit.attacks.canary",
    "longsynth.simulate.population",
    "longsynth.benchmark.split",
)
NOT_FOLLOWED = ("longsynth.methods.registry",)  # it names every method; a fit uses one of them
CLOSE = 1e-4  # relative: another processor may round otherwise


@cache
def made_by(method: str) -> str:
    """Return the version of what makes a row's synthetic patients."""
    variant = variant_of(method)
    code = _sources(type(variant.method).__module__, *FIT)
    return _version(method, _hash(variant.settings + code), lambda: made_probe(variant))


@cache
def judged_by() -> str:
    """Return the version of what turns synthetic patients into metrics."""
    return _version(METRICS, _hash(_sources(*JUDGE)), metrics_probe)


def keep_versions(methods: Iterable[str]) -> None:
    """Add today's versions to the known ones, for later sources to be held against."""
    known = _known()
    for method in methods:
        if made_by(method) not in known.get(method, {}):
            known.setdefault(method, {})[made_by(method)] = made_probe(variant_of(method))
    if judged_by() not in known.get(METRICS, {}):
        known.setdefault(METRICS, {})[judged_by()] = metrics_probe()
    lines = [
        f' "{what}": {{\n'
        + ",\n".join(f'  "{v}": [{", ".join(f"{n:.8g}" for n in p)}]' for v, p in of.items())
        + "\n }"
        for what, of in sorted(known.items())
    ]
    write_whole(KNOWN, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _version(what: str, version: str, probe: Callable[[], Probe]) -> str:
    """Return the known version that these sources are, or else a new one."""
    known = _known().get(what, {})
    if not known or version in known:
        return version
    today = probe()
    return next((old for old, kept in known.items() if _agree(kept, today)), version)


def _agree(one: Probe, other: Probe) -> bool:
    return len(one) == len(other) and np.allclose(one, other, rtol=CLOSE, atol=CLOSE)


def _known() -> dict[str, dict[str, Probe]]:
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}


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
