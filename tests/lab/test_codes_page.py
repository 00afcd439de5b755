"""docs/schema.md says what the committed result of the study of codes says."""

import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
CONTENT = json.loads((ROOT / "lab/results/codes.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("scripts")
def test_the_page_holds_the_committed_result() -> None:
    from codes import section  # type: ignore[import-not-found]

    assert section(CONTENT) in (ROOT / "docs/schema.md").read_text(encoding="utf-8")


def test_two_hundred_codes_of_twenty_thousand_patients_need_less_than_a_gigabyte() -> None:
    assert (CONTENT["codes"], CONTENT["patients"]) == (200, 20_000)
    assert CONTENT["peak_memory_mb"] < 1000


@pytest.mark.parametrize("epsilon", CONTENT["private"])
def test_released_pairs_are_no_worse_than_none(epsilon: str) -> None:
    draws = CONTENT["private"][epsilon]
    assert len(draws) >= 3
    kept, ignored = (
        np.mean([draw[name]["code_pair_error"] for draw in draws])
        for name in ("released", "without pairs")
    )
    assert kept <= ignored
