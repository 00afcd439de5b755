"""The shape of the package: what a newcomer meets before reading any code."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/longsynth"
MODULES = sorted(SOURCE.rglob("*.py"))
FILES, LINES = 222, 29_850  # at most; what makes the package larger has to be worth it
EVERYWHERE = {"self", "cls", "_", "name", "patients", "schema"}  # what most files must mention


def test_the_folder_of_the_package_fits_on_a_screen() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(entries)


def test_the_package_has_few_files() -> None:
    assert len(MODULES) <= FILES


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank, nor a comment, nor part of a docstring."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in docstrings
        for number, line in enumerate(text.splitlines(), 1)
    )


def test_the_package_has_few_lines_of_code() -> None:
    assert sum(map(lines_of_code, MODULES)) <= LINES


def bound(path: Path) -> set[str]:
    """The names that a file gives to values and arguments."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def test_no_name_stands_for_everything() -> None:
    files = Counter(name for path in MODULES for name in bound(path))
    too_common = {n: count for n, count in files.items() if count > 60 and n not in EVERYWHERE}
    assert not too_common
