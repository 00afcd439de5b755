"""standing: what a folder is, how far it has come, and what to do next. Reads no patient."""

import json
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from longsynth.govern.keys import is_signed, read_signature
from longsynth.release.disclosed import FACTS, holds_disclosed
from longsynth.release.folder import Release, read_release
from longsynth.release.statement import promised
from longsynth.release.synthetic_folder import RECIPE, Recipe, read_recipe
from longsynth.release.verify import verify
from longsynth.system.errors import Refused
from longsynth.system.finding import Finding
from longsynth.system.text import DRAW, PROMISE, command_line, is_name

NEIGHBOURS = 1000  # folders beside a run that are looked at for what was drawn from it


@dataclass(frozen=True, slots=True)
class Standing:
    folder: Path
    kind: str  # release, not private, synthetic, cohort or export
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    drawn: tuple[Path, ...] = ()  # synthetic folders beside it
    next: tuple[str, ...] = ()  # commands to type

    @property
    def holds(self) -> bool:
        return all(finding.good for finding in self.findings)


def standing(folder: Path) -> Standing:
    """Say what stands in a folder. Whoever asks may be lost, so any folder will do."""
    release = folder / "release" if (folder / "release").is_dir() else folder
    if (release / "manifest.json").is_file():
        return _of_release(folder, release)
    internal = folder / "internal" if (folder / "internal").is_dir() else folder
    if holds_disclosed(internal):
        return _of_disclosed(folder, internal)
    if (folder / RECIPE).is_file():
        return _of_synthetic(folder)
    has_schema = (folder / "schema.yaml").is_file()
    if (folder / "patients.parquet").is_file():
        return _of_cohort(folder, has_schema=has_schema)
    if (folder / "patients.csv").is_file():
        return _of_export(folder, has_schema=has_schema)
    if not folder.is_dir():
        raise Refused(f"{folder} is not a folder: give a run, a release, a synthetic or a cohort.")
    near = sorted(p.parent for p in islice(folder.glob("*/release"), 9) if p.is_dir())
    raise Refused(
        f"{folder} holds neither a run nor a release, synthetic patients or a cohort. "
        + (f"Near it: {command_line('status', near[0])}" if near else "To begin: longsynth demo")
    )


def _of_release(folder: Path, release: Path) -> Standing:
    findings = tuple(verify(release))
    try:
        found = read_release(release)
        signed = is_signed(release)
        signer = read_signature(release).signer if signed else None
    except Refused:  # said by the findings already
        return Standing(folder, "release", {}, findings, (), (command_line("verify", release),))
    facts = _promise(found) | {"signed": signed, "signed_by": signer}
    run = folder.parent if folder.name == "release" else folder
    drawn = tuple(_drawn_from(found.bundle.fingerprint, run.parent))
    if not all(finding.good for finding in findings):
        todo = [command_line("verify", release)]
    else:
        todo = [command_line("ledger", release)]
        todo += [command_line("verify", release, path) for path in drawn[:1]]
        if not drawn:
            todo.append(command_line("sample", release, *DRAW, "synthetic"))
        if not signed:
            todo.append(command_line("sign", release, "--key", "KEY"))
    return Standing(folder, "release", facts, findings, drawn, tuple(todo))


def _promise(found: Release) -> dict[str, Any]:
    bundle, provenance = found.bundle, found.provenance
    budget, book = promised(bundle.ledger), provenance.book
    accounts = [
        {
            "dataset": account.dataset,
            "spent_rho": float(account.spent),
            "cap_rho": float(account.cap.rho),
        }
        for account in (book.accounts if book else ())
    ]
    return {
        "method": bundle.method,
        "method_from": bundle.origin.named,
        "method_sha256": bundle.origin.sha256,
        "proved_by_longsynth": bundle.origin.ours,
        "patients": bundle.patients,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "accounting": budget.accounting,
        "rho": float(bundle.ledger.spent),
        "lines": {e.statistic.name: float(e.share) for e in bundle.ledger.entries},
        "fingerprint": bundle.fingerprint,
        "fitted_by": provenance.fitted_by,
        "governance": provenance.governance,
        "book_entry": book.entry if book else None,
        "accounts": accounts,
    }


def _of_disclosed(folder: Path, internal: Path) -> Standing:
    try:
        stated = json.loads((internal / FACTS).read_bytes())
        method = stated["method"] if is_name(stated["method"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        method = None
    facts = {"method": method}
    draw = command_line("sample", internal, *DRAW, "drawn")
    return Standing(folder, "not private", facts, next=(draw,))


def _of_synthetic(folder: Path) -> Standing:
    recipe = read_recipe(folder)
    facts = {
        "patients": recipe.patients,
        "seed": recipe.seed,
        "format": recipe.form,
        "where": recipe.where,
        "private": recipe.private,
        "fingerprint": recipe.fingerprint,
    }
    source = _release_of(recipe, folder)
    todo = (command_line("verify", source or "RELEASE", folder),) if recipe.private else ()
    return Standing(folder, "synthetic", facts, next=todo)


def _of_cohort(folder: Path, *, has_schema: bool) -> Standing:
    if not has_schema:
        todo = [command_line("schema", "new", "--cohort", folder, "--out", folder / "schema.yaml")]
    else:
        plan = command_line("plan", folder / "schema.yaml", "--patients", "N", *PROMISE)
        todo = [command_line("check", folder), plan]
        todo.append(command_line("fit", folder, *PROMISE, "--out", "run"))
    return Standing(folder, "cohort", {"schema": has_schema}, next=tuple(todo))


def _of_export(folder: Path, *, has_schema: bool) -> Standing:
    schema = folder / "schema.yaml"
    todo = command_line("schema", "new", "--cohort", folder, "--out", schema)
    if has_schema:
        todo = command_line("import", "events", folder, "--schema", schema, "--out", "cohort")
    return Standing(folder, "export", {"schema": has_schema}, next=(todo,))


def _drawn_from(fingerprint: str, beside: Path) -> list[Path]:
    """Synthetic folders next to a run that say they were drawn from it."""
    found = []
    for path in sorted(islice(beside.iterdir(), NEIGHBOURS)):
        try:
            if (path / RECIPE).is_file() and read_recipe(path).fingerprint == fingerprint:
                found.append(path)
        except Refused:
            continue
    return found


def _release_of(recipe: Recipe, folder: Path) -> Path | None:
    """The release beside a synthetic folder from which it says it was drawn."""
    for manifest in islice(sorted(folder.resolve().parent.glob("*/release/manifest.json")), 99):
        try:
            stated = json.loads(manifest.read_bytes()[:1_000_000])
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("fingerprint") == recipe.fingerprint:
            return folder.parent / manifest.parent.relative_to(folder.resolve().parent)
    return None
