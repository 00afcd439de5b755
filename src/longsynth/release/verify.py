"""Verify and sign: anyone can check a release and a synthetic folder, without the data."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from longsynth.bundle import Bundle
from longsynth.govern.form import load_form
from longsynth.govern.keys import (
    SIGNATURE,
    PrivateKey,
    check_signature,
    is_signed,
    load_public,
    public_path,
    read_signature,
    signature_json,
    signature_of,
)
from longsynth.govern.provenance import require_name, same_name
from longsynth.methods.registry import (
    installed_here,
    method_named,
    model_of,
    origin_of,
    private_method,
)
from longsynth.privacy.noise import OPENDP
from longsynth.release.folder import (
    ALLOWED,
    CONTENT,
    Release,
    check_files,
    differing_files,
    read_file,
    read_release,
    require_release,
)
from longsynth.release.form_check import check_form, check_signer
from longsynth.release.internal import holds_disclosed
from longsynth.release.noise_check import check_noise
from longsynth.release.statement import constants_by_hand, promised
from longsynth.release.synthetic_folder import check_synthetic
from longsynth.system.errors import Code, Finding, Refused, ReleaseError, checked
from longsynth.system.folders import write_whole
from longsynth.system.text import command_line


@checked(release="Give the folder of a release.")
def verify(
    release: Path | str,
    synthetic: Path | str | None = None,
    *,
    key: Path | str | None = None,
    governance: Path | str | None = None,
) -> list[Finding]:
    """Return one finding for each check. Whatever the folders hold, nothing is raised.

    With a public `key`, the release must be signed with it. With `governance`, it must have been
    fitted under that form and comply with it.

    >>> import longsynth
    >>> all(finding.good for finding in longsynth.verify("run/release"))
    True
    """
    synthetic_path, key_path, form_path = (
        Path(p) if p is not None else None for p in (synthetic, key, governance)
    )
    findings: list[Finding] = []
    try:
        for finding in _findings(Path(release), synthetic_path, key_path, form_path):
            findings.append(finding)
    except Refused as refusal:
        findings.append(Finding(False, str(refusal)))
    except Exception as error:  # noqa: BLE001  a hostile folder must not look like a crash
        findings.append(Finding(False, f"a check stopped with {type(error).__name__}."))
    return findings


def _findings(
    release: Path, synthetic: Path | None, key: Path | None, governance: Path | None
) -> Iterator[Finding]:
    trusted = load_public(key) if key is not None else None
    form = load_form(governance) if governance is not None else None
    if holds_disclosed(release):
        yield Finding(False, f"{release} is NOT PRIVATE: there is no guarantee to verify.")
        return
    require_release(release)
    yield check_files(release, ALLOWED, SIGNATURE)
    read = read_release(release)
    bundle, changed = read.bundle, differing_files(release, read)
    for name in CONTENT:
        same = name not in changed
        yield Finding(
            same,
            f"{name} {'follows' if same else 'does NOT follow'} from the plan and the numbers.",
        )
    same = "manifest.json" not in changed
    yield Finding(
        same,
        "manifest.json holds the hashes of these files."
        if same
        else "manifest.json does NOT match these files: one was changed after the fit.",
    )
    yield _whose(bundle)
    if by_hand := constants_by_hand(bundle):
        yield Finding(
            True,
            f"constants set by hand: {by_hand}. Ask who chose them, and on what basis.",
            caution=True,
        )
    yield from _account(bundle, unchanged="ledger.json" not in changed)
    model = model_of(bundle)
    yield Finding(True, "the model was rebuilt from the released numbers alone.")
    manifest = read_file(release, "manifest.json")
    yield from check_signature(release, manifest, read.provenance, trusted)
    if form is not None:
        yield from check_form(form, read)
        if is_signed(release):
            yield check_signer(form, read_signature(release).signer)
    if synthetic is not None:
        yield from check_synthetic(bundle, model, synthetic)


def _whose(bundle: Bundle) -> Finding:
    """Say whose code the method is, by the manifest, and whether that code is installed here."""
    stated, here = bundle.origin, installed_here()
    if caution := stated.caution(bundle.method):
        same = stated == origin_of(method_named(bundle.method))
        installed = "The same code is" if same else "Different code is"
        return Finding(True, f"{caution} {installed} installed here.", caution=True)
    claims = f"the release states that longsynth {stated.version} made it"
    if stated == here:
        return Finding(True, f"{claims}; its code has the same hash as the one installed here.")
    if stated.version == here.version:
        return Finding(
            True,
            f"{claims}, but its code has another hash ({stated.sha256}) than the {here.version} "
            f"installed here ({here.sha256}). One of the two was changed: ask the maker which.",
            caution=True,
        )
    return Finding(
        True,
        f"{claims}, and {here.version} is installed here. To compare the code, install "
        f"longsynth=={stated.version} and verify again.",
    )


def _account(bundle: Bundle, *, unchanged: bool) -> Iterator[Finding]:
    if not unchanged:
        yield Finding(False, "the lines of ledger.json do NOT add up to the guarantee it states.")
        return
    ledger, budget = bundle.ledger, promised(bundle.ledger)
    enough = all(
        e.rho is not None and e.statistic.sensitivity_squared <= 2 * e.rho * Fraction(e.sigma) ** 2
        for e in ledger.entries
    )
    within = ledger.spent <= budget.rho
    yield Finding(
        enough and within,
        f"the lines add up to ρ = {float(ledger.spent):.6f} of the {float(budget.rho):.6f} that "
        f"ε = {budget.epsilon:g}, δ = {budget.delta:g} allow under '{budget.accounting}', each "
        f"with {'the' if enough and within else 'LESS than the'} noise that its price requires.",
    )
    if ledger.noise != OPENDP:
        yield Finding(False, f"the noise is marked {ledger.noise}: this release protects nobody.")
        return
    yield Finding(
        True,
        f"the noise is stated to be {OPENDP}. The numbers alone cannot prove that.",
    )
    looks = check_noise(bundle, tuple(private_method(bundle.method).facts(bundle.schema)))
    yield Finding(looks.outcome != "impossible", looks.sentence, caution=looks.outcome == "unusual")


def sign(
    release: Path, key: PrivateKey, *, signer: str | None = None, governance: Path | None = None
) -> Release:
    """Write signature.json and return what it vouches for. Refuse, with every check that fails.

    Test noise, a method without privacy and unexpected files fail a check.
    """
    if signer is not None:
        require_name(signer)
    if is_signed(release):
        raise ReleaseError(
            Code.NOT_SIGNABLE,
            f"{release} is already signed.",
            f"To see by whom, run `{command_line('verify', release)}`. To sign it again, first "
            f"remove {release / SIGNATURE}.",
        )
    findings = verify(release, governance=governance)
    if governance is not None and all(finding.good for finding in findings):
        findings.append(check_signer(load_form(governance), signer))
    failed = [finding.sentence for finding in findings if not finding.good]
    if failed:
        raise ReleaseError(
            Code.NOT_SIGNABLE,
            "\n- ".join([f"{release} cannot be signed:", *failed]),
            "\nAsk whoever fitted it for a release that passes every check.",
        )
    checked = read_release(release)
    fitted_by = checked.provenance.fitted_by
    if signer and fitted_by and same_name(signer, fitted_by):
        raise Refused(
            Code.NOT_SIGNABLE,
            f"{fitted_by} fitted this release and must not sign it.",
            "Let someone else check and sign it.",
        )
    manifest = read_file(release, "manifest.json")
    content = signature_json(signature_of(manifest, key, signer))
    write_whole(release / SIGNATURE, content, scratch_in=release.parent)
    return checked


def signer_named(by: str | None, path: Path, key: PrivateKey) -> str | None:
    """Return the name to sign with. If KEY.pub is beside the key and holds a name, a name that is
    given must be the same."""
    beside = public_path(path)
    if not beside.is_file():
        return by
    public = load_public(beside)
    if public.raw != key.public.raw:
        raise Refused(
            Code.KEY_UNUSABLE,
            f"{beside} does not belong to {path}.",
            "Put the right one there, or none.",
        )
    if by and public.name and not same_name(by, public.name):
        raise Refused(
            Code.OPTIONS_CONFLICT,
            f"{beside} says that {path} is the key of {public.name}, not of {by}.",
            "Leave the name out, or use your own key.",
        )
    return public.name or by
