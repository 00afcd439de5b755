"""Gathering facts from a release folder. It refuses what `longsynth verify` would not pass."""

from hashlib import sha256
from pathlib import Path

from longsynth.govern.form import load_form
from longsynth.govern.keys import SIGNATURE, is_signed, read_signature
from longsynth.methods.registry import model_of, private_method
from longsynth.release.folder import ALLOWED, load_release, read_file, read_release
from longsynth.show.dossier.facts import Facts, Form, FormSection, Signed
from longsynth.show.form_page import outline
from longsynth.system.errors import Refused, ReleaseError
from longsynth.system.text import command_line


def release_folder(given: Path) -> Path:
    """RUN/release of a run, or the folder itself: a recipient has no more than that."""
    if (given / "release").is_dir():
        return given / "release"
    if not (given / "manifest.json").exists():
        raise ReleaseError(
            f"{given} holds no release: give a RUN that `longsynth fit` wrote, or its release "
            "folder. A method that is not private has none."
        )
    return given


def gather(folder: Path, governance: Path | None = None) -> Facts:
    """Return the facts of a release; refuse one that was altered or whose signature is void."""
    bundle = load_release(folder)
    release = read_release(folder)
    method = private_method(bundle.method)
    stages, lines = method.stages(bundle.schema), method.lines(bundle.schema)
    return Facts(
        bundle=bundle,
        provenance=release.provenance,
        version=release.version,
        summary=method.summary,
        blur={
            e.statistic.name: lines[e.statistic.name].noise_meaning(e, bundle.patients)
            for e in bundle.ledger.entries
        },
        passes={line.name: i + 1 for i, stage in enumerate(stages) for line in stage},
        files={name: sha256(read_file(folder, name)).hexdigest() for name in ALLOWED},
        signed=_signed(folder),
        form=_form(governance, release.provenance.governance) if governance else None,
        model_of=model_of,
    )


def _signed(folder: Path) -> Signed | None:
    if not is_signed(folder):
        return None
    found = read_signature(folder)
    if not found.fits(read_file(folder, "manifest.json")):
        raise ReleaseError(
            f"{folder / SIGNATURE} does not fit manifest.json: run "
            f"`{command_line('verify', folder)}` and ask for the folder again."
        )
    return Signed(found.signer, found.key.fingerprint, True)


def _form(path: Path, named: str | None) -> Form:
    form = load_form(path)
    if form.sha256 != named:
        held = f"names the form with SHA-256 {named}" if named else "was fitted without a form"
        raise Refused(
            f"{path} is another form: the release {held}. Give the form of that fit, or leave out "
            "--governance."
        )
    sections = (FormSection(p.title, p.answers, p.columns, p.rows) for p in outline(form.says))
    return Form(form.says.study.title, tuple(sections))
