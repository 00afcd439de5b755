"""docs/real.md is what its result file gives, and no row stands alone."""

import re
from pathlib import Path

from longsynth.benchmark.experiments import METHODS as OF_THE_PAPER
from longsynth.benchmark.real import real_text
from longsynth.benchmark.results import read_results
from longsynth.report.study_style import look

ROOT = Path(__file__).parents[2]
RESULTS = read_results(ROOT / "benchmarks" / "results" / "real.parquet")

METHODS = (*OF_THE_PAPER, "copula-score")


def test_the_page_is_what_the_results_give() -> None:
    assert (ROOT / "docs" / "real.md").read_text() == real_text(RESULTS)


def test_every_method_stands_beside_training_on_real_and_the_base_rate() -> None:
    for cohort in ("physionet2012", "pbc"):
        assert set(RESULTS.methods(cohort)) == {*METHODS, "train on real", "base rate"}
        assert {"1", "4", "12"} <= set(RESULTS.settings(cohort))
        assert len(RESULTS.seeds(cohort)) == 5


def test_each_cohort_shows_utility_subgroups_fidelity_and_attacks_of_every_method() -> None:
    page = real_text(RESULTS)
    for title in ("Utility", "Subgroups", "Fidelity", "Attacks"):
        assert page.count(f"### {title}") == 2
    tables = [part for part in page.split("\n\n") if part.startswith("| Method")]
    assert len(tables) == 10
    for table in tables:
        for method in METHODS:
            rows = re.findall(rf"^\| \**{look(method).label}\** ", table, re.MULTILINE)
            assert len(rows) == (3 if look(method).private else 1)
        assert "| Train on real |" in table
        assert ("| Base rate |" in table) == ("AUPRC" in table or "Events judged" in table)
        assert not re.search(r"[a-z]+_[a-z]+", table), "a column without a name for readers"


def test_groups_with_few_events_are_named() -> None:
    warnings = re.findall(r"^> .*: (.*?)\. ", real_text(RESULTS), re.MULTILINE)
    assert [w.split("; ")[:2] for w in warnings] == [["women, CSRU"], ["under 60", "60 or older"]]
