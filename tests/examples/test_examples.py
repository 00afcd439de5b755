"""Examples run as written, and the README shows the example that runs; pages have tests/pages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def run(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], cwd=cwd, capture_output=True, text=True
    )


def test_every_example_runs_as_written(folder: Path) -> None:
    made = ["-m", "longsynth.commands", "simulate", "--patients", "300", "--out", "cohort"]
    assert run(made, folder).returncode == 0
    for example in EXAMPLES:
        done = run([str(example)], folder)
        assert done.returncode == 0, done.stderr
        assert "synthetic event rate:" in done.stdout


def test_the_readme_shows_the_example_that_runs() -> None:
    shown = next(iter(re.findall(r"```python\n(.*?)```", README, re.DOTALL)))
    written = (ROOT / "examples/first_release.py").read_text()
    assert shown == written[written.index("import longsynth") :]
    assert len([line for line in shown.splitlines() if line]) <= 15


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
