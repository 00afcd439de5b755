"""`longsynth verify`: check a release and its synthetic data, without the real data."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import Json, Release
from longsynth.commands.output import show_findings


def verify(
    release: Release,
    synthetic: Annotated[
        Path | None,
        typer.Argument(metavar="SYNTHETIC", help="A synthetic folder: draw it again and compare."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The public key (KEY.pub) of the expected signer.")
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form that it must comply with.")
    ] = None,
    json: Json = False,
) -> None:
    """Check that a release is consistent, without the data. Exit code 0 if so, else 1."""
    from longsynth.release.folder import require_release
    from longsynth.release.verify import verify as check
    from longsynth.system.errors import Code, Refused

    require_release(release)  # a mistyped name says nothing about a release
    for path in (synthetic, key, governance):
        if path is not None and not path.exists():
            raise Refused(
                Code.FILE_MISSING, f"{path} does not exist.", "Correct the path, or leave it out."
            )
    findings = check(release, synthetic, key=key, governance=governance)
    show_findings(findings, json=json, failing="do not rely on this release.")
