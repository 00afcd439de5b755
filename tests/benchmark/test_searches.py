"""Methods have the settings that recorded searches found best, on development seeds alone."""

from pathlib import Path
from typing import Any

import pytest

from longsynth.benchmark.results import Results, read_results
from longsynth.benchmark.worlds import world
from longsynth.methods.private.copula.rules import LITTLE, MUCH
from longsynth.methods.private.markov_rule import SMOOTHED, Rule

pytestmark = pytest.mark.usefixtures("scripts")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def chosen(name: str, search: Any) -> str:
    """What the search chose, every setting having been tried."""
    results: Results = read_results(RESULTS / f"{name}.parquet")
    assert set(results.methods("search")) == set(search.settings)
    assert {row.seed for row in results.rows} <= set(range(101, 121))
    return str(search.chosen(results))


def test_the_smoothed_rule_of_dp_markov_is_the_best_of_those_judged_again() -> None:
    import search_dp_markov as script  # type: ignore[import-not-found]

    assert script.settings()[chosen("search_dp_markov", script.SEARCH)] == SMOOTHED


def test_dp_markov_itself_is_the_plain_chain_that_the_search_began_with() -> None:
    import search_dp_markov as script

    assert script.settings()["old"] == Rule()


def test_the_shares_of_copula_score_are_the_best_of_those_judged_again() -> None:
    import search_copula as script  # type: ignore[import-not-found]

    choices = script.settings()[chosen("search_copula", script.SEARCH)]
    assert choices.little == pytest.approx(LITTLE)
    assert choices.much == pytest.approx(MUCH)


@pytest.mark.parametrize("method", ["trust", "dp-score"])
def test_what_is_called_tuned_is_the_best_of_those_judged_again(method: str) -> None:
    import search_constants as script  # type: ignore[import-not-found]

    search = script.search(method, world("simulated").schema)
    assert script.CHOSEN[method] == chosen(f"search_{method.replace('-', '_')}", search)


def test_a_radius_is_the_same_part_of_every_schema() -> None:
    import search_constants as script

    schema = world("simulated").schema
    tuned = {"clip_radius": 0.5, "encoding": "reference"}
    found = dict(script.constants(tuned, schema))
    assert found["clip_radius"] ** 2 == pytest.approx(schema.slots * len(schema.variables) / 4)
    assert found["encoding"] == "reference"
