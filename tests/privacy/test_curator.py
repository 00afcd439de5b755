"""The account: charged before noise, refused before anything leaves, and complete."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from longsynth import fit
from longsynth.encoding.record import one_hot
from longsynth.plan import Plan
from longsynth.privacy.budget import Budget
from longsynth.privacy.curator import Curator, planned_ledger
from longsynth.privacy.errors import OverBudget
from longsynth.privacy.ledger import Ledger, price
from longsynth.privacy.noise import OPENDP
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Sums, add_up
from refusals import refused
from support import NoNoise, random_cohort, small_plan, small_schema

BUDGET = Budget(4.0, 1e-5, "zcdp")
COUNT = Statistic("cells", "patients by cell", "count", right=3)
OTHER = Statistic("other", "patients by cell", "count", right=3)


def counted(statistic: Statistic = COUNT, patients: int = 3) -> Sums:
    cell = np.arange(patients) % 3
    return add_up(statistic, Contribution(one_hot(cell, statistic.right)))


class Recorder:
    def __init__(self) -> None:
        self.calls: list[int] = []

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        self.calls.append(len(sums))
        return sums


def test_a_plan_that_spends_too_much_is_refused_whole() -> None:
    lines = [(COUNT, Fraction(1, 2)), (OTHER, Fraction(1, 2) + Fraction(1, 10**12))]
    with refused("over-budget", OverBudget):
        planned_ledger(lines, BUDGET, 3)


def test_shares_that_sum_to_one_spend_the_budget_exactly() -> None:
    lines = [(COUNT, Fraction(1, 3)), (OTHER, Fraction(2, 3))]
    assert planned_ledger(lines, BUDGET, 3).spent == BUDGET.rho


def test_the_ledger_is_charged_before_noise_is_drawn() -> None:
    planned = planned_ledger([(COUNT, Fraction(1))], BUDGET, 3)

    class Broken:
        def add(self, sums: np.ndarray, **_: float) -> np.ndarray:
            assert curator.ledger.spent == BUDGET.rho
            raise RuntimeError("the machine stops while drawing")

    curator = Curator(planned, Broken())
    with pytest.raises(RuntimeError):
        curator.release(counted())
    assert curator.ledger.spent == BUDGET.rho
    with refused("not-as-planned"):
        curator.release(counted())


@pytest.mark.parametrize("patients", [2, 4])
def test_a_sum_over_another_number_of_patients_draws_no_noise(patients: int) -> None:
    noise = Recorder()
    curator = Curator(planned_ledger([(COUNT, Fraction(1))], BUDGET, 3), noise)
    with refused("not-as-planned"):
        curator.release(counted(patients=patients))
    assert noise.calls == []
    assert curator.ledger.spent == 0


def test_what_is_not_in_the_plan_draws_no_noise() -> None:
    noise = Recorder()
    curator = Curator(planned_ledger([(COUNT, Fraction(1))], BUDGET, 3), noise)
    for foreign in (OTHER, replace(COUNT, right=4), replace(COUNT, meaning="else")):
        with refused("not-as-planned"):
            curator.release(counted(foreign))
    assert noise.calls == []


def test_a_statistic_leaves_once() -> None:
    curator = Curator(planned_ledger([(COUNT, Fraction(1, 2))], BUDGET, 3), NoNoise())
    curator.release(counted())
    with refused("not-as-planned"):
        curator.release(counted())


PLANS = {
    "trust": small_plan(40),
    "trust, joint": small_plan(40, small_schema(release="joint")),
    "copula-score": small_plan(40, method="copula-score"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_number_that_crosses_the_mechanism_is_in_the_ledger(plan: Plan) -> None:
    noise = Recorder()
    bundle = fit(random_cohort(40, 5), plan, noise=noise)
    assert noise.calls == [e.statistic.dimension for e in bundle.ledger.entries]
    assert [len(r.values) for r in bundle.released.values()] == noise.calls
    assert list(bundle.released) == [e.statistic.name for e in plan.ledger.entries]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_ledger_of_a_fit_equals_its_plan(plan: Plan) -> None:
    bundle = fit(random_cohort(40, 5), plan)
    assert bundle.ledger == plan.ledger
    assert bundle.ledger.noise == OPENDP


class StopsOnce(Recorder):
    """A machine that stops at its last line, and would go on if it were asked again."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines

    def add(self, sums: np.ndarray, **scales: float) -> np.ndarray:
        found = super().add(sums, **scales)
        if len(self.calls) == self.lines:
            raise RuntimeError("the machine stops while drawing")
        return found


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_fit_that_stops_while_drawing_draws_nothing_again(plan: Plan) -> None:
    """Its lines are charged: another draw of any would have to be paid for."""
    noise = StopsOnce(len(plan.ledger.entries))
    with pytest.raises(RuntimeError, match="stops while drawing"):
        fit(random_cohort(40, 5), plan, noise=noise)
    assert len(noise.calls) == noise.lines


