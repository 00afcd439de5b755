"""docs/add-a-method.md, followed literally: one folder and one line, and taken away again."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from longsynth.system.errors import Code

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/add-a-method.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```python title="(flat/\w+\.py)"\n(.*?)^```', PAGE, re.M | re.S))
USE = """
import longsynth
cohort = longsynth.simulate(200, seed=1)
plan = longsynth.plan(
    longsynth.simulated_schema(), cohort.patients, epsilon=4, delta=1e-5, method="flat"
)
model = longsynth.model_of(longsynth.fit(cohort, plan))
print(longsynth.sample(model, 50, seed=2).patients, "patients")
"""
MOST = 4  # modules of ours that a private method may need


def ours(text: str) -> set[str]:
    """The modules of ours that a text imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {module for module in found if module.split(".")[0] == "longsynth"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder and the line of the page, as pip would leave them."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    about = tmp_path / "flat-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: flat\nVersion: 1.0\n")
    (line,) = re.findall(r'^flat = "(.*)"$', PAGE, re.M)
    (about / "entry_points.txt").write_text(f"[longsynth.methods]\nflat = {line}\n")
    return tmp_path


def used(path: Path) -> subprocess.CompletedProcess[str]:
    surroundings = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, "-c", USE], env=surroundings, capture_output=True, text=True, check=False
    )


def test_a_method_is_one_folder_and_one_line_and_can_be_taken_away(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert set(FILES) == {f"flat/{n}.py" for n in ("__init__", "settings", "release", "model")}
    done = used(site)
    assert done.stdout == "50 patients\n", done.stderr
    gone = used(tmp_path_factory.mktemp("without"))
    assert gone.returncode
    assert Code.METHOD_UNKNOWN in gone.stderr or "'flat' is unknown" in gone.stderr


def test_a_method_needs_at_most_four_of_our_modules() -> None:
    assert len(set().union(*map(ours, FILES.values()))) <= MOST
    assert ours(FILES["flat/model.py"]) == {"longsynth.sampling"}, "which reaches no patient"
    example = (ROOT / "examples/add_a_method.py").read_text(encoding="utf-8")
    assert len(ours(example)) <= MOST
