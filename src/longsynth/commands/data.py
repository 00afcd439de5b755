"""`longsynth schema`, `recipe`, `import`, `check` and `split`: from tables to a checked cohort."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import (
    BUDGET_OPTIONS,
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
    print_json,
    require_new,
    say,
)
from longsynth.reading.formats import FORMATS, input_format
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line, is_one_line

if TYPE_CHECKING:
    from longsynth.reading.quality import Quality

ColumnsOf = Annotated[
    Path | None,
    typer.Option("--cohort", help="A cohort folder. Only its column names are read."),
]
CohortName = Annotated[str, typer.Option("--name", help="The name of the cohort.")]

schema_app = typer.Typer(no_args_is_help=True, help="Write and check a schema. Reads no data.")


@command(schema_app, "schema new --cohort cohort --out cohort/schema.yaml", "new")
def new_schema(
    out: NewFile,
    cohort: ColumnsOf = None,
    columns: Annotated[
        str | None, typer.Option(help="Or the column names: patient_id,time,hr,sbp,…")
    ] = None,
    name: CohortName = "my cohort",
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
    cohort: ColumnsOf = None,
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
    name: CohortName = "my cohort",
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


LONGEST_REASON = 500


def check(
    cohort: CohortFolder,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write a page with histograms. Internal: do not share it."),
    ] = None,
    accept_problems: Annotated[
        str | None, typer.Option(help="Accept red findings, for this reason.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Your name, for the receipt.")] = None,
    json: Json = False,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
) -> None:
    """Judge a cohort before any budget is spent: red, amber or green, with what to correct.

    Exit code 1 if anything is red and not accepted. Leaves COHORT/internal/check.json, the receipt
    that `longsynth fit` asks for. The output is for the data steward only: it contains raw facts
    about patients.
    """
    from dataclasses import asdict

    from longsynth.govern.provenance import require_name
    from longsynth.reading.cohort_folder import CohortFolder as Folder
    from longsynth.reading.quality import examine, fingerprint_of, write_receipt

    if by is not None:
        require_name(by)
    reason = None if accept_problems is None else accept_problems.strip()
    if reason is not None and not (reason and is_one_line(reason, LONGEST_REASON)):
        raise Refused(
            Code.OPTION_UNUSABLE,
            "--accept-problems needs a reason.",
            f"Give one sentence of up to {LONGEST_REASON} characters.",
        )
    if html is not None and html.exists():
        raise Refused(
            Code.OUTPUT_EXISTS, f"{html} already exists.", "Choose another --html, or remove it."
        )
    chosen = cohort_on(engine, cohort, master, tables, None)
    with Folder(chosen) if isinstance(chosen, Path) else chosen as source:
        content = fingerprint_of(source.folder) if source.folder else None
        quality = examine(source, cohort, histograms=html is not None)
        schema = source.schema
    red = quality.colours["red"] > 0
    accepted = reason if red else None
    if html is not None:
        from longsynth.show.pages import write_check_page

        write_check_page(html, schema, quality, accepted)
    if json:
        print_json(
            {
                "patients": quality.patients,
                **quality.counts,
                "verdict": quality.colour,
                "colours": quality.colours,
                "accepted": accepted,
                "findings": [asdict(finding) for finding in quality.findings],
            }
        )
    else:
        from longsynth.show.terminal import show_quality, stdout

        show_quality(stdout(), quality)
    if content:
        write_receipt(cohort, quality.colours, by=by, accepted=accepted, fingerprint=content)
    if not json:
        if html is not None:
            say(f"Wrote {html}. It shows real patients: do not share it.")
        say(_next(cohort, quality, accepted))
    if red and not accepted:
        raise typer.Exit(1)


def _next(cohort: Path, quality: "Quality", accepted: str | None) -> str:
    if quality.colours["red"] and not accepted:
        reason = command_line("check", cohort, "--accept-problems", "the reason")
        return (
            "Correct what is red, and check again. A fit is refused until then.\n"
            f"If it is right as it stands: {reason}"
        )
    size = ("--patients", quality.patients)
    return f"Next: {command_line('plan', cohort / 'schema.yaml', *size, *BUDGET_OPTIONS)}"


def split(
    cohort: CohortFolder,
    out: Out,
    holdout: Annotated[float, typer.Option(help="The share to hold out, below 1.")] = 0.2,
) -> None:
    """Hold patients out, by a keyed hash of their ids, so that an audit has people nobody fitted.

    Writes OUT/train and OUT/holdout. Reads ids only; rows are copied as they are.
    """
    from longsynth.reading.split import split_cohort

    parts = split_cohort(cohort, holdout, out)
    say(
        f"Wrote {parts.train:,} patients to {out / 'train'} and {parts.holdout:,} to "
        f"{out / 'holdout'}. Fit the first, and keep the second for `longsynth audit --test`.\n"
        f"Next: {command_line('check', out / 'train')}"
    )
