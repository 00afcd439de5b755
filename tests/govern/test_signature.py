"""Signed releases: who vouches for what, what cannot be signed, and forgeries that are found."""

import json
import os
import shutil
import stat
import subprocess
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence
from typer.testing import CliRunner

from longsynth import Bundle, Refused, fit, load_release
from longsynth.audit.game.trials import FastNoise
from longsynth.commands.app import app
from longsynth.govern.keys import (
    SIGNATURE,
    PrivateKey,
    PublicKey,
    Signature,
    load_private,
    load_public,
    make_keys,
    public_path,
    read_signature,
    signature_json,
    signed_message,
)
from longsynth.govern.provenance import Provenance
from longsynth.privacy.noise import OPENDP
from longsynth.release.folder import Release, release_files
from longsynth.release.verify import sign, signer_named, verify
from longsynth.system.errors import Code
from longsynth.system.folders import as_json
from refusals import refused
from support import ConstantNoise, NoNoise, random_cohort, small_plan

FITTER, STEWARD = "data engineer", "data steward"


class CoarseNoise:
    """Far too little noise, but some on every number."""

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        return sums + 1 + np.arange(len(sums)) % 2


def write(bundle: Bundle, folder: Path, fitted_by: str | None = FITTER) -> Path:
    folder.mkdir(parents=True)
    for name, content in release_files(Release(bundle, Provenance(fitted_by))).items():
        (folder / name).write_bytes(content)
    return folder


def relabelled(bundle: Bundle) -> Bundle:
    """The same numbers, said to carry OpenDP's noise, with every hash made anew."""
    entries = tuple(replace(e, noise=OPENDP) for e in bundle.ledger.entries)
    released = {
        e.statistic.name: replace(bundle.released[e.statistic.name], entry=e) for e in entries
    }
    return replace(bundle, ledger=replace(bundle.ledger, entries=entries), released=released)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fit(random_cohort(80, 1), small_plan(80))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the keys of a steward, of a stranger, and one that names nobody."""
    folder = tmp_path_factory.mktemp("keys")
    make_keys(folder / "steward", name=STEWARD)
    make_keys(folder / "stranger", name="stranger")
    make_keys(folder / "nameless")
    return folder


@pytest.fixture
def release(bundle: Bundle, tmp_path: Path) -> Path:
    return write(bundle, tmp_path / "run" / "release")


@pytest.fixture(scope="module")
def kept(bundle: Bundle, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = write(bundle, tmp_path_factory.mktemp("kept") / "release")
    sign(release, load_private(keys / "steward"), signer=STEWARD)
    return release


@pytest.fixture
def signed(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "signed" / "release"))


def failures(release: Path, key: Path | None = None) -> list[str]:
    return [f.sentence for f in verify(release, key=key) if not f.good]


def sentences(release: Path, key: Path | None = None) -> str:
    return "\n".join(f.sentence for f in verify(release, key=key))


# --- what a signature shows ---------------------------------------------------------------------


def test_a_signed_release_holds_with_the_signers_key(signed: Path, keys: Path) -> None:
    assert failures(signed, keys / "steward.pub") == []
    told = sentences(signed, keys / "steward.pub")
    assert f"signed by {STEWARD} with the key you gave" in told
    assert f"{FITTER} fitted it and {STEWARD} signed it" in told


def test_a_signature_is_the_only_file_that_signing_adds(release: Path, keys: Path) -> None:
    before = {p.name: p.read_bytes() for p in release.iterdir()}
    sign(release, load_private(keys / "steward"), signer=STEWARD)
    after = {p.name: p.read_bytes() for p in release.iterdir()}
    assert after.keys() - before.keys() == {SIGNATURE}
    assert {name: after[name] for name in before} == before
    assert [p.name for p in release.parent.iterdir()] == ["release"], "no scratch file stays"
    assert stat.S_IMODE((release / SIGNATURE).stat().st_mode) == 0o644


def test_a_signed_release_is_used_like_any_other(signed: Path, bundle: Bundle) -> None:
    assert load_release(signed).fingerprint == bundle.fingerprint


def test_without_a_key_verify_says_what_it_cannot_show(release: Path, keys: Path) -> None:
    assert failures(release) == []
    assert "not signed: these checks show consistency" in sentences(release)
    sign(release, load_private(keys / "steward"), signer=STEWARD)
    assert failures(release) == []
    fingerprint = load_public(keys / "steward.pub").fingerprint
    assert f"with key {fingerprint}. Whose key that is was not checked" in sentences(release)


def test_an_unsigned_release_fails_where_a_key_is_asked_for(release: Path, keys: Path) -> None:
    (failure,) = failures(release, keys / "steward.pub")
    assert "is NOT signed" in failure


def test_another_key_is_named_and_fails(signed: Path, keys: Path) -> None:
    (failure,) = failures(signed, keys / "stranger.pub")
    assert "signed with ANOTHER key" in failure
    assert load_public(keys / "steward.pub").fingerprint in failure


def test_a_consistent_relabelling_of_test_noise_fails_only_with_a_key(
    signed: Path, keys: Path, tmp_path: Path
) -> None:
    """Who knows the noise and forges every hash passes without a key. Carrying the signature over
    or signing anew does not help where the verifier has the steward's key."""
    bare = fit(random_cohort(80, 1), small_plan(80), noise=FastNoise(SeedSequence(1)))
    forged = write(relabelled(bare), tmp_path / "forged" / "release")
    assert failures(forged) == [], "consistent: verify alone cannot know"
    assert failures(forged, keys / "steward.pub")
    shutil.copy(signed / SIGNATURE, forged / SIGNATURE)
    assert any("is NOT a valid signature" in f for f in failures(forged))
    (forged / SIGNATURE).unlink()
    sign(forged, load_private(keys / "stranger"), signer=STEWARD)
    assert failures(forged) == []
    assert any("ANOTHER key" in f for f in failures(forged, keys / "steward.pub"))


