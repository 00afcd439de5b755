"""`longsynth keygen` and `longsynth sign`: who vouches for a release."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import Governance, Release, say
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line

if TYPE_CHECKING:
    from longsynth.release.folder import Release as SignedRelease

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
        + f"\nNext: {command_line('verify', release, '--key', public_path(key))}"
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
