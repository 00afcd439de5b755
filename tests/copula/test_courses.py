"""Hints on how a variable moves: static and slow variables, whatever the noise says."""

import numpy as np
import pytest

from longsynth.fit import fit
from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.copula_score.courses import even_steps, held, slow_memory
from longsynth.methods.copula_score.features import Lags
from longsynth.methods.copula_score.latent import toeplitz, within
from longsynth.methods.copula_score.nearest import halves_of, nearest, whole_of
from longsynth.plan import plan_of
from longsynth.privacy.budget import Budget
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.sample import sample
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema

LAGS = Lags(8, 3)


def hinted(course: str) -> Schema:
    """The simulated population, with a hint on its first variable."""
    schema = simulated_schema()
    first = schema.variables[0].model_copy(update={"course": course})
    return schema.model_copy(update={"variables": (first, *schema.variables[1:])})


def generated(course: str) -> Synthetic:
    schema = hinted(course)
    planned = plan_of(CopulaScore(), schema, 120, Budget(1.0, 1e-5))
    bundle = fit(simulate(120, seed=3), planned)
    return sample(CopulaScore().model(bundle), 200, seed=1)


def steps_over_spread(made: Synthetic) -> float:
    """The usual step from slot to slot, in standard deviations between patients."""
    values = made.values[:, :, 0]
    return float(np.abs(np.diff(values, axis=1)).mean() / values[:, 0].std())


def test_a_static_variable_over_time_is_the_same_in_every_slot() -> None:
    values = generated("static").values
    assert (values[:, :, 0] == values[:, :1, 0]).all()
    assert len(np.unique(values[:, 0, 0])) > 10  # patients still differ
    assert (values[:, :, 1] != values[:, :1, 1]).any()


def test_a_slow_variable_takes_small_steps_and_a_fast_one_need_not() -> None:
    """Noise is random: over eight draws slow steps were at most 0.06, fast ones at least 0.27."""
    assert steps_over_spread(generated("slow")) < 0.15 < steps_over_spread(generated("fast"))


def test_releases_without_noise_overrule_the_hint_and_noisy_ones_do_not() -> None:
    seen = LAGS.membership @ 0.7 ** np.arange(8)
    sure, unsure = (slow_memory(seen, np.full(5, noise)[: len(seen)], LAGS) for noise in (0.01, 1))
    assert sure[1] == pytest.approx(0.7, abs=0.1)
    assert unsure[1] > 0.99


@pytest.mark.parametrize("memory", [np.ones(4), 0.99 ** np.arange(4)], ids=["static", "slow"])
def test_a_steady_channel_keeps_its_memory_in_an_impossible_matrix(memory: np.ndarray) -> None:
    """Correlations that contradict each other: like two that are unlike, and only for a slot."""
    correlations = np.zeros((4, 3, 3))
    correlations[0] = [[1, 0.9, 0.9], [0.9, 1, -0.5], [0.9, -0.5, 1]]
    correlations[:, 0, 0] = memory
    steady = np.array([True, False, False])
    means, mass = np.zeros((1, 4, 3)), np.ones(1)
    own = toeplitz(memory[:, None, None])
    with_hint = within(correlations, means, mass, steady, 1).matrix
    near = nearest(halves_of(toeplitz(correlations), 4), np.ones(12), 4)
    without = whole_of(near, 4)
    assert with_hint[::3, ::3] == pytest.approx(own, abs=1e-6)
    assert np.abs(without[::3, ::3] - own).max() > 0.1
    assert np.linalg.eigvalsh(with_hint)[0] > -1e-9


def test_what_is_as_wanted_already_is_left_as_it_is() -> None:
    covariance = toeplitz((0.5 ** np.arange(4))[:, None, None])
    assert held(covariance, covariance[None]) == pytest.approx(covariance, abs=1e-9)


def test_a_value_keeps_its_memory_whatever_the_marks_say() -> None:
    """Creatinine hardly changes; noise says that its mark is like it and like nothing else."""
    correlations = np.zeros((6, 3, 3))
    correlations[0] = [[1, 0.8, 0.8], [0.8, 1, -0.6], [0.8, -0.6, 1]]
    correlations[:, 0, 0] = 0.97 ** np.arange(6)
    made = within(correlations, np.zeros((1, 6, 3)), np.ones(1), np.zeros(3, bool), 1).matrix
    assert made[0, 3] / made[0, 0] == pytest.approx(0.97, abs=0.01)
    assert np.linalg.eigvalsh(made)[0] > -1e-9


def test_a_slow_variable_moves_no_faster_in_the_tail_of_its_marginal_than_elsewhere() -> None:
    rng = np.random.default_rng(1)
    latent = rng.normal(size=(500, 1)) + 0.05 * rng.normal(size=(500, 9))
    unit = latent**3  # steep for few patients
    usual = unit.std() / latent.std()
    even = even_steps(unit, latent, usual)
    assert (even.std(axis=1) <= usual * latent.std(axis=1) * (1 + 1e-9)).all()
    assert even.mean(axis=1) == pytest.approx(unit.mean(axis=1))
    flat = np.abs(latent[:, 0]) < 0.5
    assert (even[flat] == pytest.approx(unit[flat])) and flat.sum() > 100
    assert np.abs(np.diff(even)).max() < np.abs(np.diff(unit)).max() / 3
