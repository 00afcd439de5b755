"""The receipt of a check: who looked at exactly this cohort, when, and what the verdict was.

`check` leaves it in the cohort's internal/ folder, and a fit asks for it. Whether there is one is a
fact about the data steward's work; docs/privacy.md says why a fit may depend on it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path

from longsynth.schema.file import schema_text
from longsynth.schema.from_names import marked_lines
from longsynth.system.errors import Code, CohortError, SchemaError
from longsynth.system.folders import INTERNAL, as_json, write_whole
from longsynth.system.origin import VERSION
from longsynth.system.text import command_line

RECEIPT = f"{INTERNAL}/check.json"
CONTENT = ("observations.parquet", "patients.parquet", "schema.yaml")  # what a receipt is about
LARGEST = 1_000_000  # bytes of a receipt


@dataclass(frozen=True, slots=True)
class Receipt:
    fingerprint: str  # SHA-256 of the two tables and schema.yaml
    longsynth: str  # the version that checked
    checked_at: str
    checked_by: str | None
    colours: Mapping[str, int]  # how many findings are red, amber and green
    accepted: str | None = None  # why red findings are accepted

    @property
    def colour(self) -> str:
        """The worst colour."""
        return next((c for c in ("red", "amber") if self.colours.get(c)), "green")


def fingerprint_of(folder: Path) -> str:
    """Return the SHA-256 of a cohort's content. A table may be a folder of files, as Spark has."""
    content = sha256()
    for name, path in _files(folder):
        with path.open("rb") as file:
            content.update(f"{name}\0{file_digest(file, 'sha256').hexdigest()}\n".encode())
    return content.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for name in CONTENT:
        path = folder / name
        inner = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        yield from ((p.relative_to(folder).as_posix(), p) for p in inner)


def write_receipt(
    folder: Path,
    colours: Mapping[str, int],
    *,
    by: str | None = None,
    accepted: str | None = None,
    fingerprint: str | None = None,
) -> Receipt:
    """Leave a receipt, readable for its owner only. Give the fingerprint from before the check, so
    that a file that changed meanwhile does not match."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = fingerprint or fingerprint_of(folder)
    receipt = Receipt(content, VERSION, now, by, dict(colours), accepted)
    with suppress(OSError):  # the next line says why
        (folder / INTERNAL).mkdir(mode=0o700)
    write_whole(folder / RECEIPT, as_json(asdict(receipt)))
    return receipt


def receipt_of_simulated(folder: Path) -> Receipt:
    """Leave the receipt of simulated patients, which need no look."""
    return write_receipt(folder, {}, by="longsynth simulate")


def read_receipt(folder: Path) -> Receipt | None:
    """Return the receipt of a folder, whatever it is about, or None if it has none that can be
    read."""
    try:
        with (folder / RECEIPT).open("rb") as file:
            receipt = Receipt(**json.loads(file.read(LARGEST)))
        texts = (receipt.fingerprint, receipt.checked_at, receipt.longsynth)
        names = (receipt.checked_by, receipt.accepted)
        sound = all(isinstance(text, str) for text in texts)
        sound &= all(name is None or isinstance(name, str) for name in names)
        sound &= all(isinstance(count, int) for count in receipt.colours.values())
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return receipt if sound else None


def require_receipt(folder: Path) -> Receipt:
    """Return the receipt that a fit needs, or refuse. Says nothing about the patients."""
    if marked := marked_lines(schema_text(folder)):
        raise SchemaError(
            Code.MARKS_OPEN,
            f"{folder / 'schema.yaml'} has {marked} lines that are marked CHECK or FILL IN.",
            "Decide each of them, and remove its mark.",
        )
    receipt, check = read_receipt(folder), command_line("check", folder)
    if receipt is None:
        raise CohortError(
            Code.NOT_CHECKED,
            f"nobody has checked {folder}: it has no {RECEIPT}.",
            f"Run `{check}` and read what it finds.",
        )
    if receipt.fingerprint != fingerprint_of(folder):
        raise CohortError(
            Code.NOT_CHECKED,
            f"a table or the schema of {folder} changed after the last check.",
            f"Run `{check}` again and read what it finds.",
        )
    if receipt.colour == "red" and not receipt.accepted:
        raise CohortError(
            Code.CHECK_FAILED,
            f"the last check of {folder} ended red.",
            f"Run `{check}`, and correct what it finds or accept it with a reason.",
        )
    return receipt
