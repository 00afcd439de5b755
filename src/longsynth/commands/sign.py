"""keygen and sign: whose word stands behind a release."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import say
from longsynth.system.errors import Refused
from longsynth.system.text import command_line

if TYPE_CHECKING:
    from longsynth.release.folder import Release

PassphraseFile = Annotated[
    Path | None, typer.Option(help="A file whose first line is the passphrase of the key.")
]


def keygen(
    out: Annotated[Path, typer.Option("--out", help="The private key; OUT.pub is the public one.")],
    name: Annotated[
        str | None, typer.Option(help="Whose key it is: goes into OUT.pub and every signature.")
    ] = None,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Ask for a passphrase.")] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make a key pair for signing releases. Only the owner can read the private key."""
    from longsynth.govern.keys import make_keys, public_path

    passphrase = _first_line(passphrase_file) if passphrase_file else None
    if encrypt and passphrase is None:
        passphrase = _asked(f"New passphrase for {out}", confirm=True)
    public = make_keys(out, name=name, passphrase=passphrase)
    kept = (
        "it needs its passphrase"
        if passphrase
        else "it has no passphrase, so whoever can read this file can sign"
    )
    say(
        f"Wrote {out}: private, keep it to yourself; {kept}.\n"
        f"Wrote {public_path(out)}: for those who check your releases, by a way they trust.\n"
        f"Fingerprint: {public.fingerprint}\n"
        f"Next: {command_line('sign', 'RUN/release', '--key', out)}"
    )


def sign(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="A release folder, for instance RUN/release.")
    ],
    key: Annotated[Path, typer.Option(help="Your private key, made by `longsynth keygen`.")],
    by: Annotated[
        str | None, typer.Option(help="Your name, if KEY.pub does not say it already.")
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The form that the release has to keep to.")
    ] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Vouch for a release: checks it in full, then writes its signature.json."""
    from longsynth.govern.keys import is_encrypted, load_private, public_path
    from longsynth.release.verify import sign as vouch
    from longsynth.release.verify import signer_named

    passphrase = _first_line(passphrase_file) if passphrase_file else None
    if passphrase is None and is_encrypted(key):
        passphrase = _asked(f"Passphrase for {key}", confirm=False)
    private = load_private(key, passphrase)
    signer = signer_named(by, key, private)
    found = vouch(release, private, signer=signer, governance=governance)
    say(
        f"Signed {release} with key {private.public.fingerprint}.\n"
        + "\n".join(_vouched(found, signer, checked=governance is not None))
        + f"\nNext: {command_line('verify', release, '--key', public_path(key))}"
    )


def _vouched(found: "Release", signer: str | None, *, checked: bool) -> list[str]:
    """What the signer puts a name to."""
    from longsynth.release.statement import promised
    from longsynth.system.text import as_typed

    bundle, provenance = found.bundle, found.provenance
    budget = promised(bundle.ledger)
    lines = [
        f"It promises ε = {as_typed(budget.epsilon)}, δ = {as_typed(budget.delta)} to each of "
        f"{bundle.patients:,} patients, by method '{bundle.method}'."
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
            "That two people took part is not shown: no name was given with "
            f"`{'` and `'.join(lacking)}`."
        )
    if provenance.governance and not checked:
        lines.append(
            f"It names the governance form with SHA-256 {provenance.governance}, which was not "
            "looked at: `longsynth verify --governance` does."
        )
    return lines


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            line = file.readline(10_000).rstrip(b"\r\n")
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None
    if not line:
        raise Refused(f"{path} begins with an empty line: write the passphrase there.")
    return line


def _asked(question: str, *, confirm: bool) -> bytes:
    if not sys.stdin.isatty():
        raise Refused("there is no terminal to ask for the passphrase: give --passphrase-file.")
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=confirm)
    return answer.encode()
