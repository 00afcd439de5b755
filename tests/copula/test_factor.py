"""Factor: a known structure comes back, and whatever is seen the result holds correlations."""

import numpy as np
import pytest

from longsynth.methods.copula_score.factors import FactorModel, shrunk_blocks
from longsynth.methods.copula_score.features import Lags

SLOTS, V = 8, 4
M = 2 * V + 1
LOADING = np.array([0.8, -0.7, 0.6, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])


def frame(static: list[int] | None = None, slots: int = SLOTS) -> FactorModel:
    still = np.isin(np.arange(M), static or [])
    return FactorModel(Lags(slots, M), V, still, np.zeros(M, bool))


def one_factor(slots: int = SLOTS) -> np.ndarray:
    """(T, m, m): severity that fades by a tenth a slot, and channels with no memory beside it."""
    lag = np.arange(slots)[:, None, None]
    found = LOADING[:, None] * LOADING * 0.9**lag
    found[0][np.diag_indices(M)] = 1.0
    return np.asarray(found)


def pooled(blocks: np.ndarray, of: FactorModel) -> np.ndarray:
    return np.tensordot(of.lags.membership, blocks, 1)


def test_one_factor_comes_back_without_noise() -> None:
    truth = one_factor()
    found = shrunk_blocks(pooled(truth, frame()), np.full((5, M, M), 1e-3)[:4], frame())
    assert np.abs(found.correlations - truth).max() < 0.06
    severity = found.loadings[:, 0]
    severity = severity * np.sign(severity[0])
    assert severity == pytest.approx(LOADING, abs=0.12)


def test_noise_that_hides_everything_is_not_taken_for_structure() -> None:
    of, rng = frame(), np.random.default_rng(1)
    shape = pooled(one_factor(), of).shape
    seen, noise = rng.normal(0, 0.5, shape), np.full(shape, 0.5)
    seen = (seen + seen.transpose(0, 2, 1)) / 2
    found = shrunk_blocks(seen, noise, of)
    off = ~np.eye(M, dtype=bool)
    assert np.abs(found.correlations[:, off]).mean() < 0.4 * np.abs(seen[:, off]).mean()


def test_the_factor_fit_is_nearer_the_truth_than_what_was_seen() -> None:
    of, rng, truth = frame(), np.random.default_rng(2), one_factor()
    known = pooled(truth, of)
    noise = rng.normal(0, 0.2, known.shape)
    seen = known + (noise + noise.transpose(0, 2, 1)) / np.sqrt(2)
    found = shrunk_blocks(seen, np.full(known.shape, 0.2), of)
    off = ~np.eye(M, dtype=bool)
    fitted, raw = pooled(found.correlations, of) - known, seen - known
    assert np.abs(fitted[:, off]).mean() < 0.5 * np.abs(raw[:, off]).mean()


def test_what_no_factor_explains_is_kept_where_it_stands_out() -> None:
    of, truth = frame(), one_factor()
    truth[:, 2, 3] = truth[:, 3, 2] = -0.4
    shape = pooled(truth, of).shape
    found = shrunk_blocks(pooled(truth, of), np.full(shape, 0.01), of)
    assert found.correlations[0, 2, 3] == pytest.approx(-0.4, abs=0.1)
    assert found.fitted[0, 2, 3] > found.correlations[0, 2, 3]


@pytest.mark.parametrize("slots", [1, 2, 8])
@pytest.mark.parametrize("size", [0.0, 1.0, 50.0])
def test_whatever_is_seen_correlations_are_correlations(slots: int, size: float) -> None:
    of = frame([0, V], slots)
    rng = np.random.default_rng(3)
    seen = size * rng.standard_normal((len(of.lags.groups), M, M))
    seen = (seen + seen.transpose(0, 2, 1)) / 2
    found = shrunk_blocks(seen, np.full(seen.shape, 0.1), of).correlations
    assert found.shape == (slots, M, M)
    assert np.abs(found).max() <= 1
    assert np.allclose(found, found.transpose(0, 2, 1))
    assert (np.diagonal(found[0]) == 1).all()
    assert (found[:, [0, V], [0, V]] == 1).all()  # what is static is itself at any distance


def derivative(of: FactorModel, at: np.ndarray) -> np.ndarray:
    """(groups, m, m, parameters)"""
    (first, own, over_time), channel = of.slopes(at), np.arange(M)
    slope = np.zeros((*first.shape, of.size))
    slope[:, :, channel, channel] = first.transpose(0, 2, 1)
    slope[:, channel, :, channel] = first.transpose(1, 0, 2)
    slope[:, channel, channel, M + channel] = own
    slope[..., 2 * M :] = np.moveaxis(over_time, 0, -1)
    return slope


@pytest.mark.parametrize("slots", [1, 2, SLOTS])
def test_products_of_slopes_are_those_of_the_whole_slope(slots: int) -> None:
    of, rng = frame(static=[1, M - 1], slots=slots), np.random.default_rng(4)
    at, upper = rng.normal(0, 0.7, of.size), np.triu(np.ones((M, M), bool))
    apart, weight = rng.random((2, len(of.lags.groups), M, M))
    apart, weight = ((x + x.transpose(0, 2, 1)) / 2 for x in (apart, weight))
    weight[:, 2, 3] = weight[:, 3, 2] = 0.0
    full = derivative(of, at)[:, upper].reshape(-1, of.size)
    chosen = weight[:, upper].ravel()
    product, pull = of.normal(at, apart, weight)
    assert product == pytest.approx(full.T @ (chosen[:, None] * full))
    assert pull == pytest.approx(full.T @ (chosen * apart[:, upper].ravel()))


@pytest.mark.parametrize("slots", [1, 2, SLOTS])
def test_the_picture_s_slope_is_what_small_steps_show(slots: int) -> None:
    of, rng = frame(static=[1, M - 1], slots=slots), np.random.default_rng(3)
    at = rng.normal(0, 0.7, of.size)
    assert of.pooled(at) == pytest.approx(pooled(of.expected(at), of))
    steps = 1e-5 * np.eye(of.size)
    seen = np.stack([(of.pooled(at + s) - of.pooled(at - s)) / 2e-5 for s in steps], axis=-1)
    free = seen != 0  # what is known to be one has no slope
    assert derivative(of, at)[free] == pytest.approx(seen[free], abs=1e-7)
    by_hand = np.stack([(of.prior(at + s) - of.prior(at - s)) / 2e-5 for s in steps], axis=-1)
    assert of.prior_slope == pytest.approx(by_hand, abs=1e-6)


def test_a_search_that_begins_elsewhere_ends_at_the_same_picture() -> None:
    seen, noise = pooled(one_factor(), frame()), np.full((4, M, M), 0.05)
    found = shrunk_blocks(seen, noise, frame())
    again = shrunk_blocks(seen, noise, frame(), found.parameters + 0.1)
    assert again.fitted == pytest.approx(found.fitted, abs=2e-3)


def test_a_slow_channel_keeps_its_value_though_noise_hides_that_it_does() -> None:
    slow = np.isin(np.arange(M), [2])
    model = FactorModel(Lags(SLOTS, M), V, np.zeros(M, bool), slow)
    noise = np.full((4, M, M), 0.5)
    kept = shrunk_blocks(np.zeros((4, M, M)), noise, model).correlations[1].diagonal()
    assert kept[2] > 0.99
    assert kept[0] < 0.7
