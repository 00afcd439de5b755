"""The release folder: five files, every byte of which follows from the bundle and its provenance.

So a folder is read by taking the few facts that make them (method, number of patients, budget,
schema, integers; whose code the method is, who fitted, under which form and book), planning anew,
and making all files again: whatever else a file says is either the same bytes or a forgery.
"""

import json
import re
from dataclasses import replace
from hashlib import sha256
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
from longsynth.system.errors import ReleaseError
from longsynth.system.folders import as_json, regular_size
from longsynth.system.provenance import (
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
LARGEST = {"statistics.json": 500_000_000}  # bytes; of every other file a million


class Release(NamedTuple):
    bundle: Bundle
    provenance: Provenance = Provenance()
    version: str = VERSION  # of the longsynth that wrote it
    opendp: str = OPENDP_VERSION  # which drew the noise


def release_files(release: Release) -> dict[str, bytes]:
    """Return every file of a release. Nothing else may stand in the folder."""
    bundle = release.bundle
    if not bundle.ledger.private:
        raise ReleaseError(
            f"method '{bundle.method}' is NOT PRIVATE: what it learnt may not be released."
        )
    if not is_method_name(bundle.method):
        raise ReleaseError(
            f"{bundle.method!r} cannot stand as the name of a method: use up to 64 letters, digits "
            "and . _ - signs."
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


def load_release(folder: Path | str) -> Bundle:
    """Return the bundle of a release folder; refuse one that was altered or that no one may use."""
    folder = Path(folder)
    found = read_release(folder)
    if found.bundle.ledger.noise != OPENDP:
        raise ReleaseError(
            f"{folder} was made with {found.bundle.ledger.noise} noise: it protects nobody and "
            "cannot be used. Fit again with `longsynth fit`."
        )
    expected = release_files(found)
    altered = [name for name in ALLOWED if read_file(folder, name) != expected[name]]
    if altered:
        raise ReleaseError(
            f"{folder} is not as longsynth wrote it: {', '.join(altered)} differ. Run "
            f"`{command_line('verify', folder)}` and ask for the folder again."
        )
    return found.bundle


def require_release(folder: Path) -> None:
    """Refuse a path that cannot be a release, before anything in it is judged."""
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder: give a release, for instance RUN/release.")
    if (folder / "release").is_dir():
        raise ReleaseError(f"{folder} is a run: give {folder / 'release'}.")


def read_release(folder: Path) -> Release:
    """Return what a folder's few independent facts make, before any file is compared with it."""
    require_release(folder)
    manifest, stated = read_json(folder, "manifest.json"), read_json(folder, "ledger.json")
    if manifest.get("format") != FORMAT:
        raise ReleaseError(
            f"{folder} has another release format than this longsynth reads ({FORMAT}): use the "
            "version named in its manifest.json."
        )
    schema = parse_text(_text(folder, "schema.yaml"), str(folder / "schema.yaml"))
    promise = _Promise.read(stated)
    if promise is None:
        raise ReleaseError(f"{folder / 'ledger.json'} is not the JSON that longsynth writes.")
    require_room_for_model(private_method(promise.method), schema, promise.patients)
    planned = plan(
        schema,
        promise.patients,
        epsilon=promise.epsilon,
        delta=promise.delta,
        method=promise.method,
        accounting=promise.accounting,
    )
    entries = tuple(replace(entry, noise=promise.noise) for entry in planned.ledger.entries)
    integers = _statistics(folder, entries)
    released = {e.statistic.name: Released(_integers(folder, integers, e), e) for e in entries}
    ledger = replace(planned.ledger, entries=entries)
    version, opendp = (_version(folder, manifest, name) for name in ("longsynth", "opendp"))
    origin = read_origin(manifest.get("method"))
    if origin is None or (origin.ours and origin.version != version):
        raise ReleaseError(f"{folder / 'manifest.json'} does not say whose code the method is.")
    if origin.ours and not origin_of(planned.method).ours:
        raise ReleaseError(
            f"{folder / 'manifest.json'} says that '{promise.method}' is a method of longsynth, "
            "which has no such method."
        )
    provenance = read_provenance(manifest.get("provenance"))
    if provenance is None:
        raise ReleaseError(f"{folder / 'manifest.json'} does not hold the provenance of a fit.")
    bundle = Bundle(planned.method.name, planned.schema, ledger, released, origin)
    return Release(bundle, provenance, version, opendp)


class _Promise(NamedTuple):
    """What a ledger says that does not follow from anything else."""

    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: Accounting
    noise: str

    @classmethod
    def read(cls, stated: dict[str, Any]) -> "_Promise | None":
        found = cls(*(stated.get(name) for name in cls._fields))  # type: ignore[arg-type]
        typed = [type(value) for value in found] == [str, int, float, float, str, str]
        if not typed or not 0 < found.patients < 1 << 53 or found.accounting not in ACCOUNTINGS:
            return None
        known = found.noise == OPENDP or re.fullmatch(rf"{TEST_ONLY}: \w{{1,100}}", found.noise)
        return found if known else None


def read_file(folder: Path, name: str) -> bytes:
    """Return a file of a release: a regular one of a size that a release has."""
    path = folder / name
    if regular_size(path) > LARGEST.get(name, 1_000_000):
        raise ReleaseError(f"{path} is not a file that longsynth writes.")
    return path.read_bytes()


def _text(folder: Path, name: str) -> str:
    return read_file(folder, name).decode("utf-8", errors="replace")


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return what a JSON file says, if that is an object; its numbers may be anything."""
    return json_object(folder / name, read_file(folder, name))


def json_object(path: Path, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ReleaseError(f"{path} is not the JSON that longsynth writes.")
    return content


def _version(folder: Path, manifest: dict[str, Any], name: str) -> str:
    found = str(manifest.get(name))
    if not re.fullmatch(r"\d+(\.\d+){1,2}\w{0,8}", found):
        raise ReleaseError(f"{folder / 'manifest.json'} names no version of {name}.")
    return found


def _statistics(folder: Path, entries: tuple[Entry, ...]) -> dict[str, Any]:
    """Return what statistics.json says, once its bytes look like the numbers that the plan calls
    for: neither too few of them to be worth the work, nor more than a reader needs room for."""
    path, content = folder / "statistics.json", read_file(folder, "statistics.json")
    claimed = sum(entry.statistic.dimension for entry in entries)
    if claimed > len(content):  # a digit each
        raise ReleaseError(
            f"{folder} claims {claimed:,} numbers, and {path.name} has {len(content):,} bytes: it "
            "was not written by `longsynth fit`."
        )
    opened = content.count(b"[") + content.count(b"{")
    if opened > 10 * len(entries) + 10 or content.count(b",") > 2 * claimed + 1000:
        raise ReleaseError(f"{path} is not the JSON that longsynth writes.")
    return json_object(path, content)


def _integers(folder: Path, content: dict[str, Any], entry: Any) -> np.ndarray[Any, Any]:
    name, size = entry.statistic.name, entry.statistic.dimension
    values = content.get(name)
    if (
        not isinstance(values, list)
        or len(values) != size
        or not all(type(k) is int and -(1 << 63) <= k < 1 << 63 for k in values)
    ):
        raise ReleaseError(f"{folder} does not hold the {size} whole numbers of '{name}'.")
    return np.array(values, dtype=np.int64)
