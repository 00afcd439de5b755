"""The release folder: five files, every byte of which follows from the bundle and its provenance.

To read a folder, we take the few independent facts in it (method, number of patients, budget,
schema, integers; whose code the method is, who fitted, under which form and book), plan again and
write all files again. A file whose bytes differ was altered.
"""

import json
import os
import re
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longsynth.bundle import Bundle
from longsynth.govern.provenance import Provenance, provenance_json, read_provenance
from longsynth.methods.registry import origin_of, private_method
from longsynth.methods.resources import require_room_for_model
from longsynth.plan import plan
from longsynth.privacy.budget import ACCOUNTINGS, Accounting
from longsynth.privacy.ledger import Entry, Released
from longsynth.privacy.noise import OPENDP, TEST_ONLY
from longsynth.release.statement import ledger_json, statement
from longsynth.schema.file import dump, parse_text
from longsynth.system.errors import Code, Finding, ReleaseError, checked
from longsynth.system.folders import altered, as_json, regular_size
from longsynth.system.origin import (
    OPENDP_VERSION,
    VERSION,
    is_method_name,
    origin_json,
    read_origin,
)
from longsynth.system.text import command_line

FORMAT = 4
CONTENT = ("STATEMENT.md", "ledger.json", "schema.yaml", "statistics.json")
ALLOWED = (*CONTENT, "manifest.json")
LARGEST = {"statistics.json": 500_000_000}  # bytes; a million for every other file
LISTED = 9  # names of unexpected files, at most


class Release(NamedTuple):
    bundle: Bundle
    provenance: Provenance = Provenance()
    version: str = VERSION  # of the longsynth that wrote it
    opendp: str = OPENDP_VERSION  # which drew the noise


def release_files(release: Release) -> dict[str, bytes]:
    """Return every file of a release. The folder may hold no other file."""
    bundle = release.bundle
    if not bundle.ledger.private:
        raise ReleaseError(
            Code.NOT_PRIVATE,
            f"method '{bundle.method}' is NOT PRIVATE: what it learned must not be released.",
            "Use a private method.",
        )
    if not is_method_name(bundle.method):
        raise ReleaseError(
            Code.NAME_UNUSABLE,
            f"{bundle.method!r} cannot be used as the name of a method.",
            "Use up to 64 letters, digits and the signs . _ -.",
        )
    integers = {name: released.values.tolist() for name, released in bundle.released.items()}
    files = {
        "STATEMENT.md": statement(bundle, release.provenance).encode(),
        "ledger.json": as_json(ledger_json(bundle.method, bundle.ledger)),
        "schema.yaml": dump(bundle.schema).encode(),
        "statistics.json": json.dumps(integers, separators=(",", ":")).encode() + b"\n",
    }
    files["manifest.json"] = as_json(
        {
            "format": FORMAT,
            "longsynth": release.version,
            "opendp": release.opendp,
            "method": origin_json(bundle.origin),
            "fingerprint": bundle.fingerprint,
            "provenance": provenance_json(release.provenance),
            "files": {name: sha256(files[name]).hexdigest() for name in CONTENT},
        }
    )
    return files


@checked(folder="Give the folder of a release.")
def load_release(folder: Path | str) -> Bundle:
    """Return the bundle of a release folder. Refuse one that was altered or must not be used.

    >>> import longsynth
    >>> longsynth.load_release("run/release")
    Bundle(copula-score, 200 patients, ε = 4, δ = 1e-05, 845 numbers in 6 lines)
    """
    folder = Path(folder)
    release = read_release(folder)
    noise = release.bundle.ledger.noise
    if noise != OPENDP:
        raise ReleaseError(
            Code.NOT_PRIVATE,
            f"{folder} was made with {noise} noise, which protects nobody.",
            "Fit again with `longsynth fit`.",
        )
    if differing := differing_files(folder, release):
        raise ReleaseError(
            Code.RELEASE_ALTERED,
            f"{folder} is not as longsynth wrote it: {', '.join(differing)} differ.",
            f"Run `{command_line('verify', folder)}`, and ask for the folder again.",
        )
    return release.bundle


def differing_files(folder: Path, release: Release) -> list[str]:
    """Return the files of a folder that do not follow from the facts in it."""
    expected = release_files(release)
    return [name for name in ALLOWED if read_file(folder, name) != expected[name]]


def require_release(folder: Path) -> None:
    """Refuse a path that cannot be a release, before anything in it is checked."""
    if not folder.is_dir():
        raise ReleaseError(
            Code.NOT_A_RELEASE,
            f"{folder} is not a folder.",
            "Give a release, for example RUN/release.",
        )
    if (folder / "release").is_dir():
        raise ReleaseError(Code.NOT_A_RELEASE, f"{folder} is a run.", f"Give {folder / 'release'}.")


