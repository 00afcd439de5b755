"""Whether a cohort is fit to be fitted: findings per column and per table, red, amber or green, and
the receipt of the check.

Everything that is found is a raw fact about patients, for the data steward only. No finding quotes
a cell. Counts come from single passes over the tables, in SQL that adds up over parts of a table,
so that Spark gives the same numbers. What does not add up, such as duplicates, is counted on one
machine.

`check` leaves a receipt in the cohort's internal/ folder: who looked at exactly this cohort, when,
and what the verdict was. A fit asks for it. Whether there is one is a fact about the data steward's
work; docs/privacy.md says why a fit may depend on it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Protocol

from longsynth.reading.quality.counts import (
    bin_counts,
    bins,
    cell_counts,
    code_counts,
    label_counts,
    other_units,
    rows_with_values,
    units_known,
)
from longsynth.reading.quality.findings import (
    Colour,
    FileLines,
    QualityFinding,
    marks,
    of_codes,
    of_constraints,
    of_import,
    of_label,
    of_tables,
    of_variable,
)
from longsynth.schema.columns import LABELS
from longsynth.schema.file import schema_text
from longsynth.schema.from_names import marked_lines
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError, SchemaError
from longsynth.system.folders import INTERNAL, as_json, write_whole
from longsynth.system.origin import VERSION
from longsynth.system.text import command_line


@dataclass(frozen=True, slots=True)
class Quality:
    """The findings, worst first."""

    patients: int
    findings: tuple[QualityFinding, ...]
    counts: dict[str, Any]  # of what reading changed; see `CohortFolder.repairs`
    histograms: dict[str, tuple[int, ...]] = field(default_factory=dict)  # below, BINS, above

    @property
    def colours(self) -> dict[str, int]:
        return {c.value: sum(f.colour == c for f in self.findings) for c in Colour}

    @property
    def colour(self) -> Colour:
        return next((c for c in Colour if self.colours[c]), Colour.GREEN)


class Readable(Protocol):
    """A cohort that can be examined, here or on Spark."""

    @property
    def schema(self) -> Schema: ...

    @property
    def patients(self) -> int: ...

    def repairs(self) -> dict[str, Any]: ...

    def counted(self, rows: Mapping[str, str], people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the cells of the two tables, by name."""
        ...

    def distinct(self) -> dict[str, int] | None:
        """Count rows that repeat another, and what each variable has of different values, up to
        two; None where counts are added up over parts."""
        ...


def examine(source: Readable, folder: Path, *, histograms: bool = False) -> Quality:
    """Examine a cohort. `folder` has the files whose lines the remedies name."""
    schema = source.schema
    others = {v.name: tuple(other_units(v)) for v in schema.variables} if units_known() else {}
    queries: dict[bool, dict[str, str]] = {False: {}, True: label_counts(schema)}
    for v in schema.variables:
        cells = "count(*)" if v.static else rows_with_values(schema)
        queries[v.static] |= cell_counts(v, others.get(v.name, ()), cells)
        if histograms:
            queries[v.static] |= bin_counts(v)
    for listed in schema.codes:
        queries[False] |= code_counts(listed)
    numbers = source.counted(queries[False], queries[True])
    repairs, distinct = source.repairs(), source.distinct()
    lines = FileLines(folder, schema)
    found = [
        *of_tables(schema, source.patients, repairs, distinct, numbers, lines),
        *of_import(folder, lines),
    ]
    for what in LABELS:
        if getattr(schema, what) is not None:
            found += of_label(schema, what, repairs, source.patients, numbers, lines)
    for v in schema.variables:
        found += of_variable(v, others.get(v.name, ()), numbers, distinct, lines)
    for listed in schema.codes:
        found += of_codes(listed, numbers, lines)
    found += of_constraints(schema, repairs, lines)
    if not units_known():
        words = "Units were not examined: the package pint is not installed."
        found.append(QualityFinding("units", "units", Colour.GREEN, 0.0, words))
    found += marks(lines)
    order = {colour: i for i, colour in enumerate(Colour)}
    found.sort(key=lambda f: (order[f.colour], -f.percent))
    bars = {
        v.name: tuple(numbers[f"{v.name} bin {i}"] for i in range(bins(v) + 2))
        for v in schema.variables
        if histograms
    }
    return Quality(source.patients, tuple(found), repairs, bars)


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
