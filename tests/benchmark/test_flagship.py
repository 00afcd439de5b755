"""The flagship's runner and page: cells are kept, targets can be missed, losses are named."""

from pathlib import Path

import pytest

from longsynth.benchmark.cells import Cell, Kept, cells, setting
from longsynth.benchmark.experiments import BASE_RATE, TRAIN_ON_REAL
from longsynth.benchmark.flagship_page import flagship_text
from longsynth.benchmark.making import planned, with_constants
from longsynth.benchmark.results import Results, Row, read_results
from longsynth.benchmark.targets import FLAGSHIP, outcome, targets
from longsynth.benchmark.worlds import world
from longsynth.errors import Refused
from longsynth.methods.registry import private_method
from longsynth.plan import plan
from longsynth.simulate import simulate, simulated_schema

ROOT = Path(__file__).parents[2]


def rows(method: str, epsilon: float, metric: str, values: list[float]) -> list[Row]:
    label = setting(504, epsilon)
    return [Row("simulated", method, s, label, metric, v) for s, v in enumerate(values)]


def entry(metric: str, epsilon: float, results: Results) -> bool | None:
    chosen = next(
        t
        for t in targets()
        if (t.experiment, t.epsilon, t.metric) == ("simulated", epsilon, metric)
    )
    return outcome(results, chosen).reached


def test_a_number_is_reached_missed_or_not_run() -> None:
    assert entry("marginal_ks", 12, Results([])) is None
    good = Results(rows(FLAGSHIP, 12, "marginal_ks", [0.02, 0.023]))
    bad = Results(rows(FLAGSHIP, 12, "marginal_ks", [0.022, 0.023]))
    assert entry("marginal_ks", 12, good) is True
    assert entry("marginal_ks", 12, bad) is False


def test_another_row_is_the_limit_where_the_table_says_so() -> None:
    ours = rows(FLAGSHIP, 1, "auprc", [0.30, 0.32])
    below, above = (rows("trust", 12, "auprc", [level, level]) for level in (0.30, 0.32))
    assert entry("auprc", 1, Results(ours)) is None
    assert entry("auprc", 1, Results(ours + below)) is True
    assert entry("auprc", 1, Results(ours + above)) is False


def test_a_method_under_several_rules_is_held_against_its_best() -> None:
    ours = rows(FLAGSHIP, 12, "auprc", [0.30, 0.32])
    tuned = rows("dp-markov", 12, "auprc", [0.2, 0.2])
    other = rows("dp-markov, for AUPRC alone", 12, "auprc", [0.4, 0.4])
    assert entry("auprc", 12, Results(ours + tuned)) is True
    assert entry("auprc", 12, Results(ours + tuned + other)) is False


def test_a_loss_is_named_and_a_gain_is_not() -> None:
    found = rows(FLAGSHIP, 12, "auprc", [0.30, 0.31, 0.32])
    found += rows("trust", 12, "auprc", [0.20, 0.22, 0.21])
    found += rows("dp-markov", 12, "auprc", [0.40, 0.42, 0.41])
    text = flagship_text(Results(found)).splitlines()
    (line,) = (one for one in text if "Losses" in one)
    (head,) = (one for one in text if one.startswith("- Simulated patients, 504 patients:"))
    for told in (line, head):
        assert "AUPRC at ε = 12 against DP-Markov" in told
        assert "TRUST" not in told


def test_a_loss_in_any_metric_that_is_shown_is_told() -> None:
    found = rows(FLAGSHIP, 12, "missingness_error", [0.30, 0.31, 0.32])
    found += rows("dp-score", 12, "missingness_error", [0.20, 0.22, 0.21])
    found += rows(FLAGSHIP, 12, "auprc", [0.3] * 3) + rows("dp-score", 12, "auprc", [0.3] * 3)
    assert "Missingness error at ε = 12 against DP-Score" in flagship_text(Results(found))