def read_release(folder: Path) -> Release:
    """Return the release that the independent facts in a folder give. No file is compared yet."""
    require_release(folder)
    manifest, stated = read_json(folder, "manifest.json"), read_json(folder, "ledger.json")
    if manifest.get("format") != FORMAT:
        raise ReleaseError(
            Code.RELEASE_FORMAT,
            f"{folder} has another release format than this longsynth reads ({FORMAT}).",
            "Use the version of longsynth named in its manifest.json.",
        )
    schema = parse_text(_text(folder, "schema.yaml"), str(folder / "schema.yaml"))
    claim = _Claim.read(stated)
    if claim is None:
        raise altered(f"{folder / 'ledger.json'} is not the JSON that longsynth writes.")
    require_room_for_model(private_method(claim.method), schema, claim.patients)
    planned = plan(
        schema,
        claim.patients,
        epsilon=claim.epsilon,
        delta=claim.delta,
        method=claim.method,
        accounting=claim.accounting,
    )
    entries = tuple(replace(entry, noise=claim.noise) for entry in planned.ledger.entries)
    integers = _statistics(folder, entries)
    released = {e.statistic.name: Released(_integers(folder, integers, e), e) for e in entries}
    ledger = replace(planned.ledger, entries=entries)
    version, opendp = (_version(folder, manifest, name) for name in ("longsynth", "opendp"))
    origin = read_origin(manifest.get("method"))
    if origin is None or (origin.ours and origin.version != version):
        raise altered(f"{folder / 'manifest.json'} does not say whose code the method is.")
    if origin.ours and not origin_of(planned.method).ours:
        raise altered(
            f"{folder / 'manifest.json'} says that '{claim.method}' is a method of longsynth, "
            "which has no such method."
        )
    provenance = read_provenance(manifest.get("provenance"))
    if provenance is None:
        raise altered(f"{folder / 'manifest.json'} does not state the provenance of a fit.")
    bundle = Bundle(planned.method.name, planned.schema, ledger, released, origin)
    return Release(bundle, provenance, version, opendp)


class _Claim(NamedTuple):
    """What a ledger states that does not follow from anything else."""

    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: Accounting
    noise: str

    @classmethod
    def read(cls, stated: dict[str, Any]) -> "_Claim | None":
        made = cls(*(stated.get(name) for name in cls._fields))  # type: ignore[arg-type]
        typed = [type(value) for value in made] == [str, int, float, float, str, str]
        if not typed or not 0 < made.patients < 1 << 53 or made.accounting not in ACCOUNTINGS:
            return None
        known = made.noise == OPENDP or re.fullmatch(rf"{TEST_ONLY}: \w{{1,100}}", made.noise)
        return made if known else None


def read_file(folder: Path, name: str) -> bytes:
    """Return a file of a release. It must be a regular file of a plausible size."""
    path = folder / name
    if regular_size(path) > LARGEST.get(name, 1_000_000):
        raise altered(f"{path} is not a file that longsynth writes.")
    return path.read_bytes()


def check_files(folder: Path, needed: tuple[str, ...], *optional: str) -> Finding:
    """Check that a folder holds the files it should and no other."""
    known = {*needed, *optional}
    try:
        inner = {str(parent) for name in needed for parent in Path(name).parents}
        names = (str(p.relative_to(folder)) for p in folder.rglob("*"))
        present = set(islice((n for n in names if n not in inner), len(known) + LISTED + 1))
    except OSError as error:
        raise altered(f"{folder} cannot be read: {error.strerror}.") from None
    strange = sorted(present - known)
    missing = sorted(name for name in needed if not os.path.lexists(folder / name))
    if missing:
        return Finding(False, f"{folder} lacks {_listed(missing)}.")
    if strange:
        return Finding(False, f"{folder} also holds {_listed(list(map(repr, strange)))}.")
    return Finding(True, f"{folder} holds the files it should and no other.")


def _listed(names: list[str]) -> str:
    more = ["and more"] if len(names) > LISTED else []
    return ", ".join([*names[:LISTED], *more])


def _text(folder: Path, name: str) -> str:
    return read_file(folder, name).decode("utf-8", errors="replace")


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file. Its values are not checked."""
    return json_object(folder / name, read_file(folder, name))


def json_object(path: Path, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise altered(f"{path} is not the JSON that longsynth writes.")
    return content


def _version(folder: Path, manifest: dict[str, Any], name: str) -> str:
    version = str(manifest.get(name))
    if not re.fullmatch(r"\d+(\.\d+){1,2}\w{0,8}", version):
        raise altered(f"{folder / 'manifest.json'} names no version of {name}.")
    return version


def _statistics(folder: Path, entries: tuple[Entry, ...]) -> dict[str, Any]:
    """Return what statistics.json says, if its size fits the numbers that the plan calls for: a
    hostile file must not keep a reader busy or fill its memory."""
    path, content = folder / "statistics.json", read_file(folder, "statistics.json")
    claimed = sum(entry.statistic.dimension for entry in entries)
    if claimed > len(content):  # a digit each
        raise altered(
            f"{folder} claims {claimed:,} numbers, but {path.name} has only {len(content):,} bytes."
        )
    opened = content.count(b"[") + content.count(b"{")
    if opened > 10 * len(entries) + 10 or content.count(b",") > 2 * claimed + 1000:
        raise altered(f"{path} is not the JSON that longsynth writes.")
    return json_object(path, content)


def _integers(folder: Path, content: dict[str, Any], entry: Any) -> np.ndarray[Any, Any]:
    name, size = entry.statistic.name, entry.statistic.dimension
    values = content.get(name)
    if (
        not isinstance(values, list)
        or len(values) != size
        or not all(type(k) is int and -(1 << 63) <= k < 1 << 63 for k in values)
    ):
        raise altered(f"{folder} does not hold the {size} whole numbers of '{name}'.")
    return np.array(values, dtype=np.int64)
