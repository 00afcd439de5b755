"""The notebook runs from top to bottom. Its cells are executed as Jupyter would."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import longsynth

NOTEBOOK = Path(__file__).parents[2] / "examples/quickstart.ipynb"
# The quick start of SDV ("Getting Started" in its README, August 2026) loads, fits, samples,
# compares and plots in 16 lines of code.
SDV_LINES = 16


def code_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells), "outputs would grow old"
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Execute a cell, and return the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)


def test_every_cell_runs_and_every_result_can_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [run_cell(source, names) for source in code_cells()]
    for result in shown:
        assert repr(result)
        if hasattr(result, "_repr_html_"):
            assert "<table" in result._repr_html_()
    *_, scores, plot, _ = shown
    assert plot.get_legend_handles_labels()[1] == ["real", "synthetic"]
    assert isinstance(names["synthetic"].patients, names["pd"].DataFrame)
    assert len(names["synthetic"].patients) == 500
    assert len(scores) == 7 and scores["value"].between(0, 1).all()
    assert all(finding.good for finding in longsynth.verify("release"))


def test_it_has_no_more_lines_than_the_quick_start_of_sdv() -> None:
    lines = [line for cell in code_cells() for line in cell.splitlines() if line.strip()]
    assert len(lines) <= SDV_LINES and max(map(len, lines)) <= 100
