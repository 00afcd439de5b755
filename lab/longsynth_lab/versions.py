"""Which version of the code made a number, whether it is today's, and refusals to mix versions.

A version is a hash of the sources that a method, or the metrics, import. Comments, docstrings and
layout do not count. Sources can change without changing any number, for instance when a function
moves. Each known version therefore has a probe: its results for small fixed inputs. Sources with
the probe of a known version are that version.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import numpy as np

from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.attacks.canary import exposure
from longsynth.audit.attacks.membership import membership_scores
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import utility_scores
from longsynth.engines import batch_sums, sum_over
from longsynth.methods.registry import method_named
from longsynth.privacy.curator import Curator
from longsynth.reading.simulation import simulate
from longsynth.sample import sample
from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import REFERENCES
from longsynth_lab.probes import Probe, made_probe, metrics_probe
from longsynth_lab.results import Results, Row
from longsynth_lab.split import split
from longsynth_lab.variants import variant_of

KNOWN = Path(__file__).parents[1] / "results" / "versions.json"
METRICS = "metrics"  # the key of what evaluates, next to the methods
OURS = ("longsynth.", "longsynth_lab.")
# Modules are named by what they define, so that a version follows code that moves.
FIT = tuple(  # what synthetic patients depend on, besides their method
    part.__module__ for part in (batch_sums, sum_over, Curator, sample)
)
JUDGE = tuple(  # what metrics depend on
    part.__module__
    for part in (
        utility_scores,
        subgroup_scores,
        fidelity_scores,
        membership_scores,
        attribute_scores,
        exposure,
        simulate,
        split,
    )
)
NOT_FOLLOWED = (method_named.__module__,)  # it imports every method, and a fit uses one of them
CLOSE = 1e-4  # relative: another processor may round differently
# Rounding can also put a sampled cell on the other side of a threshold: one cell among hundreds.
FLIPPED, BY_ONE_CELL = 2, 0.01  # at most so many numbers of a probe, each by so much at most


class Known(TypedDict):
    """A version's probe, and the hashes of all sources that gave it."""

    sources: list[str]
    probe: Probe


@cache
def made_by(method: str) -> str:
    """Return the version of the code that generates a row's synthetic patients."""
    return _version(method, _made_sources(method), lambda: made_probe(variant_of(method)))


@cache
def judged_by() -> str:
    """Return the version of the code that computes metrics from synthetic patients."""
    return _version(METRICS, _sources(*JUDGE), metrics_probe)


def keep_versions(methods: Iterable[str]) -> None:
    """Store today's versions with their probes and sources, so that later code can be compared."""
    known = _known_versions()
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
    """Return the known version of these sources, or else a new one named by their hash."""
    known = _known_versions().get(what, {})
    for version, kept in known.items():
        if sources in kept["sources"]:
            return version
    if not known:
        return sources
    today = probe()
    return next((v for v, kept in known.items() if _agree(kept["probe"], today)), sources)


def _agree(one: Probe, other: Probe) -> bool:
    if len(one) != len(other) or not np.allclose(one, other, rtol=BY_ONE_CELL, atol=CLOSE):
        return False
    return bool((~np.isclose(one, other, rtol=CLOSE, atol=CLOSE)).sum() <= FLIPPED)


def _known_versions() -> dict[str, dict[str, Known]]:
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}


def _made_sources(method: str) -> str:
    """A method's sources, and its settings."""
    variant = variant_of(method)
    return _hash(variant.settings + _sources(type(variant.method).__module__, *FIT))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


@cache
def _sources(*roots: str) -> str:
    """Return a hash of these modules and of all our modules that they import."""
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
    """Our modules that it imports, anywhere in its text."""
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
    """The path of a module's source; None if there is no such module."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found and found.origin else None


Of = Callable[[Row], object]
Rules = dict[str, tuple[Of, Of]]  # what → key, value: rows with equal keys must have equal values
VERSIONS: Rules = {
    "version of the method": (lambda r: r.method, lambda r: r.made_by),
    "version of the metrics": (lambda r: (), lambda r: r.judged_by),
    "set of patients": (lambda r: (r.experiment, r.setting, r.seed), lambda r: r.patients_hash),
}
ONE_BUDGET: Rules = {
    "accounting": (lambda r: r.accounting == "", lambda r: r.accounting),
    "δ": (lambda r: r.accounting == "", lambda r: f"{r.delta:g}"),
}
# The paper's study has one experiment that changes the accounting from setting to setting.
ONE_BUDGET_PER_SETTING: Rules = {
    "accounting": (
        lambda r: (r.accounting == "", r.experiment, r.setting),
        lambda r: r.accounting,
    ),
    "δ": (lambda r: r.accounting == "", lambda r: f"{r.delta:g}"),
}


def require_one(results: Results, budget: Rules, remedy: str) -> None:
    """Refuse results of several versions or budgets, or of different patients for some methods
    than for others. The message names the first row that does not belong."""
    for what, (key, value) in (VERSIONS | budget).items():
        first: dict[object, Row] = {}
        for row in results.rows:
            before = first.setdefault(key(row), row)
            if value(row) != value(before):
                raise Refused(
                    LabCode.EVIDENCE_MIXED,
                    f"{_place(row)} comes from a different {what} ({value(row) or 'unknown'}) than "
                    f"{_place(before)} ({value(before) or 'unknown'}). A page must not mix them.",
                    f"Measure them again with '{remedy}'.",
                )


def only(results: Results, experiments: Iterable[str]) -> Results:
    """Return the rows of some experiments, if one version made them under one budget."""
    wanted: Sequence[str] = tuple(experiments)
    rows = Results(row for row in results.rows if row.experiment in wanted)
    require_one(rows, ONE_BUDGET, "make evidence")
    return rows


def stale(results: Results) -> list[str]:
    """Name the rows that today's code did not make, one line per experiment and method."""
    combinations = dict.fromkeys(
        (row.experiment, row.method, row.made_by, row.judged_by) for row in results.rows
    )
    lines = []
    for experiment, method, made, judged in combinations:
        if method not in REFERENCES and made != made_by(method):
            lines.append(f"{experiment}: {method} has changed since it was measured")
        elif judged != judged_by():
            lines.append(f"{experiment}: the metrics have changed since {method} was measured")
    return lines


def recognise(stored: Mapping[str, Results]) -> dict[str, list[str]]:
    """Store today's sources under the versions whose probes they still give. Return what is stale
    in each file; versions that only stale rows could have are not stored."""
    lines = {name: stale(results) for name, results in stored.items()}
    rows = [row for results in stored.values() for row in results.rows]
    made = dict.fromkeys((row.method, row.made_by) for row in rows if row.made_by)
    if any(row.judged_by == judged_by() for row in rows):
        keep_versions(method for method, version in made if version == made_by(method))
    return lines


def _place(row: Row) -> str:
    return (
        f"the row '{row.method}' of '{row.experiment}' at {row.setting}, seed {row.seed}, "
        f"draw {row.draw}, {row.metric}"
    )
