"""longsynth dossier: a release, or a release beside its audit, as one page."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import say

REDRAWS = 8


def dossier(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A RUN with release/, or a release folder itself."),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new file: dossier.html.")],
    audit: Annotated[
        Path | None,
        typer.Option(help="A folder of `longsynth audit`: makes the internal edition."),
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form of the fit, to be printed too.")
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also write it as PDF beside, through Chromium.")
    ] = False,
    redraws: Annotated[
        int,
        typer.Option(min=0, max=1000, help="Redraws of the noise behind its bands; 0 for none."),
    ] = REDRAWS,
) -> None:
    """Make a page of a release, for a board: the promise, the ledger, the pictures, the checks.

    The public edition is made from the release alone.

    With --audit it holds figures about real patients: keep it inside.
    """
    from longsynth.show.dossier.writing import write_dossier

    written = write_dossier(run, out, audit=audit, governance=governance, pdf=pdf, redraws=redraws)
    files = " and ".join(map(str, written))
    if audit is None:
        say(f"Wrote {files}: the public edition, from the release alone.")
    else:
        say(f"Wrote {files}: the internal edition. It shows real patients; NOT FOR RELEASE.")
