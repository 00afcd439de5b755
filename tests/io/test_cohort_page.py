"""docs/cohort.md names a test for every behaviour; each must exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "cohort.md").read_text("utf-8")))
    files = [p for d in ("io", "schema") for p in (ROOT / "tests" / d).glob("test_*.py")]
    existing = {
        n for p in files for n in re.findall(r"^def (test_\w+)", p.read_text(), re.MULTILINE)
    }
    assert named
    assert named <= existing
