"""signature.json: a name and a key that vouch for a release, beside its five files.

What is signed is the exact manifest.json, which holds the hash of every other file and the
provenance, and the signer's name. The file's bytes follow from its facts, so it can hide nothing.
"""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longsynth.govern.keys import PrivateKey, PublicKey
from longsynth.govern.names import same_name
from longsynth.govern.provenance import Provenance
from longsynth.system.errors import ReleaseError
from longsynth.system.finding import Finding
from longsynth.system.folders import as_json, regular_size
from longsynth.system.outside_text import is_name

SIGNATURE = "signature.json"
FORMAT = 1
LARGEST = 4_000  # bytes
PURPOSE = b"longsynth signed release, format 1\n"  # the same key may sign other things elsewhere


@dataclass(frozen=True, slots=True)
class Signature:
    signer: str | None
    key: PublicKey
    value: bytes  # 64 of them

    def fits(self, manifest: bytes) -> bool:
        return self.key.signed(signed_message(manifest, self.signer), self.value)


def signed_message(manifest: bytes, signer: str | None) -> bytes:
    """A name holds no line break, so no two pairs of manifest and name give the same bytes."""
    return PURPOSE + (signer or "").encode() + b"\n" + manifest


def signature_of(manifest: bytes, key: PrivateKey, signer: str | None) -> Signature:
    return Signature(signer, key.public, key.sign(signed_message(manifest, signer)))


def signature_json(signature: Signature) -> bytes:
    return as_json(
        {
            "format": FORMAT,
            "signs": "manifest.json",
            "signer": signature.signer,
            "public_key": b64encode(signature.key.raw).decode(),
            "signature": b64encode(signature.value).decode(),
        }
    )


def is_signed(folder: Path) -> bool:
    return os.path.lexists(folder / SIGNATURE)


def read_signature(folder: Path) -> Signature:
    path = folder / SIGNATURE
    content = path.read_bytes() if regular_size(path) <= LARGEST else b""
    try:
        stated = json.loads(content)
        signer, raw, value = (stated[name] for name in ("signer", "public_key", "signature"))
        found = Signature(signer, PublicKey(b64decode(raw)), b64decode(value))
        named = signer is None or is_name(signer)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseError(f"{path} is not a signature that longsynth writes.") from None
    if not named or signature_json(found) != content:
        raise ReleaseError(f"{path} is not a signature that longsynth writes.")
    return found


def check_signature(
    folder: Path, manifest: bytes, provenance: Provenance, trusted: PublicKey | None
) -> Iterator[Finding]:
    """Say who signed, as far as anyone can: a key shows whose it is only to who has it already."""
    if not is_signed(folder):
        yield (
            Finding(True, "no one signed it: these checks show consistency, not who made it.")
            if trusted is None
            else Finding(False, f"{folder} is NOT signed: ask for {SIGNATURE}.")
        )
        return
    found = read_signature(folder)
    if not found.fits(manifest):
        yield Finding(False, f"{SIGNATURE} does NOT fit manifest.json: it is no valid signature.")
        return
    by, used = found.signer or "a signer without a name", found.key.fingerprint
    if trusted is None:
        yield Finding(
            True, f"signed by {by} with key {used}; give --key to check whose key that is."
        )
    elif trusted.raw != found.key.raw:
        yield Finding(
            False, f"signed with ANOTHER key, {used}; the one given is {trusted.fingerprint}."
        )
    elif trusted.name and found.signer and not same_name(trusted.name, found.signer):
        yield Finding(False, f"signed by {by}, but the key given is that of {trusted.name}.")
    else:
        yield Finding(True, f"signed by {by} with the key given, {used}.")
    names = (found.signer, trusted.name if trusted else None)
    yield _two_people(provenance.fitted_by, [name for name in names if name])


def _two_people(fitted_by: str | None, signers: list[str]) -> Finding:
    if fitted_by is None or not signers:
        missing = "fitted" if fitted_by is None else "signed"
        return Finding(True, f"who {missing} is not named: that two people took part is not shown.")
    if any(same_name(fitted_by, name) for name in signers):
        return Finding(False, f"{fitted_by} both fitted and signed: it takes two people.")
    return Finding(True, f"{fitted_by} fitted and {signers[0]} signed, going by their names.")
