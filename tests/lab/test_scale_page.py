"""docs/scale.md says what the committed result says."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("scripts")
def test_the_page_is_the_committed_result() -> None:
    from speed_page import page  # type: ignore[import-not-found]

    content = json.loads((ROOT / "lab/results/speed.json").read_text())
    assert (ROOT / "docs/scale.md").read_text() == page(content)
