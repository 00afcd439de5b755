"""A mutant: a deliberate privacy bug, as exact replacements of lines in the source."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Edit:
    file: str  # below src/longsynth
    old: str  # whole lines, which stand there exactly once
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    bug: str  # one sentence: what is wrong, and how it would come about
    by: str  # the detector that must be among those that catch it
    edits: tuple[Edit, ...]


class Rotten(Exception):
    """The source has moved on and a mutant no longer applies: write its diffs anew."""


def mutated(mutant: Mutant, package: Path) -> dict[Path, str]:
    """Return the files that a bug changes, as they are with it."""
    texts: dict[Path, str] = {}
    for edit in mutant.edits:
        path = package / edit.file
        try:
            text = texts.get(path) or "\n" + path.read_text(encoding="utf-8")
        except OSError:
            raise Rotten(f"'{mutant.name}': there is no {edit.file}") from None
        found = text.count("\n" + edit.old)
        if found != 1:
            raise Rotten(f"'{mutant.name}': {edit.file} holds this {found} times:\n{edit.old}")
        texts[path] = text.replace("\n" + edit.old, "\n" + edit.new)
    for path, text in texts.items():
        compile(text, str(path), "exec")  # what cannot run is no bug
    return {path: text.removeprefix("\n") for path, text in texts.items()}


def apply(mutant: Mutant, package: Path) -> None:
    """Put a bug into a copy of the package."""
    for path, text in mutated(mutant, package).items():
        path.write_text(text, encoding="utf-8")
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
