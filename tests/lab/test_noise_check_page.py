"""docs/signing.md says what the committed result of the noise check says."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTENT = json.loads((ROOT / "lab/results/noise_check.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("scripts")
def test_the_page_holds_the_committed_result() -> None:
    from noise_check import section  # type: ignore[import-not-found]

    assert section(CONTENT) in (ROOT / "docs/signing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", CONTENT["methods"])
def test_honest_noise_was_not_suspected_and_no_chance_was_too_small(method: str) -> None:
    honest = CONTENT["methods"][method]["honest"]
    assert honest["releases"] >= 2000
    assert honest["rejected"] == 0
    assert honest["unusual"] <= 3, "where at most 0.2 are expected"
    assert honest["at_most_a_tenth"] <= 0.1 * honest["releases"] + 70
    assert honest["least_p_of_uniformity"] > 1e-6