def test_what_has_no_budget_stands_once_and_takes_no_constants() -> None:
    given = (("event_floor", 0.0),)
    grid = list(
        cells("simulated", ["trust", TRAIN_ON_REAL, BASE_RATE], [504], [1, 2], [7], constants=given)
    )
    assert [(c.method, c.epsilon) for c in grid] == [
        ("trust", 1),
        ("trust", 2),
        (TRAIN_ON_REAL, 0),
        (BASE_RATE, 0),
    ]
    assert [bool(c.constants) for c in grid] == [True, True, False, False]


def test_a_finished_cell_is_kept_and_another_constant_is_another_cell(tmp_path: Path) -> None:
    cell = Cell("simulated", "trust", 504, 12.0, 101)
    other = Cell("simulated", "trust", 504, 12.0, 101, (("event_floor", 0.0),))
    Kept(tmp_path / "found.parquet").add(cell.key, {"auprc": 0.25})
    again = Kept(tmp_path / "found.parquet")
    assert cell.key in again.done
    assert other.key not in again.done
    again.add(other.key, {"auprc": 0.5})
    assert len(read_results(tmp_path / "found.parquet").rows) == 2


def test_a_constant_is_checked_like_a_schemas() -> None:
    assert with_constants(simulated_schema(), {"bandwidth": 5}).constants.bandwidth == 5
    with pytest.raises((ValueError, Refused)):
        with_constants(simulated_schema(), {"bandwidth": -1})


def test_a_second_factor_changes_breathing_alone_and_one_factor_nothing() -> None:
    plain, one, two = simulate(50, seed=3), *(simulate(50, seed=3, factors=f) for f in (1, 2))
    seen = plain.observed
    assert (plain.values[seen] == one.values[seen]).all()
    assert (plain.event == one.event).all()
    assert (seen == two.observed).all()
    same = (plain.values == two.values)[seen.any(axis=2)].any(axis=0)
    apart = [(plain.values[:, :, v] != two.values[:, :, v])[seen[:, :, v]].any() for v in range(6)]
    assert apart == [False, True, True, False, False, True], same


def test_wrong_references_move_what_methods_are_told_and_nothing_else() -> None:
    right, wrong = world("simulated"), world("wrong references")
    assert wrong.judge is right.judge
    before, after = right.schema.variables[0], wrong.schema.variables[0]
    assert (before.centre, before.scale) == (80, 20)
    assert (after.centre, after.scale) == (95, 30)
    assert world("generic references").schema.variables[0].centre is None


def test_what_is_missed_without_noise_too_is_laid_to_the_model() -> None:
    missed = rows(FLAGSHIP, 12, "marginal_ks", [0.03, 0.031])
    model = flagship_text(Results(missed + rows(FLAGSHIP, 100, "marginal_ks", [0.025, 0.026])))
    noise = flagship_text(Results(missed + rows(FLAGSHIP, 100, "marginal_ks", [0.015, 0.016])))
    assert "so the model limits it" in model
    assert "so noise limits it" in noise


def test_the_page_says_what_the_results_say() -> None:
    results = ROOT / "benchmarks" / "results"
    found = read_results(results / "flagship.parquet")
    earlier = [read_results(path) for path in sorted(results.glob("flagship_earlier_*.parquet"))]
    page = (ROOT / "docs" / "flagship.md").read_text(encoding="utf-8")
    assert page == flagship_text(found, earlier)


def test_the_benchmark_plans_as_a_user_does() -> None:
    """Radii and shares follow from the budget: a benchmark of other ones would say nothing."""
    ours = planned(private_method(FLAGSHIP), simulated_schema(), 504, epsilon=2)
    theirs = plan(
        simulated_schema(), 504, epsilon=2, delta=1e-5, method=FLAGSHIP, accounting="gaussian"
    )
    assert ours.schema == theirs.schema
    assert ours.ledger == theirs.ledger
