"""The Python API: exact, sorted, and the same words as the commands."""

import ast
import re
from pathlib import Path

import longsynth

SOURCE = Path(longsynth.__file__).parent


def test_every_public_name_exists_and_the_list_is_sorted() -> None:
    names = longsynth.__all__
    assert names == sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    for name in names:
        assert getattr(longsynth, name) is not None


def test_the_page_explains_every_public_name_and_no_other() -> None:
    page = (SOURCE.parents[1] / "docs" / "python.md").read_text("utf-8")
    cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|.*", page, re.MULTILINE)
    errors = re.findall(r"`(\w+(?:Error|Budget))`", page)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] + errors
    assert sorted(named) == sorted(longsynth.__all__)


def test_dir_lists_everything_public_and_nothing_else() -> None:
    assert dir(longsynth) == sorted(longsynth.__all__)


def test_the_words_of_the_commands_are_functions() -> None:
    for word in ("audit", "fit", "import_cohort", "plan", "sample", "simulate", "verify"):
        assert callable(getattr(longsynth, word))


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(longsynth, "nothing_of_the_kind")


def test_the_audit_folder_is_as_small_as_an_auditor_was_promised() -> None:
    lines = sum(len(p.read_text().splitlines()) for p in (SOURCE / "privacy").glob("*.py"))
    assert lines <= 600


def test_the_audit_folder_imports_nothing_else_of_ours() -> None:
    allowed = {"numpy", "opendp", "longsynth.privacy"}
    standard = {
        "collections",
        "dataclasses",
        "decimal",
        "fractions",
        "functools",
        "math",
        "secrets",
        "typing",
    }
    for path in (SOURCE / "privacy").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                root = module.split(".")[0]
                assert root in allowed | standard or module.startswith("longsynth.privacy"), module


def test_algorithms_fit_on_one_screen() -> None:
    """Without their docstrings."""
    for name, limit in (("fit.py", 60), ("sample.py", 90)):
        text = (SOURCE / name).read_text()
        bodies = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        said = sum(len((ast.get_docstring(body) or "").splitlines()) for body in bodies)
        assert len(text.splitlines()) - said <= limit
