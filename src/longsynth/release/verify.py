"""verify: anyone checks a release, and a synthetic folder, without the data."""

import filecmp
import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
from longsynth.methods.resources import require_room_for_drawing
from longsynth.privacy.noise import OPENDP
from longsynth.release.disclosed import holds_disclosed
from longsynth.release.folder import (
    ALLOWED,
    Release,
    read_file,
    read_release,
    release_files,
    require_release,
)
from longsynth.release.form_check import check_form, check_signer
from longsynth.release.noise_check import check_noise
from longsynth.release.statement import constants_by_hand, promised
from longsynth.release.synthetic_folder import (
    RECIPE,
    Recipe,
    read_recipe,
    recipe_json,
    write_synthetic,
)
from longsynth.sampling.model import Model
from longsynth.sampling.synthetic import Synthetic
from longsynth.schema.schema import Schema
from longsynth.system.errors import Refused, ReleaseError
from longsynth.system.finding import Finding
from longsynth.system.folders import regular_size
from longsynth.system.provenance import surroundings
from longsynth.system.scratch import ScratchFolder
from longsynth.system.text import command_line

TOLERANCE = 1e-6  # of a variable's range, on another platform
SLACK, MARGIN = 2, 1_000_000  # of bytes drawn again: other platforms may pack them otherwise
TOLD = 9  # files of a folder that are named


def verify(
    release: Path | str,
    synthetic: Path | str | None = None,
    *,
    key: Path | str | None = None,
    governance: Path | str | None = None,
) -> list[Finding]:
    """Return one finding for each check. Whatever the folders hold, nothing is raised.

    With `key`, a public one, the release has to be signed with it. With `governance`, it has to
    have been fitted under that form and to keep to it.
    """
    drawn, trusted, form = (
        Path(p) if p is not None else None for p in (synthetic, key, governance)
    )
    findings: list[Finding] = []
    try:
        for finding in _findings(Path(release), drawn, trusted, form):
            findings.append(finding)
    except Refused as refusal:
        findings.append(Finding(False, str(refusal)))
    except Exception as error:  # noqa: BLE001  a hostile folder must not look like a crash
        findings.append(Finding(False, f"a check ended with {type(error).__name__}."))
    return findings


def _findings(
    release: Path, synthetic: Path | None, key: Path | None, governance: Path | None
) -> Iterator[Finding]:
    trusted = load_public(key) if key is not None else None
    form = load_form(governance) if governance is not None else None
    if holds_disclosed(release):
        yield Finding(False, f"{release} is NOT PRIVATE: there is no promise to verify.")
        return
    require_release(release)
    yield _only(release, ALLOWED, SIGNATURE)
    found = read_release(release)
    bundle, expected = found.bundle, release_files(found)
    changed = [name for name in ALLOWED if read_file(release, name) != expected[name]]
    for name in (n for n in ALLOWED if n != "manifest.json"):
        same = name not in changed
        yield Finding(same, f"{name} {'is' if same else 'is NOT'} what the numbers and plan give.")
    sealed = "manifest.json" not in changed
    yield Finding(
        sealed,
        "manifest.json holds the hashes of these files."
        if sealed
        else "manifest.json does NOT match: a file was changed after the fit.",
    )
    yield _whose(bundle)
    if by_hand := constants_by_hand(bundle):
        yield Finding(
            True,
            f"constants set by hand: {by_hand}; ask who chose them, and from what.",
            caution=True,
        )
    yield from _account(bundle, unchanged="ledger.json" not in changed)
    model = model_of(bundle)
    yield Finding(True, "the model was rebuilt from the released integers alone.")
    manifest = read_file(release, "manifest.json")
    yield from check_signature(release, manifest, found.provenance, trusted)
    if form is not None:
        yield from check_form(form, found)
        if is_signed(release):
            yield check_signer(form, read_signature(release).signer)
    if synthetic is not None:
        yield from _synthetic(bundle, model, synthetic)


def _only(folder: Path, needed: tuple[str, ...], *optional: str) -> Finding:
    known = {*needed, *optional}
    try:
        inner = {str(parent) for name in needed for parent in Path(name).parents}
        found = (str(p.relative_to(folder)) for p in folder.rglob("*"))
        present = set(islice((name for name in found if name not in inner), len(known) + TOLD + 1))
    except OSError as error:
        raise ReleaseError(f"{folder} cannot be read: {error.strerror}.") from None
    strange = sorted(present - known)
    lacking = sorted(name for name in needed if not os.path.lexists(folder / name))
    if lacking:
        return Finding(False, f"{folder} lacks {_told(lacking)}.")
    if strange:
        return Finding(False, f"{folder} also holds {_told(list(map(repr, strange)))}.")
    return Finding(True, f"{folder} holds the files it should and no other.")


def _told(names: list[str]) -> str:
    more = ["and more"] if len(names) > TOLD else []
    return ", ".join([*names[:TOLD], *more])


def _whose(bundle: Bundle) -> Finding:
    """Say whose code the method is, by the manifest, and whether the same is installed here."""
    told, here = bundle.origin, installed_here()
    if caution := told.caution(bundle.method):
        same = told == origin_of(method_named(bundle.method))
        found = "The same code is" if same else "Other code than that is"
        return Finding(True, f"{caution} {found} installed here.", caution=True)
    claims = f"it claims to come from longsynth {told.version}"
    if told == here:
        return Finding(True, f"{claims}, whose code has the same hash as the one installed here.")
    if told.version == here.version:
        return Finding(
            True,
            f"{claims}, but from code with another hash ({told.sha256}) than the {here.version} "
            f"installed here ({here.sha256}): one of the two was changed. Ask who made it which.",
            caution=True,
        )
    return Finding(
        True,
        f"{claims}, and {here.version} is installed here: to compare the code, install "
        f"longsynth=={told.version} and verify again.",
    )


