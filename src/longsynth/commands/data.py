"""`longsynth schema`, `recipe` and `import`: from your tables to a cohort folder."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import (
    BUDGET_OPTIONS,
    Json,
    NewFile,
    Out,
    command,
    print_json,
    require_new,
    say,
)
from longsynth.reading.formats import FORMATS, input_format
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
        say(f"Next: {command_line('plan', path, '--patients', 'N', *BUDGET_OPTIONS)}")


recipe_app = typer.Typer(
    no_args_is_help=True, help="Write a recipe that says how to read a hospital's own export."
)


@command(recipe_app, "recipe new ward.csv --out recipe.yaml", "new")
def recipe_new(
    export: Annotated[
        list[Path], typer.Argument(metavar="EXPORT…", help="The files: CSV, Excel or Parquet.")
    ],
    out: NewFile,
    name: Annotated[str, typer.Option(help="The name of the cohort.")] = "my cohort",
) -> None:
    """Write a first recipe, from column names and the form of cells. It contains no values.

    The output is for the data steward only.
    """
    from longsynth.reading.export import look_at
    from longsynth.reading.first_recipe import first_recipe
    from longsynth.schema.from_names import marked_lines
    from longsynth.system.folders import write_whole

    require_new(out)
    text = first_recipe(export, name)
    for path in export:
        for found in look_at(path):
            say(f"Detected {found.sentence()}.")
    write_whole(out, text.encode())
    marked = marked_lines(text)
    say(
        f"Wrote {out}. Decide the {marked} lines that are marked CHECK or FILL IN, and remove the "
        f"marks.\nNext: edit {out}, then "
        + command_line("import", "table", *export, "--recipe", out, "--out", "cohort")
    )


map_app = typer.Typer(
    no_args_is_help=True, help="Write a schema with a mapping for an export in a standard format."
)


@command(map_app, "map new fhir export --out schema.yaml", "new")
def map_new(
    form: Annotated[str, typer.Argument(metavar="fhir", help="The format of the export.")],
    export: Annotated[Path, typer.Argument(metavar="EXPORT", help="A folder of .ndjson.")],
    out: NewFile,
    name: Annotated[str, typer.Option(help="The name of the cohort.")] = "my cohort",
) -> None:
    """Write a first schema with its mapping, from the codes and units of a FHIR export.

    No value is read. The output is for the data steward only.
    """
    from longsynth.reading.first_map import first_map
    from longsynth.schema.from_names import marked_lines
    from longsynth.system.folders import write_whole

    if form != "fhir":
        raise Refused(
            Code.FORMAT_UNKNOWN,
            f"no mapping can be written for {form!r}.",
            "Choose fhir, or write the mapping by hand.",
        )
    require_new(out)
    text = first_map(export, name)
    write_whole(out, text.encode())
    say(
        f"Wrote {out} from codes and units. No value was read. Decide the {marked_lines(text)} "
        "lines that are marked CHECK.\n"
        f"Next: {command_line('import', form, export, '--schema', out, '--out', 'cohort')}"
    )


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
        list[str],
        typer.Argument(
            metavar="SOURCE…",
            help="; ".join(f"{name}: {form.source}" for name, form in FORMATS.items()) + ".",
        ),
    ],
    out: Out,
    schema: Annotated[
        Path | None, typer.Option(help="The schema, with the mapping under 'source'.")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="For a table: the recipe; see `longsynth recipe new`.")
    ] = None,
) -> None:
    """Turn a hospital's export, tables or a database into a cohort folder.

    COHORT/internal/import.json counts what could not be read. That file and the output of this
    command are for the data steward only.
    """
    from longsynth.reading.importing import import_cohort
    from longsynth.system.workers import progress_bar

    given = {"schema": schema, "recipe": recipe}
    wanted = input_format(form).described_by
    if any(path for option, path in given.items() if option != wanted):
        raise Refused(
            Code.OPTIONS_CONFLICT,
            f"a {wanted} describes `import {form}`.",
            f"Give --{wanted} alone.",
        )
    if wanted == "schema" and not schema:
        raise Refused(Code.OPTIONS_CONFLICT, f"`import {form}` needs a schema.", "Give --schema.")
    with progress_bar() as bar:  # rows are private, so they are not counted
        task = bar.add_task("import", total=None)

        def step(words: str) -> None:
            bar.update(task, description=words)

        imported = import_cohort(form, source, given[wanted], out, step)
    for note in imported.notes:
        say(f"Note: {note}")
    say(
        f"Wrote {imported.patients:,} patients and {imported.variables} variables to {out}: "
        "patients.parquet, observations.parquet, schema.yaml.\n"
        f"{out / 'internal/import.json'} counts what could not be mapped. It contains raw facts "
        "about patients: do not share it.\n"
        f"Next: {command_line('check', out)}"
    )
