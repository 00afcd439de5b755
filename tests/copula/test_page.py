"""The page of copula-score says what the rules say."""

import re
from pathlib import Path

import pytest

from longsynth.methods.copula_score.settings import LITTLE, MUCH

PAGE = (Path(__file__).parents[2] / "docs" / "copula-score.md").read_text("utf-8")


@pytest.mark.parametrize("line", LITTLE)
def test_the_table_of_lines_has_the_parts_of_the_budget(line: str) -> None:
    (row,) = re.findall(rf"^\| `{line}` \|.*$", PAGE, re.MULTILINE)
    little, much = LITTLE[line], MUCH[line]
    assert row.split("|")[-2].strip() == (str(much) if little == much else f"{little} to {much}")


def test_the_public_rules_have_the_parts_of_the_budget() -> None:
    (found,) = re.findall(r"^\| parts (.*) up to ν = 300; (.*) from 3,000 on", PAGE, re.MULTILINE)
    for parts, table in zip(found, (LITTLE, MUCH), strict=True):
        assert parts == ", ".join(map(str, table.values()))
