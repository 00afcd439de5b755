"""`longsynth governance`, `keygen` and `sign`: a study's form, and who vouches for a release."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import Governance, NewFile, Release, command, require_new, say
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line

if TYPE_CHECKING:
    from longsynth.govern.form import Form
    from longsynth.release.folder import Release as SignedRelease

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
    from longsynth.system.folders import write_whole

    require_new(out)
    write_whole(out, blank_form(load_schema(schema) if schema else None).encode())
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
    from longsynth.show.pages import html_page, markdown_page
    from longsynth.system.folders import write_whole

    made = {".html": html_page, ".md": markdown_page}.get(out.suffix.lower())
    if made is None:
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"{out} does not end in .html or .md.",
            "End --out with one of them.",
        )
    require_new(out)
    write_whole(out, made(load_form(form)).encode())
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
        *(
            f"{title}: {', '.join(entry.name for entry in listed)}."
            for title, listed in (("Outcomes", says.outcomes), ("Groups", says.groups))
            if listed
        ),
        *(f"Note: {note}" for note in notes),
        f"SHA-256: {form.sha256}",
    ]


PassphraseFile = Annotated[
    Path | None, typer.Option(help="A file whose first line is the passphrase.")
]


def keygen(
    out: Annotated[Path, typer.Option("--out", help="The private key. OUT.pub is the public key.")],
    name: Annotated[
        str | None,
        typer.Option(help="Your name, for OUT.pub and every signature."),
    ] = None,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Ask for a passphrase.")] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make a key pair for signing releases. Only you can read the private key."""
    from longsynth.govern.keys import make_keys, public_path

    passphrase = _first_line(passphrase_file) if passphrase_file else None
    if encrypt and passphrase is None:
        passphrase = _passphrase(f"New passphrase for {out}", confirm=True)
    public = make_keys(out, name=name, passphrase=passphrase)
    kept = (
        "It is protected by its passphrase"
        if passphrase
        else "It has no passphrase, so anyone who can read this file can sign"
    )
    say(
        f"Wrote {out}, the private key: keep it secret. {kept}.\n"
        f"Wrote {public_path(out)}, the public key: send it to those who check your releases, in a "
        "way that they trust.\n"
        f"Fingerprint: {public.fingerprint}\n"
        f"Next: {command_line('sign', 'RUN/release', '--key', out)}"
    )


def sign(
    release: Release,
    key: Annotated[Path, typer.Option(help="Your private key, made by `longsynth keygen`.")],
    by: Annotated[str | None, typer.Option(help="Your name, if KEY.pub does not state it.")] = None,
    governance: Governance = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Sign a release: check all of it, then write its signature.json."""
    from longsynth.govern.keys import is_encrypted, load_private, public_path
    from longsynth.release.verify import sign as vouch
    from longsynth.release.verify import signer_named

    passphrase = _first_line(passphrase_file) if passphrase_file else None
    if passphrase is None and is_encrypted(key):
        passphrase = _passphrase(f"Passphrase for {key}", confirm=False)
    private = load_private(key, passphrase)
    signer = signer_named(by, key, private)
    signed = vouch(release, private, signer=signer, governance=governance)
    say(
        f"Signed {release} with key {private.public.fingerprint}.\n"
        + "\n".join(_vouched(signed, signer, checked=governance is not None))
        + f"\nOthers check it with: {command_line('verify', release, '--key', public_path(key))}"
        + f"\nNext: {command_line('dossier', release, '--out', 'dossier.html')}"
    )


def _vouched(signed: "SignedRelease", signer: str | None, *, checked: bool) -> list[str]:
    """Return what the signer vouches for."""
    from longsynth.release.statement import promised
    from longsynth.system.text import as_typed

    bundle, provenance = signed.bundle, signed.provenance
    budget = promised(bundle.ledger)
    lines = [
        f"It guarantees ε = {as_typed(budget.epsilon)}, δ = {as_typed(budget.delta)} to each of "
        f"{bundle.patients:,} patients, with method '{bundle.method}'."
    ]
    if caution := bundle.origin.caution(bundle.method):
        lines.append(f"NOTE {caution}")
    if provenance.fitted_by and signer:
        lines.append(f"{provenance.fitted_by} fitted it, {signer} signed it.")
    else:
        lacking = [
            way
            for way, name in (("fit --by", provenance.fitted_by), ("sign --by", signer))
            if not name
        ]
        lines.append(
            "It does not show that two people took part: no name was given with "
            f"`{'` and `'.join(lacking)}`."
        )
    if provenance.governance and not checked:
        lines.append(
            f"It names the governance form with SHA-256 {provenance.governance}, which was not "
            "checked. `longsynth verify --governance` checks it."
        )
    return lines


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            line = file.readline(10_000).rstrip(b"\r\n")
    except OSError as error:
        raise Refused(
            Code.FILE_UNREADABLE, f"{path} cannot be read: {error.strerror}.", "Give another file."
        ) from None
    if not line:
        raise Refused(
            Code.PASSPHRASE_MISSING,
            f"the first line of {path} is empty.",
            "Write the passphrase there.",
        )
    return line


def _passphrase(question: str, *, confirm: bool) -> bytes:
    if not sys.stdin.isatty():
        raise Refused(
            Code.PASSPHRASE_MISSING,
            "there is no terminal to ask for the passphrase.",
            "Give --passphrase-file.",
        )
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=confirm)
    return answer.encode()
