"""longsynth schema: a first schema from column names, and a second look at a finished one."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.by_example import command
from longsynth.commands.options import Json, print_json, say
from longsynth.system.text import PROMISE, command_line

app = typer.Typer(no_args_is_help=True, help="Write and check a schema, without looking at data.")


@command(app, "schema new --cohort cohort --out cohort/schema.yaml")
def new(
    out: Annotated[Path, typer.Option("--out", help="A file that does not exist yet.")],
    cohort: Annotated[
        Path | None, typer.Option(help="A cohort folder; only its column names are read.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Or the names themselves: patient_id,time,hr,sbp,…")
    ] = None,
    name: Annotated[str, typer.Option(help="What the cohort is called.")] = "my cohort",
) -> None:
    """Write a commented starting schema from column names and a catalogue of public facts."""
    from longsynth.schema.guesses import Columns, read_columns
    from longsynth.schema.start import marked_lines, starting_schema
    from longsynth.system.errors import Refused
    from longsynth.system.folders import write_whole

    if (cohort is None) == (columns is None):
        raise Refused("give either --cohort FOLDER or --columns patient_id,time,hr,….")
    if out.exists():
        raise Refused(f"{out} exists already: choose another --out, or remove it first.")
    if cohort is not None:
        found = read_columns(cohort)
    else:
        names = tuple(c.strip() for c in (columns or "").split(",") if c.strip())
        found = Columns(names, names)
    text = starting_schema(name, found)
    write_whole(out, text.encode())
    say(
        f"Wrote {out} from {len({*found.observations, *found.patients})} column names; no row was "
        f"read. Settle the {marked_lines(text)} lines that are marked CHECK or FILL IN.\n"
        f"Next: {command_line('schema', 'check', out)}"
    )


@command(app, "schema check cohort/schema.yaml --cohort cohort")
def check(
    schema: Annotated[
        Path, typer.Argument(metavar="SCHEMA", help="schema.yaml, or a folder with one.")
    ],
    cohort: Annotated[
        Path | None, typer.Option(help="A cohort folder; only its column names are read.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what looks odd: unknown columns, bounds against the catalogue. No value is read."""
    from longsynth.reading.check import remarks
    from longsynth.schema.file import load_schema, schema_text
    from longsynth.schema.guesses import read_columns
    from longsynth.schema.start import marked_lines

    found = load_schema(schema)
    said = list(remarks(found, read_columns(cohort) if cohort else None))
    if marked := marked_lines(schema_text(schema)):
        said.append(f"lines still marked CHECK or FILL IN: {marked}. Settle each, remove its mark.")
    if json:
        print_json({"variables": len(found.variables), "slots": found.slots, "remarks": said})
        return
    for remark in said:
        say(f"- {remark}")
    variables = len(found.variables)
    say(
        f"The schema is {'not finished' if marked else 'valid'}: {variables} variables in "
        f"{found.slots} slots. "
        + (f"To look at: {len(said)}, see above." if said else "Nothing looks odd.")
    )
    path = schema / "schema.yaml" if schema.is_dir() else schema
    if marked:
        say(f"Next: edit {path}, then {command_line('schema', 'check', path)}")
    elif not said:
        say(f"Next: {command_line('plan', path, '--patients', 'N', *PROMISE)}")
