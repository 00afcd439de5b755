"""verify: check a release, and what was drawn from it, without the data."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import Release


def verify(
    release: Release,
    synthetic: Annotated[
        Path | None, typer.Argument(help="A synthetic folder to draw again and compare.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (KEY.pub) of who has to have signed it.")
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="Governance form that it has to keep to.")
    ] = None,
) -> None:
    """Check without the data that a release is consistent. Exit 0 if all holds, else 1."""
    from longsynth.govern.verify import verify as check

    findings = check(release, synthetic, key=key, governance=governance)
    for finding in findings:
        typer.echo(f"{'ok  ' if finding.good else 'FAIL'} {finding.sentence}")
    failed = sum(not finding.good for finding in findings)
    typer.echo(
        f"All {len(findings)} checks hold."
        if not failed
        else f"{failed} of {len(findings)} checks FAIL; do not rely on what they name."
    )
    raise typer.Exit(1 if failed else 0)
