"""Building a dossier: read a release, render its page, and write whole files, also as PDF."""

import os
import subprocess
from hashlib import sha256
from pathlib import Path
from shutil import which

from longsynth.govern.form import load_form
from longsynth.govern.keys import SIGNATURE, is_signed, read_signature
from longsynth.methods.registry import model_of, private_method
from longsynth.release.folder import ALLOWED, load_release, read_file, read_release
from longsynth.release.internal import accepted_problems
from longsynth.show.dossier.audit_file import read_audit
from longsynth.show.dossier.facts import Facts, Form, Signed, generate_population
from longsynth.show.dossier.page import internal_page, public_page
from longsynth.show.pages import sections
from longsynth.system.errors import Code, Refused, ReleaseError
from longsynth.system.folders import whole_file
from longsynth.system.scratch import ScratchFolder
from longsynth.system.text import command_line
from longsynth.system.workers import progress_bar


def write_dossier(
    run: Path,
    out: Path,
    *,
    audit: Path | None = None,
    governance: Path | None = None,
    pdf: bool = False,
    redraws: int = 8,
) -> list[Path]:
    """Write `out` and, if asked, a PDF beside it. Only its owner can read an internal edition.

    Nothing is overwritten, and nothing is written unless everything asked for was made.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"{out} does not end with .html.",
            "Name the page, for instance dossier.html.",
        )
    targets = [out, out.with_suffix(".pdf")] if pdf else [out]
    for target in targets:
        if target.exists() or target.is_symlink():
            raise Refused(
                Code.OUTPUT_EXISTS, f"{target} exists already.", "Choose another name or remove it."
            )
    if pdf:
        browser()  # refuse before the work, not after
    facts = release_facts(_release_folder(run), governance)
    with progress_bar("redraws") as progress:
        task = progress.add_task("noise", total=redraws)
        population = generate_population(facts, redraws, lambda: progress.advance(task))
    if audit is None:
        page = public_page(facts, population)
    else:
        scores = read_audit(audit, facts.bundle.fingerprint, population.description)
        page = internal_page(facts, population, scores, accepted_problems(run))
    contents = [page.encode()]
    if pdf:
        with ScratchFolder() as scratch:
            written, printed = scratch.path / "dossier.html", scratch.path / "dossier.pdf"
            written.write_bytes(contents[0])
            write_pdf(written, printed)
            contents.append(printed.read_bytes())
    for target, content in zip(targets, contents, strict=True):
        with whole_file(target) as beside:
            beside.touch(mode=0o600 if audit else 0o666)
            beside.write_bytes(content)
    return targets


def release_facts(folder: Path, governance: Path | None = None) -> Facts:
    """Return the facts of a release; refuse one that was altered or whose signature is invalid."""
    bundle = load_release(folder)
    release = read_release(folder)
    method = private_method(bundle.method)
    stages, lines = method.stages(bundle.schema), method.lines(bundle.schema)
    return Facts(
        bundle=bundle,
        provenance=release.provenance,
        version=release.version,
        summary=method.summary,
        noise={
            e.statistic.name: lines[e.statistic.name].noise_meaning(e, bundle.patients)
            for e in bundle.ledger.entries
        },
        passes={line.name: i + 1 for i, stage in enumerate(stages) for line in stage},
        files={name: sha256(read_file(folder, name)).hexdigest() for name in ALLOWED},
        signed=_signed(folder),
        form=_form(governance, release.provenance.governance) if governance else None,
        model_of=model_of,
    )


def _release_folder(given: Path) -> Path:
    """The release of a run, or the folder itself: a recipient has nothing else."""
    if (given / "release").is_dir():
        return given / "release"
    if not (given / "manifest.json").exists():
        raise ReleaseError(
            Code.NOT_A_RELEASE,
            f"{given} contains no release. A method that is not private writes none.",
            "Give a folder that `longsynth fit` wrote, or its release folder.",
        )
    return given


def _signed(folder: Path) -> Signed | None:
    if not is_signed(folder):
        return None
    signature = read_signature(folder)
    if not signature.fits(read_file(folder, "manifest.json")):
        raise ReleaseError(
            Code.RELEASE_ALTERED,
            f"{folder / SIGNATURE} does not match manifest.json.",
            f"Run `{command_line('verify', folder)}` and ask for the folder again.",
        )
    return Signed(signature.signer, signature.key.fingerprint)


def _form(path: Path, named: str | None) -> Form:
    form = load_form(path)
    if form.sha256 != named:
        other = f"names the form with SHA-256 {named}" if named else "was fitted without a form"
        raise Refused(
            Code.FORM_MISMATCH,
            f"{path} is a different governance form: the release {other}.",
            "Give the form of that fit, or leave it out.",
        )
    return Form(form.says.study.title, tuple(sections(form.says)))


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
TIMEOUT = 300  # seconds
REMEDY = "open the HTML file in a browser and print it there."


def browser() -> str:
    """Return the path of an installed browser."""
    installed = next((path for name in BROWSERS if (path := which(name))), None)
    if installed is None:
        problem = "A PDF needs Chromium or Chrome on the PATH, and there is none."
        raise Refused(Code.PDF_UNAVAILABLE, problem, f"Install one, or do without: {REMEDY}")
    return installed


def write_pdf(page: Path, out: Path) -> None:
    """Print a page to `out`, as a browser does on paper."""
    program = browser()
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
    with ScratchFolder() as profile:
        command = [
            program,
            *FLAGS,
            *root,
            f"--user-data-dir={profile.path}",
            f"--print-to-pdf={out.resolve()}",
            page.resolve().as_uri(),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)
        except (subprocess.SubprocessError, OSError):
            out.unlink(missing_ok=True)
    if not out.exists():
        problem = f"{Path(program).name} could not print the page."
        raise Refused(Code.PDF_UNAVAILABLE, problem, f"Instead, {REMEDY}")
