"""docs/paper.md is true: every label of the paper has a row, and every file names its label."""

import os
import re
from pathlib import Path

import pytest

from longsynth_lab.paper.section_v import AS_PRINTED

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `([a-z]+:[a-z]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TABLE = (ROOT / "docs/paper.md").read_text().split("\n## ")[0]
ROWS = dict(ROW.findall(TABLE))


def paper() -> Path | None:
    """The paper's source beside the open cohorts, where it is at hand."""
    cohorts = os.environ.get("LONGSYNTH_COHORTS")
    path = Path(cohorts).parent / "paper/paper.tex" if cohorts else None
    return path if path and path.is_file() else None


@pytest.mark.parametrize("label", ROWS)
def test_every_file_in_the_map_names_its_label(label: str) -> None:
    files = re.findall(r"`([^`]+)`", ROWS[label])
    if not files:
        assert ROWS[label] == "not code"
    for name in files:
        assert label in (ROOT / name).read_text(), f"{name} does not mention {label}"


def test_the_map_covers_the_equations_and_algorithms() -> None:
    assert sum(label.startswith("eq:") for label in ROWS) == 15
    assert {"alg:fit", "alg:sample"} <= set(ROWS)


def test_the_map_covers_the_figures() -> None:
    assert sum(label.startswith("fig:") for label in ROWS) == 6


@pytest.mark.skipif(paper() is None, reason="the paper's source is not at hand")
def test_every_label_of_the_paper_has_a_row() -> None:
    path = paper()
    assert path is not None
    labels = set(re.findall(r"\\label\{((?:eq|alg|tab|fig):[a-z]+)\}", path.read_text()))
    assert labels == set(ROWS)


def test_every_choice_of_the_paper_that_can_be_set_stands_in_the_table_of_departures() -> None:
    text = (ROOT / "docs/paper.md").read_text()
    for name, value in AS_PRINTED:
        assert f"`{name}: {value}`" in text


def test_labels_cited_in_code_are_labels_of_the_map() -> None:
    cited = set()
    for file in (ROOT / "src").rglob("*.py"):
        cited |= set(re.findall(r"\b((?:eq|alg|tab|fig):[a-z]+)\b", file.read_text()))
    assert cited <= set(ROWS)
