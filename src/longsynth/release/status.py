"""status_of: what a folder is, and whether its checks pass. Reads no patient."""

import json
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from longsynth.govern.keys import is_signed, read_signature
from longsynth.reading.quality import fingerprint_of, read_receipt
from longsynth.release.folder import Release, read_release
from longsynth.release.internal import FACTS, holds_disclosed
from longsynth.release.statement import promised
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.release.verify import verify
from longsynth.system.errors import Code, Finding, Refused
from longsynth.system.text import command_line, is_name

NEIGHBOURS = 1000  # folders beside a run that are searched for synthetic patients
PAGES, PAGE_BYTES = 50, 1 << 25  # HTML files beside a run that are searched for its dossier
EXPORTS = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet")
PANELS = "panels.json"  # of an audit


@dataclass(frozen=True, slots=True)
class FolderStatus:
    folder: Path
    kind: str  # release, not private, synthetic, cohort, split, audit, export or file
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    source: Path | None = None  # what to go on with: a release, internal/ if not private, train/
    synthetic: tuple[Path, ...] = ()  # folders beside a run that were sampled from it
    audits: tuple[Path, ...] = ()  # folders beside a run that compare such patients with real ones
    dossiers: tuple[Path, ...] = ()  # pages beside a run that are about it

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
    if (folder / "train/patients.parquet").exists() and (folder / "holdout").is_dir():
        train = folder / "train"
        facts = _of_cohort(train, (train / "schema.yaml").is_file()).facts
        return FolderStatus(folder, "split", facts, source=train)
    if (folder / PANELS).is_file():
        audited = _audited(folder)
        facts = {"fingerprint": audited}
        return FolderStatus(folder, "audit", facts, source=_release_of(audited, folder))
    if folder.is_file() and folder.suffix.lower() in EXPORTS:
        return FolderStatus(folder, "file")
    if not folder.is_dir():
        raise Refused(
            Code.FOLDER_UNKNOWN,
            f"{folder} is not a folder.",
            "Give a run, a release, synthetic patients, a cohort, or a file of an export.",
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
    mark, beside = read.bundle.fingerprint, sorted(islice(run.parent.iterdir(), NEIGHBOURS))
    return FolderStatus(
        folder,
        "release",
        facts,
        findings,
        release,
        tuple(path for path in beside if _sampled_from(path) == mark),
        tuple(path for path in beside if (path / PANELS).is_file() and _audited(path) == mark),
        tuple(path for path in islice(run.parent.glob("*.html"), PAGES) if _names(path, mark)),
    )


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
    return FolderStatus(folder, "synthetic", facts, source=_release_of(recipe.fingerprint, folder))


def _sampled_from(folder: Path) -> str:
    """The fingerprint of the release that synthetic patients name; "" for other folders."""
    try:
        return read_recipe(folder).fingerprint if (folder / RECIPE).is_file() else ""
    except Refused:
        return ""


def _audited(folder: Path) -> str:
    """The fingerprint of the release that an audit names."""
    try:
        found = json.loads((folder / PANELS).read_bytes())["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) and is_name(found) else ""


def _names(page: Path, fingerprint: str) -> bool:
    try:
        return page.stat().st_size < PAGE_BYTES and fingerprint.encode() in page.read_bytes()
    except OSError:
        return False


def _release_of(fingerprint: str, folder: Path) -> Path | None:
    """The release beside a folder that names it."""
    for manifest in islice(sorted(folder.resolve().parent.glob("*/release/manifest.json")), 99):
        try:
            stated = json.loads(manifest.read_bytes()[:1_000_000])
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("fingerprint") == fingerprint:
            return folder.parent / manifest.parent.relative_to(folder.resolve().parent)
    return None
