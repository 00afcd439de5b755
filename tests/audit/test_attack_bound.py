"""What a budget allows an attacker, against attackers whose success is known exactly."""

from math import e, sqrt

import pytest
from scipy.stats import norm

from longsynth.audit.attacks.canary import AttackBound, attack_bound
from longsynth.privacy.budget import Budget


def test_one_pure_pair_gives_the_areas_worked_out_by_hand() -> None:
    pure = AttackBound(((e, 0.0),))
    assert pure.most(0.1) == pytest.approx(0.1 * e)
    assert pure.most(0.9) == pytest.approx(1 - 0.1 / e)
    assert pure.between_people == pytest.approx(e / (1 + e))
    # two lines that meet at 1/(1+e): 0.5·(1/(1+e))·(e/(1+e)) + 0.5·(e/(1+e))·(1 + e/(1+e))
    assert pure.between_fits == pytest.approx(e / (1 + e), abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("copies", [1, 4])
def test_the_best_attacker_on_gaussian_noise_stays_within_and_comes_near(
    epsilon: float, copies: int
) -> None:
    budget = Budget(epsilon, 1e-5)
    mu, allowed = copies * sqrt(2 * budget.rho), attack_bound(budget, copies)
    between_fits, between_people = norm.cdf(mu / sqrt(2)), norm.cdf(mu / 2)
    assert between_fits <= allowed.between_fits < between_fits + 0.08
    assert between_people <= allowed.between_people < between_people + 0.15
    for rate in (1e-3, 0.05, 0.5):
        assert norm.cdf(norm.ppf(rate) + mu) <= allowed.most(rate) <= 1.0


def test_a_group_is_promised_less_and_a_smaller_budget_more() -> None:
    one, four = (attack_bound(Budget(1.0, 1e-5), copies).between_fits for copies in (1, 4))
    tight = attack_bound(Budget(0.1, 1e-5)).between_fits
    assert 0.5 < tight < one < four < 1
    assert attack_bound(Budget(100.0, 1e-5), 4).between_fits <= 1.0
