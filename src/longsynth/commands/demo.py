"""demo: the main job in one go."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")] = Path(
        "demo"
    ),
) -> None:
    """Simulate, fit, sample and verify in one go, and compare real with synthetic."""
    from longsynth.commands.demo_run import run_demo

    run_demo(out)