# --- what cannot be signed ----------------------------------------------------------------------


def with_test_noise(folder: Path) -> Path:
    return write(fit(random_cohort(80, 1), small_plan(80), noise=ConstantNoise()), folder / "r")


def no_noise_at_all(folder: Path) -> Path:
    return write(
        relabelled(fit(random_cohort(80, 1), small_plan(80), noise=NoNoise())), folder / "r"
    )


def coarse_noise(folder: Path) -> Path:
    return write(
        relabelled(fit(random_cohort(80, 1), small_plan(80), noise=CoarseNoise())), folder / "r"
    )


def not_private(folder: Path) -> Path:
    (folder / "r").mkdir()
    (folder / "r/not_private.json").write_text("{}")
    return folder / "r"


def edited(change: Callable[[Path], object]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        release = write(fit(random_cohort(80, 1), small_plan(80)), folder / "r")
        change(release)
        return release

    return make


UNSIGNABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "test noise": (with_test_noise, "protects nobody"),
    "no noise under a false label": (no_noise_at_all, "do NOT carry the noise"),
    "coarse noise under a false label": (coarse_noise, "do NOT carry the noise"),
    "a method that is not private": (not_private, "NOT PRIVATE"),
    "an internal file": (edited(lambda r: (r / "cohort.json").write_text("{}")), "'cohort.json'"),
    "an internal folder": (edited(lambda r: (r / "internal").mkdir()), "'internal'"),
    "a changed statement": (
        edited(lambda r: (r / "STATEMENT.md").write_text("ε = 0")),
        "NOT follow",
    ),
    "a missing file": (edited(lambda r: (r / "ledger.json").unlink()), "lacks ledger.json"),
    "a run": (lambda f: edited(lambda r: r.rename(f / "release"))(f) and f, "is a run"),
    "nothing": (lambda f: f / "nowhere", "is not a folder"),
}


