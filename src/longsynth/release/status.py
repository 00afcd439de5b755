"""status_of: what a folder is, and whether its checks pass. Reads no patient."""

import json
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from longsynth.govern.keys import is_signed, read_signature
from longsynth.reading.receipt import fingerprint_of, read_receipt
from longsynth.release.disclosed import FACTS, holds_disclosed
from longsynth.release.folder import Release, read_release
from longsynth.release.statement import promised
from longsynth.release.synthetic_folder import RECIPE, Recipe, read_recipe
from longsynth.release.verify import verify
from longsynth.system.errors import Code, Finding, Refused
from longsynth.system.text import command_line, is_name

NEIGHBOURS = 1000  # folders beside a run that are searched for synthetic patients


@dataclass(frozen=True, slots=True)
class FolderStatus:
    folder: Path
    kind: str  # release, not private, synthetic, cohort or export
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    source: Path | None = None  # what to sample or verify: a release, or internal/ if not private
    synthetic: tuple[Path, ...] = ()  # folders beside a run that were sampled from it

    @property
    def holds(self) -> bool:
        return all(finding.good for finding in self.findings)


def status_of(folder: Path) -> FolderStatus:
    """Say what a folder is. People who ask may be lost, so any folder is accepted."""
    release = folder / "release" if (folder / "release").is_dir() else folder
    if (release / "manifest.json").is_file():
        return _of_release(folder, release)
    internal = folder / "internal" if (folder / "internal").is_dir() else folder
    if holds_disclosed(internal):
        return _of_disclosed(folder, internal)
    if (folder / RECIPE).is_file():
        return _of_synthetic(folder)
    has_schema = (folder / "schema.yaml").is_file()
    if (folder / "patients.parquet").exists():
        return _of_cohort(folder, has_schema)
    if (folder / "patients.csv").is_file():
        return FolderStatus(folder, "export", {"schema": has_schema})
    if not folder.is_dir():
        raise Refused(
            Code.FOLDER_UNKNOWN,
            f"{folder} is not a folder.",
            "Give a run, a release, synthetic patients or a cohort.",
        )
    near = sorted(p.parent for p in islice(folder.glob("*/release"), 9) if p.is_dir())
    raise Refused(
        Code.FOLDER_UNKNOWN,
        f"{folder} holds no run, release, synthetic patients or cohort.",
        f"Try `{command_line('status', near[0])}`." if near else "To begin, run `longsynth demo`.",
    )


def _of_cohort(folder: Path, has_schema: bool) -> FolderStatus:
    receipt = read_receipt(folder) if has_schema else None
    checked = None
    if receipt is not None:
        try:
            matches = receipt.fingerprint == fingerprint_of(folder)
        except OSError:  # a table is missing
            matches = False
        checked = {
            "colour": receipt.colour,
            "at": receipt.checked_at,
            "by": receipt.checked_by,
            "accepted": receipt.accepted,
            "matches": matches,
        }
    return FolderStatus(folder, "cohort", {"schema": has_schema, "checked": checked})


def _of_release(folder: Path, release: Path) -> FolderStatus:
    findings = tuple(verify(release))
    try:
        read = read_release(release)
        signed = is_signed(release)
        signer = read_signature(release).signer if signed else None
    except Refused:  # the findings say why
        return FolderStatus(folder, "release", {}, findings, release)
    facts = _guarantee(read) | {"signed": signed, "signed_by": signer}
    run = folder.parent if folder.name == "release" else folder
    sampled = tuple(_sampled_from(read.bundle.fingerprint, run.parent))
    return FolderStatus(folder, "release", facts, findings, release, sampled)


def _guarantee(release: Release) -> dict[str, Any]:
    bundle, provenance = release.bundle, release.provenance
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


def _of_disclosed(folder: Path, internal: Path) -> FolderStatus:
    try:
        stated = json.loads((internal / FACTS).read_bytes())
        method = stated["method"] if is_name(stated["method"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        method = None
    return FolderStatus(folder, "not private", {"method": method}, source=internal)


def _of_synthetic(folder: Path) -> FolderStatus:
    recipe = read_recipe(folder)
    facts = {
        "patients": recipe.patients,
        "seed": recipe.seed,
        "format": recipe.form,
        "where": recipe.where,
        "private": recipe.private,
        "fingerprint": recipe.fingerprint,
    }
    return FolderStatus(folder, "synthetic", facts, source=_release_of(recipe, folder))


def _sampled_from(fingerprint: str, beside: Path) -> list[Path]:
    """Synthetic folders beside a run whose recipe names it."""
    folders = []
    for path in sorted(islice(beside.iterdir(), NEIGHBOURS)):
        try:
            if (path / RECIPE).is_file() and read_recipe(path).fingerprint == fingerprint:
                folders.append(path)
        except Refused:
            continue
    return folders


def _release_of(recipe: Recipe, folder: Path) -> Path | None:
    """The release beside a synthetic folder that its recipe names."""
    for manifest in islice(sorted(folder.resolve().parent.glob("*/release/manifest.json")), 99):
        try:
            stated = json.loads(manifest.read_bytes()[:1_000_000])
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("fingerprint") == recipe.fingerprint:
            return folder.parent / manifest.parent.relative_to(folder.resolve().parent)
    return None
