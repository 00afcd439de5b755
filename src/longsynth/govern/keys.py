"""Keys: who vouches for a release. Ed25519; the private half is readable by its owner alone.

The private key is PKCS #8 in PEM. The public key is one line as OpenSSH writes it, with the
holder's name at its end, so that `ssh-keygen -lf` shows the same fingerprint as we do.
"""

import os
from base64 import b64encode
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

from longsynth.govern.names import require_name
from longsynth.system.errors import Refused
from longsynth.system.escaping import shell
from longsynth.system.outside_text import is_name

LARGEST = 10_000  # bytes
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
    """Write OUT, readable by its owner from the first byte on, and OUT.pub for everyone."""
    if name is not None:
        require_name(name)
    for path in (out, public_path(out)):
        if os.path.lexists(path):
            raise Refused(f"{path} exists already: choose another --out. A key is not replaced.")
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
        raise Refused(f"{path} is not a private key: give the file that `longsynth keygen` wrote.")
    if mode & 0o077:
        raise Refused(
            f"{path} can be opened by others (mode {mode:03o}): run `chmod 600 {shell(path)}`, and "
            "make a new key if anyone may have read it."
        )
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        asked = "has no passphrase" if passphrase else "is protected by a passphrase: give it"
        raise Refused(f"{path} {asked}.") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = "the passphrase is wrong, or " if passphrase else ""
        raise Refused(f"{path} cannot be used: {wrong}it is not what keygen wrote.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused(f"{path} is no Ed25519 key: make one with `longsynth keygen`.")
    return PrivateKey(key)


def load_public(path: Path) -> PublicKey:
    """Read an OpenSSH line, or PEM, which names nobody."""
    content = _read(path)[0].strip()
    if _PRIVATE in content:
        raise Refused(f"{path} is a private key: give {public_path(path).name}, and keep it apart.")
    try:
        pem = content.startswith(b"-----BEGIN ")
        key = load_pem_public_key(content) if pem else load_ssh_public_key(content)
        comment = "" if pem else "".join(content.decode().split(maxsplit=2)[2:])
    except (ValueError, UnsupportedAlgorithm):
        raise Refused(f"{path} is not a public key: give KEY.pub of `longsynth keygen`.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Refused(f"{path} is no Ed25519 key: ask the signer for the right one.")
    return PublicKey(key.public_bytes_raw(), comment if is_name(comment) else None)


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise Refused(f"{path} cannot be created: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        raise Refused(f"{path} could not be written: {error.strerror}.") from None


def _read(path: Path) -> tuple[bytes, int]:
    """Return what a key file holds and its permissions."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not make us wait
        try:
            found = os.fstat(descriptor)
            if not S_ISREG(found.st_mode) or found.st_size > LARGEST:
                raise Refused(f"{path} is not a key file.")
            return os.read(descriptor, LARGEST), S_IMODE(found.st_mode)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Refused(
            f"{path} cannot be read: {error.strerror}. `longsynth keygen` makes a pair of keys, "
            "FILE to sign with and FILE.pub to check with."
        ) from None
