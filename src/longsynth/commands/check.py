"""`longsynth check`: what cannot be read in a cohort, before any budget is spent."""

from pathlib import Path

from longsynth.commands.options import (
    CohortFolder,
    Engine,
    Engines,
    Json,
    Master,
    Tables,
    cohort_on,
)
from longsynth.commands.output import print_json, say
from longsynth.system.text import PROMISE, command_line


def check(
    cohort: CohortFolder,
    json: Json = False,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
) -> None:
    """Count what cannot be read as it stands in a cohort, before any budget is spent.

    The output is for the data holder only: it contains raw facts about patients.
    """
    from longsynth.reading.cohort_folder import CohortFolder as Folder

    chosen = cohort_on(engine, cohort, master, tables, None)
    with Folder(chosen) if isinstance(chosen, Path) else chosen as source:
        counts = {"patients": source.patients, **source.repairs()}
    if json:
        print_json(counts)
        return
    from longsynth.show.terminal import show_reading, stdout

    show_reading(stdout(), counts)
    say(
        "Next: "
        + command_line("plan", cohort / "schema.yaml", "--patients", counts["patients"], *PROMISE)
    )
