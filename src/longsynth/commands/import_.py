"""`longsynth import`: from a hospital's tables to a cohort folder. Its output is for the data
steward only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.output import say
from longsynth.reading.formats import FORMATS
from longsynth.system.text import command_line


def import_(
    form: Annotated[
        str,
        typer.Argument(
            metavar="|".join(FORMATS),
            help="; ".join(f"{name}: {form.reads}" for name, form in FORMATS.items()) + ".",
            autocompletion=lambda: list(FORMATS),
        ),
    ],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="; ".join(f"{name}: {form.source}" for name, form in FORMATS.items()) + ".",
        ),
    ],
    schema: Annotated[Path, typer.Option(help="The schema, with the mapping under 'source'.")],
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")],
) -> None:
    """Turn tables or a database into a cohort folder.

    Every row of the patient table becomes one patient. COHORT/internal/import.json counts what
    could not be read. That file and the output of this command are for the data steward only.
    """
    from longsynth.reading.importing import import_cohort

    with _steps() as step:
        imported = import_cohort(form, source, schema, out, step)
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
