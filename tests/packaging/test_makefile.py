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
    wanted = {"lab/game.py", "tests/fuzz/fuzz.py", "tests/atomic/kill_campaign.py"}
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


def test_the_demo_installs_what_it_needs_and_no_tool_of_developers() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    installed = re.findall(r"pip install .*", done.stdout)
    assert any("--editable '.[plots]'" in line for line in installed)
    assert not re.search(r"\[(dev|docs|spark)", done.stdout), installed
    assert "--editable lab" not in done.stdout
    assert "longsynth demo --out demo" in done.stdout


def test_everything_else_installs_all_of_it_in_the_same_place() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "test"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--editable '.[dev]' --editable lab" in done.stdout


def test_tests_of_one_group_run_on_one_worker(tmp_path: Path) -> None:
    """Else Spark starts twice, and whatever is slow to make is made twice."""
    makefile = (ROOT / "Makefile").read_text()
    (options,) = re.findall(r"pytest (--numprocesses 2 --dist \w+)", makefile)
    (tmp_path / "test_together.py").write_text("""if True:
        import os
        import pytest

        @pytest.mark.xdist_group("together")
        @pytest.mark.parametrize("n", range(6))
        def test_where(n):
            open(os.environ["PYTEST_XDIST_WORKER"], "a").close()
    """)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(list(tmp_path.glob("gw*"))) == 1
