"""sign: vouch for a release that holds up, and for no other."""

import tempfile
from pathlib import Path

from longsynth.govern.form.file import load_form
from longsynth.govern.keys import PrivateKey, load_public, public_path
from longsynth.govern.names import require_name, same_name
from longsynth.govern.signature import SIGNATURE, is_signed, signature_json, signature_of
from longsynth.release.folder import Release, read_file, read_release
from longsynth.release.form_check import check_signer
from longsynth.release.verify import verify
from longsynth.system.errors import Refused, ReleaseError
from longsynth.system.suggesting import command_line


def sign(
    release: Path, key: PrivateKey, *, signer: str | None = None, governance: Path | None = None
) -> Release:
    """Write signature.json and return what it vouches for; refuse with every check that fails.

    Test noise, a method without privacy and files that do not belong there are such checks.
    """
    if signer is not None:
        require_name(signer)
    if is_signed(release):
        raise ReleaseError(
            f"{release} is signed already. To sign it anew, remove {release / SIGNATURE} first; to "
            f"see by whom, run `{command_line('verify', release)}`."
        )
    findings = verify(release, governance=governance)
    if governance is not None and all(finding.good for finding in findings):
        findings.append(check_signer(load_form(governance), signer))
    failed = [finding.sentence for finding in findings if not finding.good]
    if failed:
        raise ReleaseError("\n- ".join([f"{release} cannot be signed:", *failed]))
    found = read_release(release)
    fitted_by = found.provenance.fitted_by
    if signer and fitted_by and same_name(signer, fitted_by):
        raise Refused(f"{fitted_by} fitted this release: let someone else check and sign it.")
    manifest = read_file(release, "manifest.json")
    _put(release, signature_json(signature_of(manifest, key, signer)))
    return found


def signer_named(by: str | None, path: Path, key: PrivateKey) -> str | None:
    """Return the name to sign with: the one given, which has to be the one in KEY.pub if that
    stands beside the key."""
    beside = public_path(path)
    if not beside.is_file():
        return by
    public = load_public(beside)
    if public.raw != key.public.raw:
        raise Refused(f"{beside} does not belong to {path}: put the right one there, or none.")
    if by and public.name and not same_name(by, public.name):
        raise Refused(f"{path} is the key of {public.name}, by {beside.name}: leave out --by.")
    return public.name or by


def _put(release: Path, content: bytes) -> None:
    """Write beside the release and rename: its folder never holds half a signature."""
    try:
        with tempfile.NamedTemporaryFile(
            dir=release.parent, prefix=f".{SIGNATURE}.partial-", delete=False
        ) as file:
            scratch = Path(file.name)
            try:
                file.write(content)
                file.flush()
                scratch.chmod(0o644)
                scratch.replace(release / SIGNATURE)
            finally:
                scratch.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"{release / SIGNATURE} could not be written: {error.strerror}.") from None