@pytest.mark.parametrize("what", UNSIGNABLE)
def test_what_fails_a_check_cannot_be_signed(what: str, keys: Path, tmp_path: Path) -> None:
    make, sentence = UNSIGNABLE[what]
    folder = make(tmp_path)
    with refused(Code.NOT_SIGNABLE) as caught:
        sign(folder, load_private(keys / "steward"), signer=STEWARD)
    assert sentence in str(caught.value)
    assert not list(tmp_path.rglob("*signature*")), "nothing was written"


@pytest.mark.parametrize(
    "name", [FITTER, "Data Engineer", "data  engineer", "DATA ENGINEER ", "ｄａｔａ engineer"]
)
def test_who_fitted_does_not_sign(name: str, bundle: Bundle, keys: Path, tmp_path: Path) -> None:
    release = write(bundle, tmp_path / "r", fitted_by=name)
    with refused(Code.NOT_SIGNABLE):
        sign(release, load_private(keys / "nameless"), signer=FITTER)
    assert not (release / SIGNATURE).exists()


def test_a_signature_of_the_fitter_fails_for_everyone(bundle: Bundle, tmp_path: Path) -> None:
    """Who signs without our command, or under another name, still needs a key of another name."""
    release = write(bundle, tmp_path / "r")
    manifest = (release / "manifest.json").read_bytes()
    make_keys(tmp_path / "own", name=FITTER.upper())
    own = load_private(tmp_path / "own")
    for claimed, key in ((FITTER, None), ("someone else", tmp_path / "own.pub")):
        value = own.sign(signed_message(manifest, claimed))
        (release / SIGNATURE).write_bytes(signature_json(Signature(claimed, own.public, value)))
        found = failures(release, key)
        assert any("both fitted and signed" in f for f in found), found


def test_a_name_that_is_not_the_keys_fails(release: Path, keys: Path) -> None:
    sign(release, load_private(keys / "steward"), signer="someone else")
    (failure,) = failures(release, keys / "steward.pub")
    assert f"signed by someone else, but the key you gave belongs to {STEWARD}" in failure


def test_without_names_the_signature_holds_and_says_what_it_lacks(
    bundle: Bundle, keys: Path, tmp_path: Path
) -> None:
    release = write(bundle, tmp_path / "r", fitted_by=None)
    sign(release, load_private(keys / "nameless"))
    assert failures(release, keys / "nameless.pub") == []
    assert "who fitted it is not named" in sentences(release)


def test_a_signature_is_not_replaced(signed: Path, keys: Path) -> None:
    before = (signed / SIGNATURE).read_bytes()
    with refused(Code.NOT_SIGNABLE):
        sign(signed, load_private(keys / "stranger"), signer="stranger")
    assert (signed / SIGNATURE).read_bytes() == before


# --- forgeries and hostile files ----------------------------------------------------------------


def stated(**changes: object) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        content = json.loads((folder / SIGNATURE).read_text()) | changes
        (folder / SIGNATURE).write_bytes(as_json(content))

    return apply


def bytes_(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / SIGNATURE).write_bytes(content)


def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        (folder / SIGNATURE).unlink()
        make(folder / SIGNATURE)

    return apply


def flipped(name: str) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return apply


