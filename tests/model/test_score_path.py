"""The score path ends at N(μ̂, Σ̂), whatever the number of steps (eq:score, eq:transport)."""

import numpy as np
import pytest

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.moments import Spectrum, clipped_spectrum
from longsynth.sampling.score import ScorePath, noise_levels
from support import small_schema

SCHEMA = small_schema().resolved(100)
D = SCHEMA.width


class Fixed:
    """A generator whose standard normals are given: the path is linear, so unit vectors suffice."""

    def __init__(self, draws: np.ndarray) -> None:
        self.draws = draws

    def standard_normal(self, shape: tuple[int, ...], _: type) -> np.ndarray:
        assert shape == self.draws.shape
        return self.draws


def covariance() -> Spectrum:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(D, D))
    return clipped_spectrum(factor @ factor.T / D, 1e-3, 40.0)


def path(steps: int, **more: object) -> ScorePath:
    means = np.random.default_rng(1).normal(size=(2, D))
    levels = noise_levels(steps, 40.0)
    return ScorePath(means, covariance(), levels, Scaling(SCHEMA), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("steps", [1, 2, 20, 300])
def test_the_end_point_has_the_modelled_mean_and_covariance_to_numerical_precision(
    steps: int,
) -> None:
    p = path(steps)
    centre = p.encoded(np.array([1]), Fixed(np.zeros((1, D))))  # type: ignore[arg-type]
    assert centre[0] == pytest.approx(p.means[1], abs=1e-12)
    ones = p.encoded(np.ones(D, np.int64), Fixed(np.eye(D))) - p.means[1]  # type: ignore[arg-type]
    assert ones.T @ ones == pytest.approx(p.spectrum.matrix, abs=1e-12)


def test_draws_in_single_precision_end_where_the_same_in_double_do() -> None:
    p, stratum = path(20), np.arange(2000) % 2
    draws = np.random.default_rng(3).standard_normal((2000, D), np.float32)
    single = p.encoded(stratum, Fixed(draws))  # type: ignore[arg-type]
    double = p.encoded(stratum, Fixed(draws.astype(np.float64)))  # type: ignore[arg-type]
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert single == pytest.approx(double, abs=2e-5)  # where a spread is up to 3
    assert np.array_equal(p.encoded(stratum, np.random.default_rng(3)), single)


def test_a_correction_that_does_nothing_changes_nothing() -> None:
    draws = np.random.default_rng(2).normal(size=(5, D))
    stratum = np.array([0, 1, 0, 1, 1])
    plain = path(20).encoded(stratum, Fixed(draws))  # type: ignore[arg-type]
    idle = path(20, corrections=(lambda z, mean, level: z,))
    assert idle.encoded(stratum, Fixed(draws)) == pytest.approx(plain, abs=1e-10)  # type: ignore[arg-type]


def test_a_correction_acts_after_every_step_down_to_level_zero() -> None:
    seen: list[int] = []

    def cap(z: np.ndarray, mean: np.ndarray, level: int) -> np.ndarray:
        seen.append(level)
        return np.minimum(z, mean)

    p = path(4, corrections=(cap,))
    z = p.encoded(np.zeros(3, np.int64), np.random.default_rng(0))
    assert seen == [3, 2, 1, 0]
    assert (z <= p.means[0] + 1e-12).all()


def test_the_score_is_the_gradient_of_the_log_density() -> None:
    p = path(5)
    rng = np.random.default_rng(3)
    z, mean, h = rng.normal(size=(1, D)), p.means[:1], 1e-6
    sigma = p.spectrum.matrix + p.levels[2] ** 2 * np.eye(D)

    def log_density(x: np.ndarray) -> float:
        d = (x - mean)[0]
        return float(-0.5 * d @ np.linalg.solve(sigma, d))

    numeric = [(log_density(z + h * e) - log_density(z - h * e)) / (2 * h) for e in np.eye(D)]
    assert p.score(z, mean, 2)[0] == pytest.approx(numeric, rel=1e-5, abs=1e-6)


def test_a_step_follows_the_score_flow() -> None:
    """For a tiny step, eq:transport is the probability flow dz = -½ d(σ²) · score."""
    p = path(1)
    near = ScorePath(p.means, p.spectrum, np.array([0.0, 0.5, 0.5001]), p.scaling)
    z, mean = np.random.default_rng(4).normal(size=(1, D)), p.means[:1]
    basis = p.spectrum.vectors
    moved = mean + ((z - mean) @ basis * near.transport(2)) @ basis.T
    flow = z - 0.5 * (0.5**2 - 0.5001**2) * near.score(z, mean, 2)
    assert moved == pytest.approx(flow, abs=1e-7)
    assert moved != pytest.approx(z, abs=1e-5)


def test_levels_rise_from_zero() -> None:
    levels = noise_levels(20, 9.0)
    assert levels[0] == 0
    assert levels[-1] == pytest.approx(6.0)
    assert (np.diff(levels) > 0).all()
    assert len(levels) == 21
