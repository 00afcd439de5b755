"""docs/study-results.md is what its result file gives; without one it says what makes it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from longsynth_lab.contradictions import contradictions
from longsynth_lab.results import Results, read_results
from longsynth_lab.study_page import PLACEHOLDER, needed, study_text
from longsynth_lab.study_style import LOOKS

ROOT = Path(__file__).parents[2]
STORED, PAGE = ROOT / "lab/results/study.parquet", ROOT / "docs/study-results.md"


@pytest.fixture(scope="module")
def results(study: Path) -> Results:
    return read_results(study / "results.parquet")


def test_the_page_in_docs_is_the_one_that_the_stored_results_give() -> None:
    expected = study_text(read_results(STORED)) if STORED.is_file() else PLACEHOLDER
    assert PAGE.read_text(encoding="utf-8") == expected


@pytest.mark.usefixtures("scripts")
def test_storing_a_study_writes_a_small_file_and_the_page_from_it(
    study: Path, results: Results, tmp_path: Path
) -> None:
    from study import store

    stored, page = tmp_path / "study.parquet", tmp_path / "page.md"
    store(study, stored, page)
    assert page.read_text(encoding="utf-8") == study_text(results)
    assert stored.stat().st_size < 1_000_000
    kept = read_results(stored)
    assert len(kept.rows) < len(results.rows)
    assert [repr(row) for row in kept.rows] == [repr(row) for row in needed(results).rows]


def test_the_page_holds_every_method_both_references_and_the_papers_numbers(
    results: Results,
) -> None:
    page = study_text(results)
    for look in (look for name, look in LOOKS.items() if name != "copula-score"):
        assert f"| {look.label} |" in page.replace("**", "")
    for printed in ("0.342 ± 0.106", "0.222", "0.183", "0.018", "0.466", "11.04", "17.0 %"):
        assert printed in page
    assert not re.search(r"\bnan\b", page)


def test_a_number_that_differs_is_named_with_its_interval(results: Results) -> None:
    def moved(by: float) -> str:
        return study_text(
            Results(
                replace(row, value=row.value + by) if row.metric == "mia_auc" else row
                for row in results.rows
            )
        )

    named = re.compile(r"MIA AUROC of DP-Score by \+[\d.]+ \(\+[\d.]+ to \+[\d.]+\)")
    assert named.search(moved(5.0))
    assert not named.search(moved(0.0))


def test_contradictions_hold_the_papers_two_statements_and_ours(results: Results) -> None:
    found = contradictions(results)
    for said in (
        ("Independent, AUPRC", "0.431", "0.549"),
        ("fairness floor", "0.360", "0.350"),
        ("strong in discrimination", "0.318, number 7 of 7"),
        ("names two baselines", "The table has 3 (Bootstrap, Independent, DP-Markov)"),
        ("event rate 0.092", "Brier 0.0835"),
        ("diagonal covariance", "0.466", "0.099"),
        ("end below", "0.339 of Temporal-PCA", "0.349 of Temporal-PCA"),
    ):
        assert any(all(part in sentence for part in said) for sentence in found), said
    assert sum("Ours" in sentence for sentence in found) >= 9


def test_contradictions_can_be_told_before_anything_is_measured() -> None:
    assert all("nan" not in sentence for sentence in contradictions(Results(())))
