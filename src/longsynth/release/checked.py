"""What a run remembers of the check of its cohort. Internal."""

import json
from pathlib import Path


def accepted_problems(run: Path) -> str | None:
    """Return why red findings of a run's cohort were accepted, if there were any."""
    inside = run.parent if run.name == "release" else run
    try:
        accepted = json.loads((inside / "internal/run.json").read_bytes())["check"]["accepted"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return accepted if isinstance(accepted, str) else None
