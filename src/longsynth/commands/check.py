"""check: what of a cohort cannot be read, before any budget is spent."""

import json as as_text
from pathlib import Path
from typing import Annotated

import typer


def check(
    cohort: Annotated[Path, typer.Argument(help="A cohort folder with schema.yaml.")],
    json: Annotated[bool, typer.Option("--json", help="Plain JSON for a script.")] = False,
) -> None:
    """Count what of a cohort cannot be read as it stands, before any budget is spent.

    For the data holder alone: these are raw facts about patients, and must not leave.
    """
    from longsynth.io.tables import CohortFolder

    with CohortFolder(cohort) as source:
        found = {"patients": source.patients, **source.repairs()}
    if json:
        typer.echo(as_text.dumps(found, indent=2))
        return
    from longsynth.report.terminal import show_reading, stdout

    show_reading(stdout(), found)
