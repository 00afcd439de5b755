"""Validation: a number that was changed anywhere is found and its place is named."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.system.errors import Refused
from longsynth_lab.paper.validation import validate


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    made = tmp_path / "copy"
    shutil.copytree(study, made)
    return made


def test_an_untouched_study_is_valid_and_many_numbers_were_checked(study: Path) -> None:
    found = json.loads((study / "validation.json").read_text(encoding="utf-8"))
    assert found["valid"]
    assert found["checked"] > 5_000
    assert found["mismatches"] == []


def test_a_changed_result_is_found_in_the_results_and_in_all_that_shows_it(copy: Path) -> None:
    path = copy / "results.parquet"
    rows = pq.read_table(path).to_pylist()
    wanted = {"experiment": "comparison", "method": "trust", "metric": "auprc", "seed": 11}
    (row,) = (r for r in rows if wanted.items() <= r.items())
    row["value"] += 0.05
    pq.write_table(pa.Table.from_pylist(rows), path)
    found = validate(copy)
    assert not found.valid
    places = {(m.file, m.row, m.column) for m in found.mismatches}
    assert ("results.parquet", "comparison trust 11 main auprc", "value") in places
    assert ("figures/data/main_auprc.csv", "8 (TRUST-LONGSYNTH)", "mean") in places
    assert any(file == "tables/main.md" and "AUPRC" in column for file, _, column in places)
    assert any(file == "tables/main.tex" for file, _, _ in places)
    written = json.loads((copy / "validation.json").read_text(encoding="utf-8"))
    assert not written["valid"]
    assert len(written["mismatches"]) == len(found.mismatches)


def test_a_result_and_its_cell_changed_together_are_caught_by_the_predictions(copy: Path) -> None:
    name = "results.parquet"
    for path in (copy / name, *(copy / "cells").glob("*.parquet")):
        table = pq.read_table(path)
        rows = table.to_pylist()
        for row in rows:
            if (row["experiment"], row["method"], row["metric"]) == (
                "comparison",
                "trust",
                "brier",
            ):
                row["value"] *= 0.9
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    found = [m for m in validate(copy).mismatches if m.file == name]
    assert {(m.row, m.column) for m in found} == {
        (f"comparison trust {seed} main brier", "value") for seed in (11, 22)
    }


CHANGES = (
    ("figures/data/main_auprc.csv", "Bootstrap,0.", "Bootstrap,1."),
    ("tables/main.md", "± 0.", "± 1."),
    ("tables/main.tex", r"$\pm$ 0.", r"$\pm$ 1."),
    ("tables/attribute.md", "± 0.", "± 1."),
    ("tables/support.md", " to ", " or "),
    ("paper/macros.tex", "{0.", "{1."),
    ("records/clipping.json", '_share": 0.', '_share": 1.'),
    ("records/support.json", '"events": ', '"events": 9'),
    ("records/attacks.json", '"neighbours": 1', '"neighbours": 2'),
    ("REPORT.md", "Bootstrap: the", "Bootstrap, the"),
)


def test_changed_artefacts_are_named_and_no_others(copy: Path) -> None:
    for name, old, new in CHANGES:
        text = (copy / name).read_text(encoding="utf-8")
        assert old in text, name
        (copy / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    found = validate(copy)
    assert {mismatch.file for mismatch in found.mismatches} == {name for name, _, _ in CHANGES}
    assert all("expected" in str(mismatch) for mismatch in found.mismatches)


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "figures/data/canary.csv").unlink()
    (mismatch,) = validate(copy).mismatches
    assert mismatch.file == "figures/data/canary.csv"


def test_a_file_that_cannot_be_read_is_refused_with_its_reason(copy: Path) -> None:
    (copy / "results.parquet").write_bytes(b"not Parquet")
    with pytest.raises(Refused, match="not a finished study"):
        validate(copy)