def _account(bundle: Bundle, *, unchanged: bool) -> Iterator[Finding]:
    if not unchanged:
        yield Finding(False, "the lines of ledger.json do NOT add up to the promise it states.")
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
        f"ε = {budget.epsilon:g}, δ = {budget.delta:g} allow under '{budget.accounting}', "
        f"each with {'the' if enough and within else 'LESS than the'} noise it costs.",
    )
    if ledger.noise != OPENDP:
        yield Finding(False, f"the noise is marked {ledger.noise}: this folder protects nobody.")
        return
    yield Finding(
        True,
        f"the noise is stated to be {OPENDP}; no one can prove that from the numbers alone.",
    )
    looks = check_noise(bundle, tuple(private_method(bundle.method).facts(bundle.schema)))
    yield Finding(looks.outcome != "impossible", looks.sentence, caution=looks.outcome == "unusual")


def _synthetic(bundle: Bundle, model: Model, folder: Path) -> Iterator[Finding]:
    recipe = read_recipe(folder)
    yield _only(folder, recipe.files)
    if not all(os.path.lexists(folder / name) for name in recipe.files):
        return
    size = sum(regular_size(folder / name) for name in recipe.files)
    if not recipe.private:
        yield Finding(False, f"{folder} says of itself that it is NOT PRIVATE.")
        return
    if recipe.fingerprint != bundle.fingerprint:
        yield Finding(False, f"{folder} was NOT drawn from this release.")
        return
    others = Finding(False, f"{folder} does NOT hold the patients that its recipe names.")
    if recipe.patients != sum(pq.read_metadata(folder / n).num_rows for n in recipe.people):
        yield others
        return
    require_room_for_drawing(bundle.schema, recipe.patients)
    with ScratchFolder() as scratch:
        again = scratch.path
        try:
            write_synthetic(again, model, recipe, partial(_no_more_than, size, again))
        except _TooMuch:
            yield others
        else:
            yield _compared(bundle.schema, folder, again, recipe)


class _TooMuch(Exception):
    """More was drawn again than a folder holds."""


def _no_more_than(size: int, again: Path, chunks: Iterator[Synthetic]) -> Iterator[Synthetic]:
    """Pass chunks on until what is written outgrows the folder that it shall equal: a folder keeps
    its reader busy no longer than its own bytes are worth."""
    for chunk in chunks:
        if sum(p.stat().st_size for p in again.rglob("*") if p.is_file()) > SLACK * size + MARGIN:
            raise _TooMuch
        yield chunk


def _compared(schema: Schema, folder: Path, again: Path, recipe: Recipe) -> Finding:
    if all(filecmp.cmp(folder / name, again / name, shallow=False) for name in recipe.files):
        return Finding(
            True, f"{folder} was drawn again from seed {recipe.seed}: bit for bit the same."
        )
    here = surroundings()
    moved = [key for key in here if here[key] != recipe.surroundings.get(key)]
    if not moved:
        return Finding(False, f"{folder} DIFFERS from what seed {recipe.seed} gives here.")
    if recipe.form != "cohort":
        return Finding(
            False,
            f"{folder} was written under another {', '.join(moved)}, where rounding may differ: "
            "only the form 'cohort' can be compared then.",
        )
    close = _close(schema, folder, again, recipe)
    return Finding(
        close,
        f"{folder} was drawn again from seed {recipe.seed} under another {', '.join(moved)}: "
        + (
            f"the same within {TOLERANCE:g} of each variable's range."
            if close
            else "it DIFFERS by more than rounding explains."
        ),
    )


def _close(schema: Schema, folder: Path, again: Path, recipe: Recipe) -> bool:
    """Equal but for rounding: the same patients, rows and missing cells, nearly the same values."""
    same_text = (folder / "schema.yaml").read_bytes() == (again / "schema.yaml").read_bytes()
    if not same_text or (folder / RECIPE).read_bytes() != recipe_json(recipe):
        return False
    ranges = {v.name: v.bounds[1] - v.bounds[0] for v in schema.variables}
    ranges |= {"time": schema.max_gap, "weight": 1.0}
    for name in ("patients.parquet", "observations.parquet"):
        kept, drawn = (pq.read_metadata(d / name) for d in (folder, again))
        if kept.num_rows != drawn.num_rows or not kept.schema.equals(drawn.schema):
            return False  # before anything is read: few bytes can claim many rows
        text = [field.name for field in pq.read_schema(again / name) if field.type == pa.string()]
        left, right = (pq.read_table(d / name, read_dictionary=text) for d in (folder, again))
        if not left.schema.equals(right.schema, check_metadata=True) or len(left) != len(right):
            return False
        for column in left.column_names:
            near = _near(left.column(column), right.column(column), ranges.get(column))
            if not near:
                return False
    return True


def _near(left: pa.ChunkedArray, right: pa.ChunkedArray, width: float | None) -> bool:
    if pa.types.is_dictionary(left.type):  # each text is held once, however many rows repeat it
        both = pa.chunked_array([*left.chunks, *right.chunks], left.type).unify_dictionaries()
        places = [chunk.indices.fill_null(-1).to_numpy() for chunk in both.chunks]
        mine, theirs = np.split(np.concatenate([np.zeros(0, np.int64), *places]), 2)
        return bool(np.array_equal(mine, theirs))
    if width is None:
        return bool(left.equals(right))
    a, b = (c.to_numpy(zero_copy_only=False).astype(np.float64) for c in (left, right))
    return bool(np.allclose(a, b, rtol=0, atol=TOLERANCE * width, equal_nan=True))


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
