"""`longsynth import`: from a hospital's tables to a cohort folder. Its output is for the data
holder only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.output import say
from longsynth.system.text import command_line


class Formats(StrEnum):
    events = "events"
    meds = "meds"
    omop = "omop"


def import_(
    form: Annotated[Formats, typer.Argument(metavar="events|meds|omop", help="The format.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder. For OMOP also a DuckDB file or postgresql://user@host/database, with "
            "the password in PGPASSWORD.",
        ),
    ],
    schema: Annotated[Path, typer.Option(help="The schema, with the mapping under 'source'.")],
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")],
) -> None:
    """Turn tables (CSV or Parquet), a MEDS dataset or an OMOP database into a cohort folder.

    Every row of the patient table becomes one patient. COHORT/internal/import.json counts what
    could not be read. That file and the output of this command are for the data holder only.
    """
    from longsynth.reading.importing import import_cohort

    with _steps() as step:
        imported = import_cohort(form.value, source, schema, out, step)
    for note in imported.notes:
        say(f"Note: {note}")
    say(
        f"Wrote {imported.patients:,} patients and {imported.variables} variables to {out}: "
        "patients.parquet, observations.parquet, schema.yaml.\n"
        f"{out / 'internal/import.json'} counts what could not be mapped. It contains raw facts "
        "about patients: do not share it.\n"
        f"Next: {command_line('check', out)}"
    )


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Show the steps on a terminal. Rows are private, so they are not counted."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task("import", total=None)
        yield lambda words: bar.update(task, description=words)