NO_FIT, NO_SIGNATURE = "is NOT a valid signature", "is not a signature that longsynth writes"
FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another signer": (stated(signer="someone else"), NO_FIT),
    "no signer": (stated(signer=None), NO_FIT),
    "another key": (stated(public_key=b64encode(bytes(range(32))).decode()), NO_FIT),
    "another signature": (stated(signature=b64encode(bytes(64)).decode()), NO_FIT),
    "a short key": (stated(public_key="AAAA"), NO_FIT),
    "a short signature": (stated(signature="AAAA"), NO_FIT),
    "no signature": (stated(signature=""), NO_FIT),
    "a note": (stated(note="patient 7"), NO_SIGNATURE),
    "another format": (stated(format=2), NO_SIGNATURE),
    "a truth value for the format": (stated(format=True), NO_SIGNATURE),
    "another file": (stated(signs="STATEMENT.md"), NO_SIGNATURE),
    "a signer of two lines": (stated(signer="a\nok   all is well"), NO_SIGNATURE),
    "a signer that is half a letter": (
        lambda f: (f / SIGNATURE).write_text(
            (f / SIGNATURE).read_text().replace(STEWARD, "\\ud800")
        ),
        NO_SIGNATURE,
    ),
    "a signer that is a number": (stated(signer=7), NO_SIGNATURE),
    "an empty signer": (stated(signer=""), NO_SIGNATURE),
    "a key that is a list": (stated(public_key=[1]), NO_SIGNATURE),
    "a key that is not base64": (stated(public_key="ä"), NO_SIGNATURE),
    "signs around base64": (stated(signature="!" + "A" * 86 + "=="), NO_SIGNATURE),
    "a blank more": (
        lambda f: (f / SIGNATURE).write_bytes((f / SIGNATURE).read_bytes() + b" "),
        NO_SIGNATURE,
    ),
    "nothing": (bytes_(b""), NO_SIGNATURE),
    "a list": (bytes_(b"[1]"), NO_SIGNATURE),
    "garbage": (bytes_(b"\xff\x00"), NO_SIGNATURE),
    "deep nesting": (bytes_(b"[" * 3_999), NO_SIGNATURE),
    "a large file": (bytes_(b" " * 2_000_000), NO_SIGNATURE),
    "a link": (
        instead(lambda p: p.symlink_to(p.parent / "manifest.json")),
        "not a file that longsynth writes",
    ),
    "a link to nowhere": (
        instead(lambda p: p.symlink_to(p.parent / "nowhere")),
        "not a file that longsynth writes",
    ),
    "a folder": (instead(lambda p: p.mkdir()), "not a file that longsynth writes"),
    "a pipe": (instead(os.mkfifo), "not a file that longsynth writes"),
    "one bit of the manifest": (flipped("manifest.json"), "manifest.json"),
    "one bit of the statement": (flipped("STATEMENT.md"), "STATEMENT.md does NOT"),
    "one bit of the numbers": (flipped("statistics.json"), ""),
    "another name for the fitter": (
        lambda f: (f / "manifest.json").write_text(
            (f / "manifest.json").read_text().replace(FITTER, "someone else")
        ),
        NO_FIT,
    ),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_or_hostile_signature_is_found_with_and_without_a_key(
    what: str, signed: Path, keys: Path
) -> None:
    forge, sentence = FORGERIES[what]
    forge(signed)
    for key in (None, keys / "steward.pub"):
        found = failures(signed, key)
        assert any(sentence in f for f in found), found
        assert not any("a check stopped with" in f for f in found), found


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300))
def test_no_bytes_pass_for_a_signature_or_end_in_a_crash(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / SIGNATURE).write_bytes(content)
    with pytest.raises(Refused):
        read_signature(folder)


def test_a_signature_for_another_purpose_is_none_for_a_release(release: Path, keys: Path) -> None:
    """A key that signs other things elsewhere must not thereby sign a release."""
    private = load_private(keys / "steward")
    manifest = (release / "manifest.json").read_bytes()
    for message in (manifest, STEWARD.encode() + b"\n" + manifest):
        value = private.sign(message)
        found = Signature(STEWARD, private.public, value)
        assert not found.fits(manifest)
    assert signed_message(manifest, None) != signed_message(manifest, "a")
    assert Signature(None, private.public, private.sign(signed_message(manifest, None))).fits(
        manifest
    )


# --- keys ---------------------------------------------------------------------------------------


def test_a_private_key_is_its_owners_alone_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_keys(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_private_key_is_never_more_open_than_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    real = os.open

    def watched(path: Path, flags: int, mode: int = 0o777) -> int:
        modes.append((Path(path).name, flags & os.O_EXCL, mode))
        return real(path, flags, mode)

    monkeypatch.setattr("longsynth.govern.keys.os.open", watched)
    make_keys(tmp_path / "key")
    assert modes[0] == ("key", os.O_EXCL, 0o600)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644])
