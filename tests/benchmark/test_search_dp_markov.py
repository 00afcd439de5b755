"""dp-markov's rule is the one that its recorded search found best, on development seeds alone."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import search_dp_markov  # type: ignore[import-not-found]

    yield search_dp_markov
    sys.modules.pop("search_dp_markov")


def test_the_rule_is_the_best_of_those_judged_again(search: object) -> None:
    from longsynth.benchmark.results import read_results
    from longsynth.methods.private.dp_markov import Rule

    results = read_results(ROOT / "benchmarks" / "results" / "search_dp_markov.parquet")
    rules = search.settings()  # type: ignore[attr-defined]
    assert set(results.methods("search")) == set(rules)
    again = results.methods("again")
    best = min(again, key=lambda name: search.SEARCH.loss(results, "again", name))  # type: ignore[attr-defined]
    assert rules[best] == Rule()
    assert {row.seed for row in results.rows} <= set(range(101, 121))
