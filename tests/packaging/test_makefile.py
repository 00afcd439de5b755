"""What runs by night only must not be found broken by night only."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = re.findall(r"(\S+\.py)(.*)", (ROOT / "Makefile").read_text())


def test_the_night_has_games_fuzzing_and_kills() -> None:
    wanted = {"benchmarks/game.py", "tests/fuzz/fuzz.py", "tests/atomic/kill_campaign.py"}
    assert wanted <= {script for script, _ in SCRIPTS}


@pytest.mark.parametrize(("script", "arguments"), SCRIPTS, ids=[script for script, _ in SCRIPTS])
def test_every_script_of_the_makefile_knows_the_options_it_is_given(
    script: str, arguments: str
) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, str(ROOT / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    for option in re.findall(r"--[a-z-]+", arguments):
        assert re.search(rf"{option}\b", done.stdout), option