def test_a_key_that_others_can_open_is_refused_with_its_remedy(tmp_path: Path, mode: int) -> None:
    make_keys(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(Refused, match=f"mode {mode:03o}.*chmod 600"):
        load_private(tmp_path / "key")


@pytest.mark.parametrize("taken", ["key", "key.pub"])
def test_no_key_is_replaced(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("precious")
    with refused(Code.OUTPUT_EXISTS):
        make_keys(tmp_path / "key")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(taken, "precious")]


def test_half_a_pair_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PublicKey, "line", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_keys(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_a_key_in_no_folder_is_refused(tmp_path: Path) -> None:
    with refused(Code.OUTPUT_NOT_WRITTEN):
        make_keys(tmp_path / "nowhere" / "key")


def test_a_passphrase_protects_the_key(tmp_path: Path) -> None:
    public = make_keys(tmp_path / "key", passphrase=b"long enough")
    assert load_private(tmp_path / "key", b"long enough").public.raw == public.raw
    assert b"ENCRYPTED" in (tmp_path / "key").read_bytes()
    with refused(Code.PASSPHRASE_WRONG):
        load_private(tmp_path / "key")
    with refused(Code.PASSPHRASE_WRONG):
        load_private(tmp_path / "key", b"another")
    make_keys(tmp_path / "open")
    with refused(Code.PASSPHRASE_WRONG):
        load_private(tmp_path / "open", b"one too many")


def test_the_public_key_keeps_the_name(tmp_path: Path) -> None:
    make_keys(tmp_path / "key", name="Dr. O'Neil, ward 7")
    assert load_public(tmp_path / "key.pub").name == "Dr. O'Neil, ward 7"
    for wrong in ("", "two\nlines", "x" * 101, "<b>"):
        with refused(Code.NAME_UNUSABLE):
            make_keys(tmp_path / "other", name=wrong)


def test_a_public_key_may_be_pem(tmp_path: Path, keys: Path, signed: Path) -> None:
    public = load_private(keys / "steward").secret.public_key()
    pem = tmp_path / "steward.pem"
    pem.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert failures(signed, pem) == []


def test_fingerprints_are_those_of_openssh(tmp_path: Path) -> None:
    key = tmp_path / "key.pub"  # the line and the fingerprint are what ssh-keygen shows
    key.write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIM8wA9EB65GpbrAZ0UTNOaFrSgMLKu7kiK5Jzw53qMQh steward\n"
    )
    shown = "SHA256:WHV5YB9kikQOGBa+RQxXdaSIkkX0VwLbN9vKt4FnOG4"
    assert load_public(key).fingerprint == shown
    if shutil.which("ssh-keygen"):
        done = subprocess.run(["ssh-keygen", "-lf", key], capture_output=True, text=True)
        assert shown in done.stdout


def ec_key(folder: Path) -> Path:
    (folder / "ec").touch(mode=0o600)
    key = generate_private_key(SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ec").write_bytes(pem)
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (folder / "ec.pub").write_bytes(line)
    return folder / "ec"


def test_the_wrong_file_is_told_from_the_right_one(tmp_path: Path, keys: Path) -> None:
    with refused(Code.KEY_UNUSABLE):
        load_private(keys / "steward.pub")
    with refused(Code.KEY_UNUSABLE):
        load_public(keys / "steward")
    with refused(Code.KEY_UNUSABLE):
        load_private(ec_key(tmp_path))
    with refused(Code.KEY_UNUSABLE):
        load_public(tmp_path / "ec.pub")


def a_public_line() -> bytes:
    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "missing": lambda p: None,
    "a folder": lambda p: p.mkdir(),
    "a pipe": os.mkfifo,
    "empty": lambda p: p.touch(mode=0o600),
    "long": lambda p: p.write_bytes(a_public_line() + b"\n" * 10_000),
    "garbage": lambda p: p.write_bytes(b"\xff\xfe\x00"),
    "a broken line": lambda p: p.write_bytes(b"ssh-ed25519 AAAA= name"),
    "a broken PEM": lambda p: p.write_bytes(b"-----BEGIN PUBLIC KEY-----\nAA\n"),
    "a broken private PEM": lambda p: p.write_bytes(
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
    ),
    "not text": lambda p: p.write_bytes(a_public_line() + b" \xff"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_key_file_that_is_none_is_refused_not_a_crash(
    what: str, tmp_path: Path, signed: Path
) -> None:
    path = tmp_path / "key"
    HOSTILE[what](path)
    with pytest.raises(Refused):
        load_public(path)
    if path.is_file():
        path.chmod(0o600)
    with pytest.raises(Refused):
        load_private(path)
    (finding,) = failures(signed, path)
    assert "a check stopped with" not in finding


def test_the_name_comes_from_the_public_key_beside_the_private_one(
    keys: Path, tmp_path: Path
) -> None:
    steward, nameless = keys / "steward", keys / "nameless"
    private = load_private(steward)
    assert signer_named(None, steward, private) == STEWARD
    assert signer_named("Data  Steward", steward, private) == STEWARD
    assert signer_named("someone", nameless, load_private(nameless)) == "someone"
    with refused(Code.OPTIONS_CONFLICT):
        signer_named("someone", steward, private)
    shutil.copy(steward, tmp_path / "alone")
    assert signer_named(None, tmp_path / "alone", private) is None
    shutil.copy(keys / "stranger.pub", public_path(tmp_path / "alone"))
    with refused(Code.KEY_UNUSABLE):
        signer_named(None, tmp_path / "alone", private)


def test_signatures_are_plain_ed25519() -> None:
    """RFC 8032, section 7.1, test 2."""
    seed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
    key = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)))
    assert key.sign(b"\x72").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )


