"""The files of a FHIR export: each has resources of one type, one per line.

Bundles are split into such files, and so are contained resources. These then count like any others.
"""

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, Any

from longsynth.reading.formats.fhir.resources import (
    COLUMNS,
    LARGEST,
    NEVER_HAPPENED,
    WHOLE,
    Export,
)
from longsynth.reading.session import Session
from longsynth.system.errors import Code, CohortError, without_cells

LARGEST_BUNDLE = 128_000_000  # bytes: a bundle is read as a whole
ENDINGS = (".ndjson", ".jsonl", ".json")
CONTAINED, KINDS = b'"contained"', re.compile(rb'"resourceType"\s*:\s*"(\w+)"')
INSIDE = COLUMNS.keys() - {"Patient", "Medication"}  # a contained medication is read where it is
INHERITED = ("meta", "subject", "encounter", "effectiveDateTime", "effectivePeriod")


def find_files(source: Path, session: Session) -> Export:
    """Find out which resources each file of a folder has, by its first line. Split bundles."""
    paths = [source] if source.is_file() else sorted(source.rglob("*"))
    export, split = Export(session), _Split(session)
    for path in paths:
        if not path.is_file() or not path.name.removesuffix(".gz").endswith(ENDINGS):
            continue
        kind = _first_type(path)
        if kind == "Bundle":
            split.add(path)
        elif kind in COLUMNS or kind == "DiagnosticReport":
            if not split.look_into(path, kind):
                raise CohortError(
                    Code.TOO_LARGE,
                    f"{path.name} has a resource of more than {LARGEST // 10**6} MB.",
                    "Leave out attachments, and check that each resource has its own line.",
                )
            if kind in COLUMNS:
                export.files.setdefault(kind, []).append(path)
        elif kind:
            export.unused[kind] = export.unused.get(kind, 0) + 1
    for kind, file in split.close().items():
        export.files.setdefault(kind, []).append(file)
    if "Patient" not in export.files:
        raise CohortError(
            Code.SOURCE_INCOMPLETE,
            f"{source} has no Patient resources in .ndjson or .json, with or without .gz.",
            "Give the folder of a FHIR R4 bulk export.",
        )
    return export


def _first_type(path: Path) -> str:
    """The type of a file's first resource. JSON over several lines must be a bundle."""
    with _reading(path), _opened(path) as file:
        line = file.readline(LARGEST_BUNDLE + 1).strip()
    if not line:
        return ""
    if line in (b"{", b"[") and path.name.removesuffix(".gz").endswith(".json"):
        return "Bundle"
    with _reading(path):
        kind = str(json.loads(line)["resourceType"])
    return kind if re.fullmatch(r"[A-Za-z]{1,64}", kind) else "unknown"


class _Split:
    """Bundles and contained resources as lines: one file per type of resource."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._files: dict[str, tuple[Path, IO[str]]] = {}

    def add(self, path: Path) -> None:
        with _reading(path), _opened(path) as file:
            content = file.read(LARGEST_BUNDLE + 1)
        if len(content) > LARGEST_BUNDLE:
            raise CohortError(
                Code.TOO_LARGE,
                f"{path.name} has bundles of more than {LARGEST_BUNDLE // 10**6} MB.",
                "Export resources as lines, one file per type.",
            )
        with _reading(path):
            for bundle in _bundles(content):
                for entry in bundle.get("entry", []):
                    whole = {"id": re.split(r"[/:]", entry.get("fullUrl", ""))[-1]}
                    whole |= entry.get("resource", {})
                    for resource in (whole, *_contained(whole)):
                        self._write(resource)

    def look_into(self, path: Path, kind: str) -> bool:
        """Write what the resources of a file contain. False: one of them is too large."""
        with _reading(path), _opened(path) as file:
            for line in iter(partial(file.readline, LARGEST + 1), b""):
                if len(line) > LARGEST:
                    return False
                if CONTAINED in line and INSIDE.intersection(_kinds_inside(line, kind)):
                    for resource in _contained(json.loads(line)):
                        self._write(resource)
        return True

    def _write(self, resource: dict[str, Any]) -> None:
        kind = resource.get("resourceType")
        if kind not in COLUMNS:
            return
        if kind not in self._files:
            path = self._session.new_file().with_suffix(".ndjson")
            self._files[kind] = path, path.open("w", encoding="utf-8")
        self._files[kind][1].write(json.dumps(resource) + "\n")

    def close(self) -> dict[str, Path]:
        for _, file in self._files.values():
            file.close()
        return {kind: path for kind, (path, _) in self._files.items()}


def _bundles(content: bytes) -> Iterator[dict[str, Any]]:
    """One bundle over any number of lines, or one per line."""
    try:
        yield json.loads(content)
    except ValueError:
        yield from map(json.loads, filter(None, content.splitlines()))


def _contained(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a resource contains as if it stood alone: of the same patient and, if it does not
    say otherwise, of the same time. What failed has nothing that happened inside."""
    inherited = {name: whole[name] for name in INHERITED if name in whole}
    failed = whole.get("status") in NEVER_HAPPENED
    for inner in whole.get("contained", []):
        if inner.get("resourceType") in INSIDE:
            own = {name: cell for name, cell in inner.items() if name not in ("subject", "meta")}
            place = {"id": f"{whole.get('id', '')}#{inner.get('id', '')}"}
            yield inherited | own | place | ({"status": whole["status"]} if failed else {})


def _kinds_inside(line: bytes, kind: str) -> list[str]:
    kinds = [found.decode() for found in KINDS.findall(line)]
    if kind in kinds:
        kinds.remove(kind)
    return kinds


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _reading(path: Path) -> AbstractContextManager[None]:
    """Whatever goes wrong is the file's fault."""
    return without_cells(f"{path.name} cannot be read as FHIR resources.", WHOLE, every=True)
