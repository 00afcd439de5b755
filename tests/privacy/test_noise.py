"""Noise as it is drawn: law, independence, freshness. Fails at p < 1e-6, so not by chance."""

import multiprocessing
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from longsynth import fit
from longsynth.audit.game.neighbours import noise_requests
from longsynth.plan import Plan
from longsynth.privacy.noise import OpenDPNoise
from longsynth.reading.records import Cohort
from support import random_cohort, small_plan, small_schema

ALPHA = 1e-6


def drawn(n: int, sigma: float) -> np.ndarray:
    noise = OpenDPNoise().add(np.zeros(n, np.int64), sigma=sigma, sensitivity=1.0, rho=1.0)
    assert noise.shape == (n,)
    return noise


def test_draws_follow_the_discrete_gaussian_pmf() -> None:
    sigma, n = 3.0, 20_000
    support = np.arange(-60, 61)
    pmf = np.exp(-(support**2) / (2 * sigma**2))
    pmf /= pmf.sum()
    inner = np.abs(support) <= 11
    seen = drawn(n, sigma)
    observed = [(seen == k).sum() for k in support[inner]]
    expected = n * pmf[inner]
    rest = n - sum(observed), n - expected.sum()
    result = stats.chisquare([*observed, rest[0]], [*expected, rest[1]])
    assert result.pvalue > ALPHA


def test_large_scales_have_the_right_variance() -> None:
    sigma, n = 2.0**40, 20_000
    z = drawn(n, sigma) / sigma
    statistic = (z**2).sum()
    assert ALPHA < stats.chi2.cdf(statistic, n) < 1 - ALPHA
    assert stats.kstest(z, "norm").pvalue > ALPHA
    beyond = int((np.abs(z) > 3).sum())
    assert stats.binomtest(beyond, n, 2 * stats.norm.sf(3)).pvalue > ALPHA, "the tails"


PLANS = {
    "trust": small_plan(60),
    "trust, joint": small_plan(60, small_schema(release="joint")),
    "copula-score": small_plan(60, method="copula-score"),
}


def noise_of(cohort: Cohort, plan: Plan) -> dict[str, np.ndarray]:
    """Fit, and say what was added to each line: a later pass is counted again, without noise, from
    what the earlier ones released."""
    found = {name: line.values for name, line in fit(cohort, plan).released.items()}
    exact = noise_requests(cohort, plan, list(found.values()))
    return {
        name: noised - sums.sums for (name, noised), sums in zip(found.items(), exact, strict=True)
    }


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_line_of_a_fit_carries_exactly_the_noise_it_is_charged_for(plan: Plan) -> None:
    cohort = random_cohort(60, 3)
    fits = [noise_of(cohort, plan) for _ in range(8)]
    for name, entry in ((e.statistic.name, e) for e in plan.ledger.entries):
        noise = np.array([found[name] for found in fits])
        z = noise / entry.sigma  # (fits, numbers)
        chance = stats.chi2.cdf((z**2).sum(), z.size)
        assert ALPHA / 10 < chance < 1 - ALPHA / 10, name  # one of some ten lines
        assert (noise != 0).any(axis=0).all(), f"{name}: a number without noise"
        again = len(fits) * (z.mean(axis=0) ** 2)  # each number is centred at the truth
        assert stats.chi2.sf(again.sum(), len(again)) > ALPHA / 10, name


@pytest.mark.parametrize("plan", [PLANS["trust"], PLANS["copula-score"]], ids=["trust", "copula"])
def test_noise_is_fresh_across_lines_and_fits(plan: Plan) -> None:
    cohort, sigma = random_cohort(60, 3), {e.statistic.name: e.sigma for e in plan.ledger.entries}
    scaled = []
    for _ in range(2):
        scaled += [noise / sigma[name] for name, noise in noise_of(cohort, plan).items()]
    pairs = list(combinations((line for line in scaled if len(line) > 3), 2))
    assert len(pairs) > 50
    for one, other in pairs:
        n = min(len(one), len(other))
        assert stats.pearsonr(one[:n], other[:n]).pvalue > ALPHA / len(pairs)


def _draw_in_child(queue: "multiprocessing.Queue[list[int]]") -> None:
    queue.put(drawn(50, 2.0**30).tolist())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_do_not_repeat_each_others_noise() -> None:
    drawn(1, 2.0)  # whatever state there is, it is warm before the fork
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    workers = [context.Process(target=_draw_in_child, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    first, second = queue.get(timeout=60), queue.get(timeout=60)
    for worker in workers:
        worker.join()
    assert not set(first) & set(second)


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_opendp_itself_refuses_noise_that_costs_more_than_the_ledger_says(sigma: float) -> None:
    with pytest.raises(AssertionError, match="higher than the ledger"):
        OpenDPNoise().add(np.zeros(3, np.int64), sigma=sigma, sensitivity=1.0, rho=1.0)
