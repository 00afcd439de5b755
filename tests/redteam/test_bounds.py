"""Bounds: what two samples show about ε, against known laws and against the accountant."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from longsynth.audit.game.trials import (
    Separation,
    counted_epsilon,
    gaussian_epsilon,
    separation,
    standard_error,
    trials_for,
)
from longsynth.privacy.budget import epsilon_of

DELTA = 1e-5


def two_sides(mu: float, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1, trials) * 7 + 3, rng.normal(0, 1, trials) * 7 + 3


@pytest.mark.parametrize("mu", [0.04, 0.25, 0.86, 2.2, 5.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12])
def test_the_epsilon_of_a_separation_is_the_accountants_from_below(mu: float, delta: float) -> None:
    claimed = epsilon_of(Fraction(mu * mu / 2), delta, "gaussian")
    shown = gaussian_epsilon(mu, delta)
    assert shown <= claimed
    assert shown == pytest.approx(claimed, rel=1e-4, abs=1e-6)


def test_no_separation_shows_no_epsilon_and_a_perfect_one_shows_any() -> None:
    assert gaussian_epsilon(0.0, DELTA) == 0.0
    assert gaussian_epsilon(inf, DELTA) == inf
    assert gaussian_epsilon(60.0, DELTA) > 1800


@pytest.mark.parametrize("mu", [0.0, 0.3, 2.0])
def test_a_measured_separation_is_unbiased_and_its_error_is_honest(mu: float) -> None:
    found = [separation(*two_sides(mu, 400, seed)) for seed in range(400)]
    errors = np.array([(one.mu - mu) / one.error for one in found])
    assert abs(errors.mean()) < 4 / np.sqrt(400)
    assert 0.87 < errors.std() < 1.13


@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_a_lower_limit_fails_as_often_as_it_says(mu: float) -> None:
    limits = [separation(*two_sides(mu, 200, seed)).at_least(0.05) for seed in range(600)]
    assert 12 <= sum(limit > mu for limit in limits) <= 52  # 30 expected


def test_a_lower_limit_falls_with_the_confidence_asked_for() -> None:
    found = Separation(0.5, standard_error(0.5, 1000), 1000)
    limits = [found.at_least(alpha) for alpha in (0.5, 0.05, 1e-3, 1e-6)]
    assert limits[0] == pytest.approx(0.5)
    assert limits == sorted(limits, reverse=True)
    assert Separation(0.5, 0.3, 10).at_least(1e-12) == 0.0


def test_sides_without_any_noise_lie_infinitely_far_apart() -> None:
    found = separation(np.full(10, 2.0), np.full(10, 1.0))
    assert found.mu == found.at_least(1e-6) == inf
    assert separation(np.zeros(10), np.zeros(10)).mu == 0.0


def test_as_many_trials_as_are_asked_for_bring_the_error_down() -> None:
    trials = trials_for(0.2, 0.006)
    assert standard_error(0.2, trials) <= 0.006 < standard_error(0.2, trials - 2)


def test_a_counted_bound_stays_below_the_true_epsilon() -> None:
    truth = gaussian_epsilon(1.0, DELTA)
    bounds = [counted_epsilon(*two_sides(1.0, 4000, s), DELTA, (0.05,))[0] for s in range(40)]
    assert max(bounds) < truth
    assert np.median(bounds) > 0.3 * truth  # and is no trivial one


def test_a_counted_bound_fails_no_oftener_than_it_says_where_it_can_be_tight() -> None:
    """Randomised response: a coin tells the truth with probability 3/4, ε = log 3 at δ = 0."""
    rng = np.random.default_rng(5)
    over = 0
    for _ in range(300):
        one, other = (rng.random(2000) < p for p in (0.75, 0.25))
        over += counted_epsilon(one * 1.0, other * 1.0, 0.0, (0.05,))[0] > np.log(3)
    assert over <= 30  # 15 expected at most


def test_a_counted_bound_sees_through_any_noise_that_does_not_hide() -> None:
    """A law that is far from normal: one side is never where the other always is."""
    one, other = np.full(2000, 1.0), np.full(2000, -1.0)
    shown, surely = counted_epsilon(one, other, DELTA, (0.05, 1e-6))
    assert shown > 5
    assert 3 < surely < shown


def test_both_directions_of_a_test_are_counted() -> None:
    """Only the lower tail tells these apart: a share of the other side is far below."""
    rng = np.random.default_rng(2)
    one, other = rng.normal(0, 1, 8000), rng.normal(0, 1, 8000)
    other[rng.random(8000) < 0.2] = -50
    assert counted_epsilon(one, other, DELTA, (0.05,))[0] > 4
