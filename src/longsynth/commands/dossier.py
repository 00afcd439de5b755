"""`longsynth dossier`: a release, with or without its audit, as one page."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.output import say

REDRAWS = 8


def dossier(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A RUN with release/, or a release folder itself."),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new file: dossier.html.")],
    audit: Annotated[
        Path | None,
        typer.Option(help="A folder that `longsynth audit` wrote: makes the internal edition."),
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form of the fit, to include.")
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also write a PDF file, using Chromium.")
    ] = False,
    redraws: Annotated[
        int,
        typer.Option(min=0, max=1000, help="Redraws of the noise for the bands; 0 for none."),
    ] = REDRAWS,
) -> None:
    """Make one page about a release for a board: guarantee, ledger, charts and checks.

    The public edition is made from the release alone.

    With --audit it contains figures about real patients: do not share it.
    """
    from longsynth.show.dossier.build import write_dossier

    written = write_dossier(run, out, audit=audit, governance=governance, pdf=pdf, redraws=redraws)
    files = " and ".join(map(str, written))
    if audit is None:
        say(f"Wrote {files}: the public edition, from the release alone.")
    else:
        say(f"Wrote {files}: the internal edition. It shows real patients: NOT FOR RELEASE.")
