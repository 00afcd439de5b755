"""Claims about the page on constants: it is what the results say, and it leaves nothing out."""

import json
from pathlib import Path
from typing import Any

import pytest

from longsynth.constants import Constants
from longsynth.report.constants_page import SETUP, constants_page, is_default

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "constants.json"
PAGE = ROOT / "docs" / "constants.md"
REMEDY = "python benchmarks/constants.py --reuse --out benchmarks/results/constants.json --page "


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def page(measured: dict[str, Any]) -> str:
    return constants_page(measured["results"])


def test_the_page_in_docs_is_the_one_the_results_give(page: str) -> None:
    assert page.encode() == PAGE.read_bytes(), f"run {REMEDY}docs/constants.md"


def test_the_results_were_measured_in_the_setup_the_page_states(measured: dict[str, Any]) -> None:
    assert measured["setup"] == SETUP
    assert measured["defaults"] == Constants().model_dump(), "a default has moved: measure again"
    assert "noise is not seeded" in measured["note"]


@pytest.mark.parametrize("name", Constants.model_fields)
def test_every_constant_has_a_row_with_its_own_reason(page: str, name: str) -> None:
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    described = Constants.model_fields[name].description
    assert described
    assert row.split(" | ")[-1][1:].removesuffix(" |") in described


def test_only_development_seeds_were_used(measured: dict[str, Any]) -> None:
    assert {s for result in measured["results"] for s in result["seeds"]} == set(range(101, 106))


def test_every_table_marks_exactly_one_default(page: str) -> None:
    tables = page.split("### ")[1:]
    assert tables
    assert all(table.count("(default)") == 1 for table in tables)


def test_a_value_far_from_the_default_is_marked_by_its_direction(measured: dict[str, Any]) -> None:
    changed = [dict(result) for result in measured["results"]]
    for result in changed:
        if result["constant"] == "release" and result["value"] == "joint":
            result |= {"mean": 9.0, "sd": 0.0} if result["metric"] == "marginals" else {}
    table = constants_page(changed).split("### release")[1].split("###")[0]
    assert "9.000 ± 0.000 ↑" in table
    assert "Worse than the default: joint in marginals" in table


def test_a_clip_radius_is_the_default_as_a_multiple() -> None:
    assert is_default("clip_radius", "2/3")
    assert not is_default("clip_radius", "1/2")
