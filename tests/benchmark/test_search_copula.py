"""copula-score has the shares that its recorded search found best, on development seeds alone."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import search_copula  # type: ignore[import-not-found]

    yield search_copula
    sys.modules.pop("search_copula")
    sys.modules.pop("search")


def test_the_shares_are_those_that_the_search_chose(search: Any) -> None:
    from longsynth.benchmark.results import read_results
    from longsynth.methods.private.copula.rules import LITTLE, MUCH

    results = read_results(ROOT / "benchmarks" / "results" / "search_copula.parquet")
    tried = search.settings()
    assert set(results.methods("search")) == set(tried)
    chosen = tried[search.SEARCH.chosen(results)]
    assert chosen.little == pytest.approx(LITTLE)
    assert chosen.much == pytest.approx(MUCH)
    assert {row.seed for row in results.rows} <= set(range(101, 121))
