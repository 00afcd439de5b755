"""The paper's methods meet the flagship with the constants that a recorded search found best."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longsynth.benchmark.results import read_results
from longsynth.benchmark.worlds import world

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import search_constants  # type: ignore[import-not-found]

    yield search_constants
    sys.modules.pop("search_constants")
    sys.modules.pop("search")


@pytest.mark.parametrize("method", ["trust", "dp-score"])
def test_what_is_called_tuned_is_the_best_of_those_judged_again(method: str, script: Any) -> None:
    name = f"search_{method.replace('-', '_')}.parquet"
    results = read_results(ROOT / "benchmarks" / "results" / name)
    search = script.search(method, world("simulated").schema)
    assert set(results.methods("search")) == set(script.settings(method))
    assert script.CHOSEN[method] == search.chosen(results)
    assert {row.seed for row in results.rows} <= set(range(101, 121))


def test_a_radius_is_the_same_part_of_every_schema(script: Any) -> None:
    schema = world("simulated").schema
    found = dict(script.constants({"clip_radius": 0.5, "encoding": "reference"}, schema))
    assert found["clip_radius"] ** 2 == pytest.approx(schema.slots * len(schema.variables) / 4)
    assert found["encoding"] == "reference"
