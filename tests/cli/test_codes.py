"""Every refusal has a code, a problem and a remedy; docs/errors.md explains each code; and only the
commands mention their options."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from longsynth.system.errors import Code

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/longsynth"
REFUSALS = {"Refused", "OverBudget", "SchemaError", "CohortError", "ReleaseError"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OPTIONS_OF_OTHERS = {"show/dossier/build.py"}  # Chromium's


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def rows() -> list[str]:
    page = (ROOT / "docs/errors.md").read_text()
    return re.findall(r"^\| `([a-z-]+)` \| [^|]+\. \| [^|]+\. \|$", page, re.MULTILINE)


def test_the_page_has_one_row_for_each_code() -> None:
    without_row = sorted(set(Code) - set(rows()))
    assert not without_row, f"docs/errors.md has no row for: {', '.join(without_row)}"
    without_code = sorted(set(rows()) - set(Code))
    assert not without_code, f"docs/errors.md has rows without a code: {', '.join(without_code)}"
    assert rows() == sorted(rows()), "the rows are in alphabetical order"
    assert len(rows()) == len(set(rows()))


def test_every_code_is_used() -> None:
    used = {
        node.attr
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    core = "".join(path.read_text() for path in (SOURCE / "privacy").glob("*.py"))
    unused = [code for code in Code if code.name not in used and f'"{code}"' not in core]
    assert not unused, f"no refusal has the code: {', '.join(unused)}"


def refusals(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = getattr(function, "id", "") or getattr(function, "attr", "")
        if name in REFUSALS:
            yield node


def is_code(node: ast.expr, *, core: bool) -> bool:
    if core:
        return isinstance(node, ast.Constant) and node.value in set(Code)
    return isinstance(node, ast.Attribute) and (
        node.attr in Code.__members__ or node.attr == "code"  # of a refusal that is raised again
    )


def test_every_refusal_has_a_code_a_problem_and_a_remedy() -> None:
    lacking = [
        f"{name}:{call.lineno}"
        for name, tree in modules()
        for call in refusals(tree)
        if len(call.args) != 3
        or not is_code(call.args[0], core=name.startswith("privacy/"))
        or any(isinstance(part, ast.Constant) and not part.value for part in call.args)
    ]
    assert not lacking, f"not Refused(Code.X, problem, remedy): {', '.join(lacking)}"


def test_only_the_commands_mention_their_options() -> None:
    mentions = [
        f"{name}:{node.lineno}"
        for name, tree in modules()
        if not name.startswith("commands/") and name not in OPTIONS_OF_OTHERS
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and OPTION.search(node.value)
    ]
    assert not mentions, f"an option of a command is mentioned in: {', '.join(mentions)}"
