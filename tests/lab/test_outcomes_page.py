"""docs/outcomes.md says what the committed result of the study of several outcomes says."""

import json
from pathlib import Path

from longsynth_lab.evidence.outcomes_page import outcomes_page

ROOT = Path(__file__).parents[2]


def test_the_page_holds_the_committed_result() -> None:
    results = json.loads((ROOT / "lab/results/outcomes.json").read_text("utf-8"))
    assert outcomes_page(results) == (ROOT / "docs/outcomes.md").read_text("utf-8")
