"""verify: anyone checks a release, and a synthetic folder, without the data."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.errors import Refused
from longsynth.govern.release import ALLOWED, CONTENT, read_bundle, release_files
from longsynth.govern.synthetic_folder import Recipe, read_recipe, write_synthetic
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.privacy.noise import OPENDP
from longsynth.version import surroundings

TOLERANCE = 1e-6  # of a variable's range, on another platform
CELLS = 1e-3  # share of cells that may be missing on one side only, on another platform


@dataclass(frozen=True, slots=True)
class Finding:
    good: bool
    sentence: str


def verify(release: Path, synthetic: Path | None = None) -> list[Finding]:
    """Return one finding for each check, the first failure that ends the rest included."""
    findings = list(_files(release))
    try:
        bundle = read_bundle(release)
    except Refused as error:
        return [*findings, Finding(False, str(error))]
    findings += [*_account(bundle), *_regenerated(bundle, release), *_model(bundle)]
    if synthetic is not None:
        findings += _synthetic(bundle, synthetic)
    return findings


def _files(release: Path) -> Iterator[Finding]:
    try:
        present = sorted(p.name for p in release.iterdir())
        stated = json.loads((release / "manifest.json").read_bytes())["files"]
        found = {n: sha256((release / n).read_bytes()).hexdigest() for n in CONTENT}
    except (OSError, ValueError, KeyError, TypeError):
        yield Finding(False, f"{release} does not hold the files of a release.")
        return
    strange = [name for name in present if name not in ALLOWED]
    yield Finding(
        not strange,
        f"the folder also holds {', '.join(strange)}, which no release contains."
        if strange
        else "the folder holds the files of a release and nothing else.",
    )
    for name in CONTENT:
        same = stated.get(name) == found[name]
        yield Finding(same, f"{name} {'matches' if same else 'does NOT match'} its SHA-256.")


def _account(bundle: Bundle) -> Iterator[Finding]:
    ledger = bundle.ledger
    budget = ledger.budget
    if budget is None:
        yield Finding(False, "the ledger makes no promise.")
        return
    costs = [e.rho if e.rho is not None else Fraction(10**9) for e in ledger.entries]
    enough = all(
        e.sigma > 0 and e.statistic.sensitivity_squared <= 2 * rho * Fraction(e.sigma) ** 2
        for e, rho in zip(ledger.entries, costs, strict=True)
    )
    yield Finding(
        enough,
        "every line's noise is as large as its sensitivity and cost demand."
        if enough
        else "a line's noise is SMALLER than its sensitivity and cost demand.",
    )
    within = sum(costs) <= budget.rho
    yield Finding(
        within,
        f"the lines add up to ρ = {float(sum(costs)):.6f} of the {float(budget.rho):.6f} that "
        f"ε = {budget.epsilon:g}, δ = {budget.delta:g} allow under '{budget.accounting}'"
        + ("." if within else ": the promise is BROKEN."),
    )
    planned = plan(
        bundle.schema,
        ledger.patients,
        epsilon=budget.epsilon,
        delta=budget.delta,
        method=bundle.method,
        accounting=budget.accounting,
    ).ledger
    same = planned == replace(
        ledger, entries=tuple(replace(e, noise=OPENDP) for e in ledger.entries)
    )
    yield Finding(
        same, f"the ledger {'equals' if same else 'DIFFERS from'} the plan for its schema."
    )
    real = ledger.noise == OPENDP
    yield Finding(
        real,
        "the noise is OpenDP's discrete Gaussian."
        if real
        else f"the noise is marked {ledger.noise}: this folder protects nobody.",
    )


def _regenerated(bundle: Bundle, release: Path) -> Iterator[Finding]:
    """What people read must say what the ledger says."""
    expected = release_files(bundle)
    for name in ("STATEMENT.md", "ledger.json", "schema.yaml"):
        same = (release / name).read_bytes() == expected[name]
        yield Finding(same, f"{name} {'says' if same else 'does NOT say'} what the release holds.")
    stated = json.loads((release / "manifest.json").read_bytes()).get("fingerprint")
    same = stated == bundle.fingerprint
    yield Finding(same, f"the fingerprint {'matches' if same else 'does NOT match'} the bundle.")


def _model(bundle: Bundle) -> Iterator[Finding]:
    try:
        model_of(bundle)
    except (Refused, ArithmeticError, ValueError, KeyError):
        yield Finding(False, "no model can be rebuilt from the released integers.")
    else:
        yield Finding(True, "the model was rebuilt from the released integers alone.")


def _synthetic(bundle: Bundle, folder: Path) -> Iterator[Finding]:
    try:
        recipe = read_recipe(folder)
    except Refused as error:
        yield Finding(False, str(error))
        return
    if recipe.fingerprint != bundle.fingerprint:
        yield Finding(False, f"{folder} was NOT drawn from this release.")
        return
    with tempfile.TemporaryDirectory(prefix="longsynth-") as scratch:
        again = Path(scratch)
        try:
            model = model_of(bundle)
            write_synthetic(again, model, recipe)
            yield from _compared(bundle, folder, again, recipe)
        except (Refused, OSError, pa.ArrowException, KeyError, ValueError):
            yield Finding(False, f"{folder} cannot be compared: its files are not a cohort's.")


def _compared(bundle: Bundle, folder: Path, again: Path, recipe: Recipe) -> Iterator[Finding]:
    names = ("observations.parquet", "patients.parquet", "schema.yaml")
    if all((folder / n).read_bytes() == (again / n).read_bytes() for n in names):
        yield Finding(
            True, f"{folder} was drawn again from seed {recipe.seed}: bit for bit the same."
        )
        return
    here = surroundings()
    moved = [key for key in here if here[key] != recipe.surroundings.get(key)]
    if not moved:
        yield Finding(
            False, f"{folder} DIFFERS from what seed {recipe.seed} gives on this platform."
        )
        return
    close = _close(bundle, folder, again)
    yield Finding(
        close,
        f"{folder} was drawn again from seed {recipe.seed} under another {', '.join(moved)}: "
        + (
            f"the same within {TOLERANCE:g} of each variable's range."
            if close
            else "it DIFFERS by more than rounding explains."
        ),
    )


def _close(bundle: Bundle, folder: Path, again: Path) -> bool:
    """Equal but for rounding: the same patients, nearly the same cells."""
    if (folder / "schema.yaml").read_bytes() != (again / "schema.yaml").read_bytes():
        return False
    left, right = (pq.read_table(d / "patients.parquet") for d in (folder, again))
    if left.drop(["weight"]) != right.drop(["weight"]):
        return False
    ranges = {v.name: v.bounds[1] - v.bounds[0] for v in bundle.schema.variables}
    ranges["time"] = bundle.schema.max_gap
    left, right = (pq.read_table(d / "observations.parquet") for d in (folder, again))
    if left.schema != right.schema or len(left) != len(right):
        return False
    for name, width in ranges.items():
        a, b = (t.column(name).to_numpy(zero_copy_only=False) for t in (left, right))
        if np.mean(np.isnan(a) != np.isnan(b)) > CELLS:
            return False
        if np.nanquantile(np.abs(a - b), 1 - CELLS) > TOLERANCE * width:
            return False
    return bool(left.column("patient_id") == right.column("patient_id"))
