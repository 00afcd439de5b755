"""Every mutant, read from the pages in bugs/: a name, a sentence, and a diff for each place."""

import re
from pathlib import Path

from mutants.detectors import NAMES
from mutants.mutant import Edit, Mutant

PAGES = (
    *("noise", "sensitivity", "account", "clipping", "neighbours", "passes", "release", "words"),
    *("entrance", "forgery", "rendering", "methods", "folders"),
)
_BY = re.compile(r"^Must be caught by \*\*(.+)\*\*\.$", re.MULTILINE)
_DIFF = re.compile(r"^`(\S+)`\n\n```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def mutants() -> tuple[Mutant, ...]:
    folder = Path(__file__).parent / "bugs"
    pages = [(folder / f"{page}.md").read_text(encoding="utf-8") for page in PAGES]
    return tuple(_mutant(part) for page in pages for part in page.split("\n## ")[1:])


def _mutant(part: str) -> Mutant:
    name, _, text = part.partition("\n")
    by, diffs = _BY.search(text), _DIFF.findall(text)
    if by is None or by[1] not in NAMES or not diffs:
        raise ValueError(f"'{name}' lacks a diff, or the detector that must catch it")
    edits = tuple(Edit(file, _side(diff, "+"), _side(diff, "-")) for file, diff in diffs)
    return Mutant(name, " ".join(text[: by.start()].split()), by[1], edits)


def _side(diff: str, other: str) -> str:
    """The lines of a diff without those of the other side and without its first column."""
    return "".join(line[1:] or "\n" for line in diff.splitlines(True) if line[0] != other)


MUTANTS = mutants()
