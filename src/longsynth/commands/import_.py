"""import: from a hospital's tables to a cohort folder. Its output is for the data holder alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import say
from longsynth.system.text import command_line


class Formats(StrEnum):
    events = "events"
    meds = "meds"
    omop = "omop"


def import_(
    form: Annotated[Formats, typer.Argument(metavar="events|meds|omop", help="What it is.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder; for OMOP also a DuckDB file or postgresql://user@host/database, with "
            "the password in PGPASSWORD.",
        ),
    ],
    schema: Annotated[Path, typer.Option(help="The schema, with its mapping under 'source'.")],
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")],
) -> None:
    """Turn tables (CSV or Parquet), a MEDS dataset or an OMOP database into a cohort folder.

    Every row of the patient table becomes a patient. What could not be read is counted in
    COHORT/internal/import.json. Both that file and what is printed here are for the data holder.
    """
    from longsynth.reading.importing import import_cohort

    with _steps() as step:
        found = import_cohort(form.value, source, schema, out, step)
    for note in found.notes:
        say(f"Note: {note}")
    say(
        f"Wrote {found.patients:,} patients and {found.variables} variables to {out}: "
        "patients.parquet, observations.parquet, schema.yaml.\n"
        f"What could not be mapped is counted in {out / 'internal/import.json'}: raw facts about "
        "patients, must not leave.\n"
        f"Next: {command_line('check', out)}"
    )


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """A bar on standard error, on a terminal only. It names steps and counts no rows, which are
    private."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task("import", total=None)
        yield lambda words: bar.update(task, description=words)