def test_foreign_noise_marks_the_ledger_test_only() -> None:
    class OpenDPNoise(NoNoise):
        """The same name does not help."""

    bundle = fit(random_cohort(40, 5), small_plan(40), noise=OpenDPNoise())
    assert bundle.ledger.noise == "TEST-ONLY: OpenDPNoise"


def test_noise_is_never_smaller_than_its_price() -> None:
    for epsilon in (0.01, 0.1, 1, 4, 12, 50):
        for accounting in ("paper", "zcdp", "gaussian"):
            for share in (Fraction(1), Fraction(3, 100), Fraction(1, 7)):
                budget = Budget(epsilon, 1e-5, accounting)
                entry = price(COUNT, share, budget)
                assert entry.rho == share * budget.rho
                cost = COUNT.sensitivity_squared / (2 * Fraction(entry.sigma) ** 2)
                assert cost <= entry.rho <= cost * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1, 2)])
def test_a_share_must_be_positive(share: Fraction) -> None:
    with refused("statistic-unusable"):
        price(COUNT, share, BUDGET)


def test_disclosing_is_exact_and_marks_everything_not_private() -> None:
    curator = Curator(Ledger(None, 3))
    disclosed = curator.disclose("records", "everything", np.array([5, 7]))
    assert disclosed.values.tolist() == [5, 7]
    assert not curator.ledger.private
    assert curator.ledger.noise == "NOT PRIVATE"


def test_one_disclosure_spoils_a_private_fit() -> None:
    curator = Curator(planned_ledger([(COUNT, Fraction(1, 2))], BUDGET, 3), NoNoise())
    curator.release(counted())
    assert curator.ledger.private
    curator.disclose("records", "everything", np.array([5, 7]))
    assert not curator.ledger.private


def test_nothing_can_be_released_without_a_budget() -> None:
    with refused("not-as-planned"):
        Curator(Ledger(None, 3)).release(counted())


def test_exact_accounting_is_refused_where_the_noise_is_too_coarse() -> None:
    budget = Budget(1.0, 1e-5, "gaussian")
    fine = price(COUNT, Fraction(1), budget)
    Ledger(budget, 3, (fine,)).require_fine_noise()
    for sigma in (5.0, 1000.0):
        coarse = Ledger(budget, 3, (replace(fine, sigma=sigma),))
        with refused("noise-too-coarse"):
            coarse.require_fine_noise()
    many = replace(COUNT, right=10**6)
    with refused("noise-too-coarse"):
        Ledger(budget, 3, (replace(fine, statistic=many, sigma=2.0**17),)).require_fine_noise()


def test_what_is_raw_cannot_be_planned() -> None:
    raw = Statistic("records", "everything", "raw", right=3)
    with refused("statistic-unusable"):
        planned_ledger([(raw, Fraction(1))], BUDGET, 3)


def test_a_statistic_without_a_radius_cannot_exist() -> None:
    with refused("statistic-unusable"):
        Statistic("x", "x", "gram", right=3, right_squared=0)


def test_a_plan_needs_a_patient() -> None:
    for patients in (0, -1):
        with refused("no-patients"):
            small_plan(patients)
