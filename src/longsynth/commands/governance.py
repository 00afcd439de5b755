"""`longsynth governance`: the form that a study completes before anyone touches its data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import NewFile, command, say
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line

if TYPE_CHECKING:
    from longsynth.govern.form import Form

app = typer.Typer(
    no_args_is_help=True,
    help="Write, check and print the form that states what a study may do with its data.",
)

FormFile = Annotated[Path, typer.Argument(metavar="FORM", help="A governance form.")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="schema.yaml of the cohort.")]


@command(app, "governance new --schema cohort/schema.yaml --out form.yaml")
def new(
    out: NewFile,
    schema: SchemaFile = None,
) -> None:
    """Write a form to complete, with every question explained."""
    from longsynth.govern.form import blank_form
    from longsynth.schema.file import load_schema

    _write_new(out, blank_form(load_schema(schema) if schema else None))
    say(
        f"Wrote {out}. Complete it before anyone touches the data.\n"
        "Next: "
        + command_line("governance", "check", out, *(("--schema", schema) if schema else ()))
    )


@command(app, "governance check form.yaml --schema cohort/schema.yaml")
def check(form: FormFile, schema: SchemaFile = None) -> None:
    """List what is missing or wrong in a form, and whether a schema complies with it."""
    from longsynth.govern.form import load_form
    from longsynth.release.form_check import schema_departures
    from longsynth.schema.file import load_schema, schema_sha256

    public = load_schema(schema) if schema else None
    try:
        loaded = load_form(form)
    except Refused as refusal:
        hint = f"\nThe SHA-256 of {schema} is {schema_sha256(public)}." if public else ""
        raise Refused(refusal.code, refusal.problem, refusal.remedy + hint) from None
    if public and (departures := list(schema_departures(loaded, public))):
        raise Refused(
            Code.FORM_NOT_MET,
            "\n- ".join([f"{schema} does not comply with {form}:", *departures]),
            "\nChange the schema, or have the form changed and approved.",
        )
    for line in _summary(loaded, form):
        say(line)
    say(f"{schema} complies with it." if public else "To check a schema too, give --schema.")


@command(app, "governance page form.yaml --out form.html")
def page(
    form: FormFile,
    out: Annotated[Path, typer.Option("--out", help="A new file: page.html or page.md.")],
) -> None:
    """Make a page from a form, to read, print and sign."""
    from longsynth.govern.form import load_form
    from longsynth.show.form_page import html_page, markdown_page

    made = {".html": html_page, ".md": markdown_page}.get(out.suffix.lower())
    if made is None:
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"{out} does not end in .html or .md.",
            "End --out with one of them.",
        )
    _write_new(out, made(load_form(form)))
    say(f"Wrote {out}.")


@command(app, "governance json-schema")
def json_schema() -> None:
    """Print the JSON Schema of the form, for editors and other tools."""
    from json import dumps

    from longsynth.govern.form import json_schema as rules

    say(dumps(rules(), indent=2, ensure_ascii=False))


def _summary(form: "Form", path: Path) -> list[str]:
    from datetime import date

    from longsynth.privacy.budget import Budget
    from longsynth.release.form_check import outside_approval
    from longsynth.release.statement import delta_warning
    from longsynth.system.text import as_typed, shortened

    says = form.says
    limits, most = says.budget, says.protection.patients_at_most
    notes = list(outside_approval(form, date.today()))
    if note := delta_warning(Budget(limits.epsilon, limits.delta), most):
        notes.append(f"budget.delta: {note}")
    if limits.book == "not kept":
        notes.append("budget.book: without one, repeated fits of these patients are not added up.")
    return [
        f"{path} is complete: {shortened(says.study.title)}",
        f"It allows up to ε = {as_typed(limits.epsilon)}, δ = {as_typed(limits.delta)} per fit, "
        f"with {', '.join(limits.methods)}, for {len(says.public_facts.variables)} variables of "
        f"'{says.data.dataset}', until {says.data.valid_until}.",
        *(f"Note: {note}" for note in notes),
        f"SHA-256: {form.sha256}",
    ]


def _write_new(out: Path, text: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(
            Code.OUTPUT_EXISTS,
            f"{out} already exists.",
            "Choose another --out, or remove it first.",
        ) from None
    except OSError as error:
        raise Refused(
            Code.OUTPUT_NOT_WRITTEN,
            f"{out} cannot be created: {error.strerror}.",
            "Choose another --out.",
        ) from None
