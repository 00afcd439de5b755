"""Marginals: a known distribution comes back, noise leaves the prior, chances are chances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.methods.copula_score.cells import Cells, Marginal, marginal

WAVES = 20
SKEWED = np.array([0.5, 0.2, 0.15, 0.1, 0.05])


def two_humps(ruler: Cells) -> np.ndarray:
    at = ruler.unit(np.arange(ruler.number) + 0.5)
    width = np.diff(ruler.unit(np.arange(ruler.number + 1.0)))
    density = np.exp(-(((at + 0.3) / 0.08) ** 2) / 2) + np.exp(-(((at - 0.2) / 0.1) ** 2) / 2)
    return np.asarray(density * width / (density * width).sum())


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov and Smirnov's."""
    return float(np.abs(np.cumsum(a) - np.cumsum(b)).max())


@pytest.mark.parametrize("ordered", [True, False])
def test_levels_come_back_exactly_without_noise(ordered: bool) -> None:
    ruler = Cells(5, ordered=ordered)
    found = marginal(ruler, SKEWED @ ruler.waves(4), np.full(4, 1e-6))
    assert np.allclose(found.chances, SKEWED, atol=1e-3)


def test_a_distribution_with_two_humps_comes_back_without_noise() -> None:
    ruler = Cells()
    truth = two_humps(ruler)
    found = marginal(ruler, truth @ ruler.waves(WAVES), np.full(WAVES, 1e-6))
    assert distance(found.chances, truth) < 0.01


def test_with_huge_noise_the_prior_stays_whatever_was_seen() -> None:
    ruler, noise = Cells(), np.full(WAVES, 1e3)
    rng = np.random.default_rng(1)
    calm = marginal(ruler, np.zeros(WAVES), noise)
    for _ in range(5):
        wild = marginal(ruler, rng.normal(0, 1, WAVES), noise)
        assert distance(wild.chances, calm.chances) < 0.01
    middle = float(calm.unit(np.array([0.5]))[0])
    assert abs(middle) < 0.1  # the public centre


def test_more_noise_leaves_less_of_what_stands_out() -> None:
    ruler = Cells()
    truth = two_humps(ruler)
    seen = truth @ ruler.waves(WAVES)
    apart = [
        distance(marginal(ruler, seen, np.full(WAVES, noise)).chances, truth)
        for noise in (1e-4, 0.05, 0.5)
    ]
    assert apart == sorted(apart)
    assert apart[0] < 0.01
    assert apart[-1] > 0.05


@settings(max_examples=40, deadline=None)
@given(
    seen=st.lists(st.floats(-5, 5), min_size=8, max_size=8),
    noise=st.sampled_from([1e-6, 1e-2, 1.0, 1e6]),
    levels=st.sampled_from([None, 2, 9]),
)
def test_whatever_is_released_chances_are_positive_and_scores_rise(
    seen: list[float], noise: float, levels: int | None
) -> None:
    ruler = Cells(levels)
    waves = np.array(seen)[: ruler.number - 1]
    found = marginal(ruler, waves, np.full(len(waves), noise))
    assert (found.chances > 0).all()
    assert found.chances.sum() == pytest.approx(1)
    assert (np.diff(found.scores) >= -1e-6).all()
    assert np.abs(found.scores).max() <= 3
    assert 0 <= found.gain <= 1 + 1e-9


def test_scores_are_what_a_normal_variable_is_on_average_within_each_level() -> None:
    found = Marginal(Cells(3), np.array([0.2, 0.5, 0.3]))
    normal = np.sort(np.random.default_rng(1).standard_normal(400_000))
    parts = np.split(normal, [80_000, 280_000])
    assert found.scores == pytest.approx([part.mean() for part in parts], abs=0.01)
    assert found.gain == pytest.approx(
        np.concatenate([s * p for s, p in zip(found.scores, parts, strict=True)]).mean(), abs=0.01
    )


def test_quantiles_give_the_distribution_back() -> None:
    even = (np.arange(10_000) + 0.5) / 10_000
    for ruler, chances in ((Cells(5), SKEWED), (Cells(), two_humps(Cells()))):
        found = Marginal(ruler, chances)
        cells = np.bincount(ruler.of(found.unit(even)), minlength=ruler.number) / len(even)
        assert distance(cells, chances) < 0.001
