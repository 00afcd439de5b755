"""`longsynth schema`, `import` and `check`: from your tables to a cohort that can be fitted."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import (
    PROMISE,
    CohortFolder,
    Engine,
    Engines,
    Json,
    Master,
    NewFile,
    Out,
    Tables,
    cohort_on,
    command,
    require_new,
)
from longsynth.commands.output import print_json, say
from longsynth.reading.formats import FORMATS
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line

schema_app = typer.Typer(no_args_is_help=True, help="Write and check a schema. Reads no data.")


@command(schema_app, "schema new --cohort cohort --out cohort/schema.yaml", "new")
def new_schema(
    out: NewFile,
    cohort: Annotated[
        Path | None, typer.Option(help="A cohort folder. Only its column names are read.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Or the column names: patient_id,time,hr,sbp,…")
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the cohort.")] = "my cohort",
) -> None:
    """Write a first schema with comments, from column names and a catalogue of public facts."""
    from longsynth.schema.from_names import Columns, marked_lines, read_columns, starting_schema
    from longsynth.system.folders import write_whole

    if (cohort is None) == (columns is None):
        raise Refused(
            Code.OPTIONS_CONFLICT,
            "the column names must come from one place.",
            "Give either --cohort FOLDER or --columns patient_id,time,hr,….",
        )
    require_new(out)
    if cohort is not None:
        names = read_columns(cohort)
    else:
        listed = tuple(c.strip() for c in (columns or "").split(",") if c.strip())
        names = Columns(listed, listed)
    text = starting_schema(name, names)
    write_whole(out, text.encode())
    say(
        f"Wrote {out} from {len({*names.observations, *names.patients})} column names. No row was "
        f"read. Complete the {marked_lines(text)} lines that are marked CHECK or FILL IN.\n"
        f"Next: {command_line('schema', 'check', out)}"
    )


@command(schema_app, "schema check cohort/schema.yaml --cohort cohort", "check")
def check_schema(
    schema: Annotated[
        Path, typer.Argument(metavar="SCHEMA", help="schema.yaml, or a folder with one.")
    ],
    cohort: Annotated[
        Path | None, typer.Option(help="A cohort folder. Only its column names are read.")
    ] = None,
    json: Json = False,
) -> None:
    """List what looks wrong: unknown columns, bounds unlike the catalogue's. Reads no value."""
    from longsynth.schema.file import load_schema, schema_text
    from longsynth.schema.from_names import marked_lines, read_columns, remarks

    loaded = load_schema(schema)
    notes = list(remarks(loaded, read_columns(cohort) if cohort else None))
    if marked := marked_lines(schema_text(schema)):
        notes.append(f"{marked} lines are still marked CHECK or FILL IN. Complete them.")
    if json:
        print_json({"variables": len(loaded.variables), "slots": loaded.slots, "remarks": notes})
        return
    for remark in notes:
        say(f"- {remark}")
    variables = len(loaded.variables)
    say(
        f"The schema is {'not finished' if marked else 'valid'}: {variables} variables in "
        f"{loaded.slots} slots. "
        + (f"Look at the {len(notes)} remarks above." if notes else "Nothing looks wrong.")
    )
    path = schema / "schema.yaml" if schema.is_dir() else schema
    if marked:
        say(f"Next: edit {path}, then {command_line('schema', 'check', path)}")
    elif not notes:
        say(f"Next: {command_line('plan', path, '--patients', 'N', *PROMISE)}")


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
    out: Out,
) -> None:
    """Turn tables or a database into a cohort folder.

    Every row of the patient table becomes one patient. COHORT/internal/import.json counts what
    could not be read. That file and the output of this command are for the data steward only.
    """
    from longsynth.reading.importing import import_cohort
    from longsynth.system.workers import progress_bar

    with progress_bar() as bar:  # rows are private, so they are not counted
        task = bar.add_task("import", total=None)
        imported = import_cohort(
            form, source, schema, out, lambda step: bar.update(task, description=step)
        )
    for note in imported.notes:
        say(f"Note: {note}")
    say(
        f"Wrote {imported.patients:,} patients and {imported.variables} variables to {out}: "
        "patients.parquet, observations.parquet, schema.yaml.\n"
        f"{out / 'internal/import.json'} counts what could not be mapped. It contains raw facts "
        "about patients: do not share it.\n"
        f"Next: {command_line('check', out)}"
    )


def check(
    cohort: CohortFolder,
    json: Json = False,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
) -> None:
    """Count what cannot be read as it stands in a cohort, before any budget is spent.

    The output is for the data steward only: it contains raw facts about patients.
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
