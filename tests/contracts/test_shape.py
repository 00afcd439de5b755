"""The shape of the package: what a newcomer meets before reading any code."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/longsynth"
MODULES = sorted(SOURCE.rglob("*.py"))
EVERYWHERE = {"self", "cls", "_", "name", "schema"}  # what nearly every file has to speak of


def test_the_folder_of_the_package_fits_on_a_screen() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(entries)


def test_the_package_has_few_files() -> None:
    assert len(MODULES) <= 215


def bound(path: Path) -> set[str]:
    """The names that a file gives to values and arguments."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def test_no_name_stands_for_everything() -> None:
    files = Counter(name for path in MODULES for name in bound(path))
    too_common = {n: count for n, count in files.items() if count > 60 and n not in EVERYWHERE}
    assert not too_common
