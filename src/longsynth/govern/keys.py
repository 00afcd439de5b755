"""Keys and signatures: who vouches for a release. Ed25519; only its owner can read a private key.

The private key is PKCS #8 in PEM. The public key is one line as OpenSSH writes it, with the
owner's name at its end, so that `ssh-keygen -lf` shows the same fingerprint as we do.
"""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE, S_ISREG

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_public_key,
)

from longsynth.govern.provenance import Provenance, require_name, same_name
from longsynth.system.errors import Code, Finding, Refused, ReleaseError
from longsynth.system.folders import as_json, not_written, regular_size
from longsynth.system.text import is_name, shell

LARGEST = 10_000  # bytes
KEYGEN_FILE = "Give the file that `longsynth keygen` wrote."
_PRIVATE = b" PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class PublicKey:
    raw: bytes  # 32 of them
    name: str | None = None  # whose it is, as the file says

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -lf` shows it."""
        size = len(self.raw).to_bytes(4, "big")
        hashed = sha256(b"\0\0\0\x0bssh-ed25519" + size + self.raw).digest()
        return "SHA256:" + b64encode(hashed).decode().rstrip("=")

    def signed(self, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def line(self) -> bytes:
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + (
            f" {self.name}\n".encode() if self.name else b"\n"
        )


@dataclass(frozen=True, slots=True)
class PrivateKey:
    secret: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        return PublicKey(self.secret.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        return self.secret.sign(message)


def public_path(private: Path) -> Path:
    return private.with_name(private.name + ".pub")


def make_keys(out: Path, *, name: str | None = None, passphrase: bytes | None = None) -> PublicKey:
    """Write OUT, which only its owner can read from the first byte on, and OUT.pub for everyone."""
    if name is not None:
        require_name(name)
    for path in (out, public_path(out)):
        if os.path.lexists(path):
            raise Refused(
                Code.OUTPUT_EXISTS,
                f"{path} already exists, and a key is never replaced.",
                "Choose another name for the key.",
            )
    secret = Ed25519PrivateKey.generate()
    protection = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    public = PublicKey(secret.public_key().public_bytes_raw(), name)
    _write(out, secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection), 0o600)
    try:
        _write(public_path(out), public.line(), 0o644)
    except BaseException:
        out.unlink()
        raise
    return public


def is_encrypted(path: Path) -> bool:
    """Whether a private key asks for a passphrase."""
    return b"BEGIN ENCRYPTED" in _read(path)[0]


def load_private(path: Path, passphrase: bytes | None = None) -> PrivateKey:
    content, mode = _read(path)
    if _PRIVATE not in content:
        raise _unusable(f"{path} is not a private key.", KEYGEN_FILE)
    if mode & 0o077:
        raise _unusable(
            f"other users can open {path} (mode {mode:03o}).",
            f"Run `chmod 600 {shell(path)}`, and make a new key if anyone may have read it.",
        )
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        problem, remedy = (
            (f"{path} has no passphrase.", "Leave the passphrase out.")
            if passphrase
            else (f"{path} is protected by a passphrase.", "Give the passphrase.")
        )
        raise Refused(Code.PASSPHRASE_WRONG, problem, remedy) from None
    except (ValueError, UnsupportedAlgorithm):
        if passphrase:
            raise Refused(
                Code.PASSPHRASE_WRONG,
                f"{path} cannot be used: the passphrase is wrong, or the file is damaged.",
                "Check the passphrase.",
            ) from None
        raise _unusable(f"{path} cannot be used: it is damaged.", KEYGEN_FILE) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable(f"{path} is not an Ed25519 key.", KEYGEN_FILE)
    return PrivateKey(key)


def load_public(path: Path) -> PublicKey:
    """Read an OpenSSH line, or PEM, which holds no name."""
    content = _read(path)[0].strip()
    if _PRIVATE in content:
        raise _unusable(
            f"{path} is a private key.",
            f"Give {public_path(path).name}, and keep this file secret.",
        )
    try:
        pem = content.startswith(b"-----BEGIN ")
        key = load_pem_public_key(content) if pem else load_ssh_public_key(content)
        comment = "" if pem else "".join(content.decode().split(maxsplit=2)[2:])
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable(
            f"{path} is not a public key.", "Give KEY.pub, which `longsynth keygen` wrote."
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _unusable(f"{path} is not an Ed25519 key.", "Ask the signer for the right one.")
    return PublicKey(key.public_bytes_raw(), comment if is_name(comment) else None)


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise not_written(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        raise not_written(path, error) from None


def _read(path: Path) -> tuple[bytes, int]:
    """Return what a key file holds and its permissions."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not make us wait
        try:
            status = os.fstat(descriptor)
            if not S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise _unusable(f"{path} is not a key file.", KEYGEN_FILE)
            return os.read(descriptor, LARGEST), S_IMODE(status.st_mode)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Refused(
            Code.FILE_UNREADABLE,
            f"{path} cannot be read: {error.strerror}.",
            "Correct the path. `longsynth keygen` makes a pair of keys: FILE to sign, FILE.pub to "
            "check.",
        ) from None


def _unusable(problem: str, remedy: str) -> Refused:
    return Refused(Code.KEY_UNUSABLE, problem, remedy)


SIGNATURE = "signature.json"
FORMAT = 1
LARGEST_SIGNATURE = 4_000  # bytes
PURPOSE = b"longsynth signed release, format 1\n"  # the same key may sign other things elsewhere


@dataclass(frozen=True, slots=True)
class Signature:
    signer: str | None
    key: PublicKey
    value: bytes  # 64 of them

    def fits(self, manifest: bytes) -> bool:
        return self.key.signed(signed_message(manifest, self.signer), self.value)


def signed_message(manifest: bytes, signer: str | None) -> bytes:
    """A name has no line break, so two different pairs of manifest and name never give the same
    bytes."""
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
    malformed = ReleaseError(
        Code.SIGNATURE_MALFORMED,
        f"{path} is not a signature that longsynth writes.",
        "Ask the signer to sign again.",
    )
    content = path.read_bytes() if regular_size(path) <= LARGEST_SIGNATURE else b""
    try:
        stated = json.loads(content)
        signer, raw, value = (stated[name] for name in ("signer", "public_key", "signature"))
        signature = Signature(signer, PublicKey(b64decode(raw)), b64decode(value))
        named = signer is None or is_name(signer)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise malformed from None
    if not named or signature_json(signature) != content:
        raise malformed
    return signature


def check_signature(
    folder: Path, manifest: bytes, provenance: Provenance, trusted: PublicKey | None
) -> Iterator[Finding]:
    """Say who signed. Whose key it is can only be told by someone who already has the key."""
    if not is_signed(folder):
        yield (
            Finding(True, "not signed: these checks show consistency, not who made the release.")
            if trusted is None
            else Finding(False, f"{folder} is NOT signed: ask for {SIGNATURE}.")
        )
        return
    signature = read_signature(folder)
    if not signature.fits(manifest):
        yield Finding(False, f"{SIGNATURE} is NOT a valid signature of manifest.json.")
        return
    by, used = signature.signer or "a signer without a name", signature.key.fingerprint
    if trusted is None:
        yield Finding(
            True,
            f"signed by {by} with key {used}. Whose key that is was not checked: give the public "
            "key of the signer you expect.",
        )
    elif trusted.raw != signature.key.raw:
        yield Finding(
            False, f"signed with ANOTHER key, {used}; the key you gave is {trusted.fingerprint}."
        )
    elif trusted.name and signature.signer and not same_name(trusted.name, signature.signer):
        yield Finding(False, f"signed by {by}, but the key you gave belongs to {trusted.name}.")
    else:
        yield Finding(True, f"signed by {by} with the key you gave, {used}.")
    names = (signature.signer, trusted.name if trusted else None)
    yield _two_people(provenance.fitted_by, [name for name in names if name])


def _two_people(fitted_by: str | None, signers: list[str]) -> Finding:
    if fitted_by is None or not signers:
        missing = "fitted" if fitted_by is None else "signed"
        return Finding(
            True, f"who {missing} it is not named, so it does not show that two people took part."
        )
    if any(same_name(fitted_by, name) for name in signers):
        return Finding(False, f"{fitted_by} both fitted and signed it: two people are required.")
    return Finding(True, f"{fitted_by} fitted it and {signers[0]} signed it, by their own account.")
