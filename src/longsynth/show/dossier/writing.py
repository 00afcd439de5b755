"""Writing a dossier: gather, draw, render, and only then put whole files in their place."""

from collections.abc import Iterator
from pathlib import Path

from longsynth.show.dossier.audited.audit_file import read_audit
from longsynth.show.dossier.gather import gather, release_folder
from longsynth.show.dossier.noise import draw
from longsynth.show.dossier.page import internal_page, public_page
from longsynth.show.dossier.pdf import browser, write_pdf
from longsynth.system.errors import Refused
from longsynth.system.folders import whole_file
from longsynth.system.scratch import ScratchFolder
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
    """Write `out` and, if asked, the PDF beside it; an internal one can be read by its owner only.

    Nothing is overwritten, and nothing is written unless everything asked for was made.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise Refused(f"{out} does not end with .html: name the page, for instance dossier.html.")
    targets = [out, out.with_suffix(".pdf")] if pdf else [out]
    for target in targets:
        if target.exists() or target.is_symlink():
            raise Refused(f"{target} exists already: choose another --out, or remove it first.")
    if pdf:
        browser()  # refuse before the work, not after
    facts = gather(release_folder(run), governance)
    with progress_bar("redraws") as progress:
        task = progress.add_task("noise", total=redraws)

        def watched(each: Iterator[int]) -> Iterator[int]:
            for k in each:
                yield k
                progress.advance(task)

        drawn = draw(facts, redraws, watched)
    if audit is None:
        page = public_page(facts, drawn)
    else:
        found = read_audit(audit, facts.bundle.fingerprint, drawn.portrait)
        page = internal_page(facts, drawn, found)
    with ScratchFolder() as scratch:
        made = scratch.path / "dossier.html"
        made.write_text(page, encoding="utf-8")
        contents = [made.read_bytes()]
        if pdf:
            printed = made.with_suffix(".pdf")
            write_pdf(made, printed)
            contents.append(printed.read_bytes())
    for target, content in zip(targets, contents, strict=True):
        with whole_file(target) as beside:
            beside.touch(mode=0o600 if audit else 0o666)
            beside.write_bytes(content)
    return targets
