"""The release folder closes: what stands in it crossed the mechanism, and the account covers it."""

import json
from fractions import Fraction
from math import isclose, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.rdp import RdpAccountant

from longsynth import load_release, run_fit
from longsynth.govern.book import init_book
from longsynth.privacy.budget import Budget
from longsynth.privacy.noise import OpenDPNoise
from support import random_cohort, small_plan, small_schema, write_checked

FILES = ["STATEMENT.md", "ledger.json", "manifest.json", "schema.yaml", "statistics.json"]
N, EPSILON, DELTA = 60, 4.0, 1e-5
PROMISE = {"epsilon": EPSILON, "delta": DELTA, "accounting": "zcdp"}


@pytest.fixture(scope="module", params=["trust", "copula-score"])
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory, method: str) -> tuple[Path, list[list[int]]]:
    """A release folder, and what the mechanism let out for it, call by call."""
    folder, crossed = tmp_path_factory.mktemp("closure"), []
    honest = OpenDPNoise.add

    def watched(self: OpenDPNoise, sums: np.ndarray, **scales: float) -> np.ndarray:
        noised = honest(self, sums, **scales)
        crossed.append(noised.tolist())
        return noised

    (folder / "cohort").mkdir()
    write_checked(folder / "cohort", small_schema(), [random_cohort(N, seed=4)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenDPNoise, "add", watched)
        run_fit(folder / "cohort", folder / "run", method=method, **PROMISE)
    return folder / "run" / "release", crossed


@pytest.fixture
def stated(fitted: tuple[Path, list[list[int]]]) -> dict[str, Any]:
    account: dict[str, Any] = json.loads((fitted[0] / "ledger.json").read_text())
    return account


def test_the_integers_of_a_release_are_those_that_crossed_the_mechanism(
    fitted: tuple[Path, list[list[int]]], method: str
) -> None:
    release, crossed = fitted
    assert sorted(path.name for path in release.iterdir()) == FILES
    integers = json.loads((release / "statistics.json").read_text())
    assert list(integers.values()) == crossed
    planned = [e.statistic for e in small_plan(N, method=method).ledger.entries]
    assert list(integers) == [s.name for s in planned]
    assert [len(numbers) for numbers in crossed] == [s.dimension for s in planned]
    assert {n: r.values.tolist() for n, r in load_release(release).released.items()} == integers


def test_the_account_of_a_release_states_no_cost_below_the_true_one(
    stated: dict[str, Any],
) -> None:
    total = Fraction(0)
    for line in stated["entries"]:
        exact = line["exact"]
        cost = Fraction(exact["sensitivity_squared"]) / (2 * Fraction(exact["sigma"]) ** 2)
        total += cost
        assert cost <= Fraction(exact["rho"])
        assert isclose(line["rho"], float(Fraction(exact["rho"])), rel_tol=1e-12)
        assert isclose(line["sensitivity"] ** 2 / (2 * line["sigma"] ** 2), cost, rel_tol=1e-9)
    assert total <= Fraction(stated["exact_total_rho"])
    assert isclose(total, stated["total_rho"], rel_tol=1e-9)
    assert isclose(sum(line["rho"] for line in stated["entries"]), total, rel_tol=1e-9)


def test_the_epsilons_of_a_release_are_those_of_other_peoples_accountants(
    stated: dict[str, Any],
) -> None:
    lines = [line["exact"] for line in stated["entries"]]
    costs = [Fraction(x["sensitivity_squared"]) / (2 * Fraction(x["sigma"]) ** 2) for x in lines]
    rho = float(sum(costs))
    accountant = RdpAccountant(
        [1 + x / 1000 for x in range(1, 60_000, 7)], NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    for cost in costs:  # line by line, so that the sum is theirs
        accountant.compose(GaussianDpEvent(1 / sqrt(2 * cost)))
    found = stated["epsilon_under"]
    assert isclose(accountant.get_epsilon(DELTA), found["zcdp"], rel_tol=1e-6)
    assert isclose(rho + 2 * sqrt(rho * log(1 / DELTA)), found["paper"], rel_tol=1e-9)
    assert isclose(found["zcdp"], EPSILON, rel_tol=1e-9)
    assert (stated["epsilon"], stated["delta"], stated["patients"]) == (EPSILON, DELTA, N)


class Stopped:
    """A machine that stops while it draws."""

    def add(self, sums: np.ndarray, **_: float) -> np.ndarray:
        raise RuntimeError("stopped")


def test_a_fit_that_stops_while_drawing_has_been_charged_to_its_book_and_all_above(
    tmp_path: Path,
) -> None:
    book = init_book(tmp_path / "book")
    book.grant("hospital", Budget(8.0, DELTA))
    book.grant("ward", Budget(8.0, DELTA), "hospital")
    (tmp_path / "cohort").mkdir()
    write_checked(tmp_path / "cohort", small_schema(), [random_cohort(N, seed=4)])
    charged = {"book": book.path, "dataset": "ward", "epsilon": EPSILON, "delta": DELTA}
    with pytest.raises(RuntimeError, match="stopped"):
        run_fit(tmp_path / "cohort", tmp_path / "run", **charged, noise=Stopped())
    accounts = book.read().balance.accounts
    assert {name: s.spent for name, s in accounts.items()} == dict.fromkeys(
        ("hospital", "ward"), Budget(EPSILON, DELTA).rho
    )