# --- the commands -------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    """The exit code and what was said, refusals included."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(done.exception, Refused):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_the_commands_make_a_key_sign_and_verify(release: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    code, told = run("keygen", "--out", key, "--name", STEWARD)
    assert code == 0
    assert "no passphrase, so anyone who can read this file can sign" in told
    code, told = run("sign", release, "--key", key)
    assert code == 0
    assert "ε = 4, δ = 1e-05 to each of 80 patients" in told
    assert f"{FITTER} fitted it, {STEWARD} signed it" in told
    code, told = run("verify", release, "--key", f"{key}.pub")
    assert (code, "FAIL" in told) == (0, False)
    run("keygen", "--out", tmp_path / "other")
    code, told = run("verify", release, "--key", tmp_path / "other.pub")
    assert (code, "FAIL signed with ANOTHER key" in told) == (1, True)


def test_the_command_says_when_no_names_were_given(bundle: Bundle, tmp_path: Path) -> None:
    release = write(bundle, tmp_path / "r", fitted_by=None)
    run("keygen", "--out", tmp_path / "key")
    _, told = run("sign", release, "--key", tmp_path / "key")
    assert "does not show that two people took part" in told
    assert "`fit --by` and `sign --by`" in told


def test_an_encrypted_key_signs_with_its_passphrase_and_not_without(
    release: Path, tmp_path: Path
) -> None:
    key, phrase = tmp_path / "key", tmp_path / "phrase"
    phrase.write_text("long enough\n")
    code, told = run("keygen", "--out", key, "--passphrase-file", phrase)
    assert (code, "protected by its passphrase" in told) == (0, True)
    code, told = run("sign", release, "--key", key)
    assert (code, "--passphrase-file" in told) == (2, True)
    code, _ = run("sign", release, "--key", key, "--passphrase-file", phrase)
    assert (code, failures(release, public_path(key))) == (0, [])
    phrase.write_text("\n")
    code, told = run("keygen", "--out", tmp_path / "k2", "--passphrase-file", phrase)
    assert (code, "first line" in told) == (2, True)
