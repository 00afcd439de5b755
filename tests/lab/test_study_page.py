"""docs/study-results.md is what its result file gives; without one it says what makes it."""

import re
from dataclasses import replace
from math import isfinite
from pathlib import Path

import pytest

from lab.conftest import Kept
from lab.miniature import SEEDS, miniature
from longsynth.system.errors import Refused
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import MAIN, PRIVATE, REFERENCES
from longsynth_lab.labels import LOOKS
from longsynth_lab.paper.contradictions import contradictions
from longsynth_lab.paper.section_v import REPEATS, paper_study, repeats
from longsynth_lab.paper.study_page import PLACEHOLDER, _repeated, needed, study_text
from longsynth_lab.paper.study_tables import SUBGROUPS
from longsynth_lab.paper.study_tables import UTILITY as OF_UTILITY
from longsynth_lab.results import Results, Row, read_results, table_of, write_whole
from longsynth_lab.trial import trials

OF_CLASSIFIER = {*OF_UTILITY, *SUBGROUPS, "mean_prediction"}
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/study-results.md"


@pytest.fixture(scope="module")
def results(study: Path) -> Results:
    return read_results(study / "results.parquet")


def test_the_page_in_docs_is_the_one_that_the_stored_results_give(kept: Kept) -> None:
    expected = (
        study_text(kept("study"), kept("study_repeats")) if kept("study").rows else PLACEHOLDER
    )
    assert PAGE.read_text(encoding="utf-8") == expected, "run 'python lab/study.py --page'"


def test_every_stored_row_says_what_made_it(kept: Kept) -> None:
    """Which version, budget, classifier, sizes, seed and patients."""
    for row in (*kept("study").rows, *kept("study_repeats").rows):
        assert row.judged_by, row
        assert row.patients_hash, row
        assert row.train_patients, row
        assert bool(row.made_by) == (row.method not in REFERENCES), row
        private = row.method in PRIVATE
        assert bool(row.accounting) == isfinite(row.epsilon) == isfinite(row.delta) == private, row
        assert bool(row.classifier) == (row.metric in OF_CLASSIFIER), row


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"made_by": "older"}, "version of the method"),
        ({"judged_by": "older"}, "version of the metrics"),
        ({"patients_hash": "others"}, "set of patients"),
        ({"accounting": "zcdp"}, "accounting"),
        ({"delta": 1e-6}, "δ"),
    ],
)
@pytest.mark.usefixtures("scripts")
def test_a_row_from_another_version_fails_the_build_which_says_where(
    study: Path, results: Results, tmp_path: Path, change: dict[str, object], what: str
) -> None:
    from study import store

    rows = list(results.rows)
    place = max(n for n, r in enumerate(rows) if r.method == "trust" and r.metric == "auprc")
    rows[place] = replace(rows[place], **change)  # type: ignore[arg-type]
    altered = tmp_path / "altered"
    altered.mkdir()
    write_whole(altered / "results.parquet", table_of(rows, Row))
    with pytest.raises(Refused) as refused:
        store(altered, tmp_path / "study.parquet", tmp_path / "page.md", tmp_path / "none")
    assert refused.value.code == LabCode.EVIDENCE_MIXED
    row = rows[place]
    assert f"'trust' of '{row.experiment}' at {row.setting}, seed {row.seed}" in str(refused.value)
    assert f"different {what}" in str(refused.value)
    assert refused.value.remedy == "Measure them again with 'make paper'."
    assert not (tmp_path / "study.parquet").exists()
    assert not (tmp_path / "page.md").exists()


def test_the_stored_study_was_run_to_its_end(kept: Kept) -> None:
    """Every experiment, method, seed and setting of the paper's section V."""
    have = {(r.experiment, r.method, r.seed, r.setting) for r in kept("study").rows}
    for trial in trials(paper_study()) if have else ():
        for use in trial.uses:
            if set(use.measures) != {"membership swapped"} or trial.method in PRIVATE:
                assert (use.experiment, trial.method, trial.seed, use.setting) in have


@pytest.mark.usefixtures("scripts")
def test_storing_a_study_writes_a_small_file_and_the_page_from_it(
    study: Path, results: Results, tmp_path: Path
) -> None:
    from study import store

    stored, page = tmp_path / "study.parquet", tmp_path / "page.md"
    store(study, stored, page, tmp_path / "none")
    assert page.read_text(encoding="utf-8") == study_text(results)
    assert stored.stat().st_size < 1_000_000
    kept = read_results(stored)
    assert len(kept.rows) < len(results.rows)
    assert [repr(row) for row in kept.rows] == [repr(row) for row in needed(results).rows]


@pytest.mark.usefixtures("scripts")
def test_the_comparison_is_repeated_with_other_noise_for_the_same_patients(
    results: Results, tmp_path: Path
) -> None:
    from study import repeat

    path = tmp_path / "repeats.parquet"
    setting = next(e for e in miniature() if e.name == "comparison").settings
    repeat(replace(repeats(SEEDS, draws=2), settings=setting), path)
    again = read_results(path)
    assert {row.method for row in again.rows} == set(PRIVATE)
    assert {(row.seed, row.draw) for row in again.rows} == {(s, d) for s in SEEDS for d in (0, 1)}
    text = study_text(results, again)
    assert "repeated 2 times" in text and "With 2 other draws" in text
    others = Results(replace(row, patients_hash="others") for row in again.rows)
    with pytest.raises(Refused) as refused:
        study_text(results, others)
    assert refused.value.code == LabCode.EVIDENCE_MIXED


def test_the_repetitions_say_where_the_run_of_the_page_lies() -> None:
    rows = [Row("comparison", "trust", seed, MAIN, "auprc", 0.3) for seed in (11, 22)]
    drawn = [
        Row(REPEATS, "trust", seed, MAIN, "auprc", value, draw=draw)
        for draw, value in enumerate((0.1, 0.2, 0.5))
        for seed in (11, 22)
    ]
    (sentence,) = _repeated(Results(rows), Results(drawn))
    assert "0.267 on average, from 0.100 to 0.500. 1 of them gave more" in sentence


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
    assert sum("Our" in sentence for sentence in found) >= 9


def test_contradictions_can_be_told_before_anything_is_measured() -> None:
    assert all("nan" not in sentence for sentence in contradictions(Results(())))
