"""docs/outcomes.md."""

from typing import Any


def outcomes_page(results: dict[str, Any]) -> str:
    return ""
