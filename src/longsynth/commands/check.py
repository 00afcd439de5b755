"""check: what of a cohort cannot be read, before any budget is spent."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.engine import Engine, Engines, Master, Tables, cohort_on
from longsynth.commands.options import Json, print_json, say
from longsynth.system.text import PROMISE, command_line


def check(
    cohort: Annotated[
        Path, typer.Argument(metavar="COHORT", help="A cohort folder with schema.yaml.")
    ],
    json: Json = False,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
) -> None:
    """Count what of a cohort cannot be read as it stands, before any budget is spent.

    For the data holder alone: these are raw facts about patients, and must not leave.
    """
    from longsynth.reading.tables import CohortFolder

    chosen = cohort_on(engine, cohort, master, tables, None)
    with CohortFolder(chosen) if isinstance(chosen, Path) else chosen as source:
        found = {"patients": source.patients, **source.repairs()}
    if json:
        print_json(found)
        return
    from longsynth.show.terminal import show_reading, stdout

    show_reading(stdout(), found)
    say(
        "Next: "
        + command_line("plan", cohort / "schema.yaml", "--patients", found["patients"], *PROMISE)
    )
