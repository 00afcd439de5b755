"""verify: check a release, and what was drawn from it, without the data."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.findings import tell
from longsynth.commands.options import Json, Release


def verify(
    release: Release,
    synthetic: Annotated[
        Path | None,
        typer.Argument(metavar="SYNTHETIC", help="A synthetic folder to draw again and compare."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (KEY.pub) of who has to have signed it.")
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="Governance form that it has to keep to.")
    ] = None,
    json: Json = False,
) -> None:
    """Check without the data that a release is consistent. Exit 0 if all holds, else 1."""
    from longsynth.release.folder import require_release
    from longsynth.release.verify import verify as check
    from longsynth.system.errors import Refused

    require_release(release)  # a name typed wrongly says nothing about a release
    for path in (synthetic, key, governance):
        if path is not None and not path.exists():
            raise Refused(f"{path} does not exist: give one that does, or leave it out.")
    findings = check(release, synthetic, key=key, governance=governance)
    tell(findings, json=json, failing="do not rely on what they name.")
