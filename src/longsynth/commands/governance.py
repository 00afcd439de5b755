"""`longsynth governance`: the form that a study fills in before anyone touches its data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.by_example import command
from longsynth.commands.options import say
from longsynth.system.errors import Refused
from longsynth.system.text import command_line

if TYPE_CHECKING:
    from longsynth.govern.form import Form

app = typer.Typer(
    no_args_is_help=True,
    help="Write, check and print the form that says what a study may do with its data.",
)

FormFile = Annotated[Path, typer.Argument(metavar="FORM", help="A governance form.")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="schema.yaml of the cohort.")]


@command(app, "governance new --schema cohort/schema.yaml --out form.yaml")
def new(
    out: Annotated[Path, typer.Option("--out", help="A file that does not exist yet.")],
    schema: SchemaFile = None,
) -> None:
    """Write a form to fill in, with every question explained."""
    from longsynth.govern.form import blank_form
    from longsynth.schema.file import load_schema

    _write_new(out, blank_form(load_schema(schema) if schema else None))
    say(
        f"Wrote {out}: fill it in before anyone touches the data.\n"
        "Next: "
        + command_line("governance", "check", out, *(("--schema", schema) if schema else ()))
    )


@command(app, "governance check form.yaml --schema cohort/schema.yaml")
def check(form: FormFile, schema: SchemaFile = None) -> None:
    """Say what of a form is still open or wrong, and whether a schema keeps to it."""
    from longsynth.govern.form import load_form
    from longsynth.release.form_check import schema_departures
    from longsynth.schema.file import load_schema, schema_sha256

    public = load_schema(schema) if schema else None
    told = f"The SHA-256 of {schema} is {schema_sha256(public)}." if public else ""
    try:
        found = load_form(form)
    except Refused as refusal:
        raise Refused(f"{refusal}\n{told}".rstrip()) from None
    if public and (departures := list(schema_departures(found, public))):
        raise Refused("\n- ".join([f"{schema} departs from {form}:", *departures]))
    for line in _summary(found, form):
        say(line)
    say(f"{schema} keeps to it." if public else "Not held against a schema: give --schema.")


@command(app, "governance page form.yaml --out form.html")
def page(
    form: FormFile,
    out: Annotated[Path, typer.Option("--out", help="A new file: page.html or page.md.")],
) -> None:
    """Make a page of a form, to read, print and sign."""
    from longsynth.govern.form import load_form
    from longsynth.show.form_page import html_page, markdown_page

    made = {".html": html_page, ".md": markdown_page}.get(out.suffix.lower())
    if made is None:
        raise Refused(f"{out} is neither .html nor .md: end --out with one of them.")
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
    from longsynth.release.form_check import out_of_time
    from longsynth.release.statement import delta_warning
    from longsynth.system.text import as_typed, shortened

    says = form.says
    limits, most = says.budget, says.protection.patients_at_most
    notes = list(out_of_time(form, date.today()))
    if note := delta_warning(Budget(limits.epsilon, limits.delta), most):
        notes.append(f"budget.delta: {note}")
    if limits.book == "not kept":
        notes.append("budget.book: repeated fits of these patients will not be added up.")
    return [
        f"{path} is complete: {shortened(says.study.title)}",
        f"It allows up to ε = {as_typed(limits.epsilon)}, δ = {as_typed(limits.delta)} a fit, by "
        f"{', '.join(limits.methods)}, of {len(says.public_facts.variables)} variables in "
        f"'{says.data.dataset}', until {says.data.valid_until}.",
        *(f"Note: {note}" for note in notes),
        f"SHA-256: {form.sha256}",
    ]


def _write_new(out: Path, text: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(f"{out} exists already: choose another --out, or remove it first.") from None
    except OSError as error:
        raise Refused(f"{out} cannot be created: {error.strerror}.") from None
