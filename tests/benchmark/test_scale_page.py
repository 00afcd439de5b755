"""docs/scale.md says what the committed result says."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_is_the_committed_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from speed_page import page  # type: ignore[import-not-found]

    content = json.loads((ROOT / "benchmarks/results/speed.json").read_text())
    assert (ROOT / "docs/scale.md").read_text() == page(content)
    for name in ("speed", "speed_page"):
        sys.modules.pop(name, None)
