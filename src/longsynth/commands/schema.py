"""`longsynth schema`: a first schema from column names, and checks of a finished one."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import Json, NewFile, command, require_new
from longsynth.commands.output import print_json, say
from longsynth.system.text import PROMISE, command_line

app = typer.Typer(no_args_is_help=True, help="Write and check a schema, without looking at data.")


@command(app, "schema new --cohort cohort --out cohort/schema.yaml")
def new(
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
    from longsynth.system.errors import Code, Refused
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


@command(app, "schema check cohort/schema.yaml --cohort cohort")
def check(
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
