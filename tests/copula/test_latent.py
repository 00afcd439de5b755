"""Latent: balanced draws, covariances that are ones, thresholds and maps."""

import numpy as np
import pytest
from numpy.random import default_rng

from longsynth.methods.copula_score.balanced import Balanced, _fast_normal
from longsynth.methods.copula_score.cells import Cells, Marginal
from longsynth.methods.copula_score.channels import bounds_scaling
from longsynth.methods.copula_score.latent import (
    MANY,
    RANKS,
    Drawing,
    Evened,
    Latent,
    Map,
    Thresholds,
    _above,
    toeplitz,
    within,
)
from longsynth.methods.copula_score.nearest import halves_of, nearest, spectrum_of, whole_of
from longsynth.reading.simulation import simulated_schema
from longsynth.sampling.moments import Spectrum
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.schema.record import layout_of

EVENTS = np.array([0, 1, 0, 1])


def test_balanced_draws_have_the_means_by_event_and_the_covariance_of_their_law() -> None:
    stratum = default_rng(1).choice(4, 300, p=[0.6, 0.1, 0.2, 0.1])
    drawn = Balanced(EVENTS)(stratum, np.eye(10), default_rng(2))
    for event in (0, 1):
        assert np.abs(drawn[EVENTS[stratum] == event].mean(axis=0)).max() < 1e-6
    assert np.allclose(drawn.T @ drawn / 300, np.eye(10), atol=1e-5)


@pytest.mark.parametrize(("patients", "evened"), [(200, True), (MANY + 1, False), (5, False)])
def test_a_small_sample_is_spread_as_its_law_and_keeps_who_is_above_whom(
    patients: int, evened: bool
) -> None:
    spectrum = Spectrum(np.ones(6), np.eye(6))
    path = ScorePath(
        means=np.zeros((4, 6)),
        spectrum=spectrum,
        levels=noise_levels(4, 1.0),
        scaling=bounds_scaling(simulated_schema()),
    )
    stratum = default_rng(1).choice(4, patients)
    plain = Latent(path, 3)(stratum, default_rng(2)).latent
    law, weight = (
        np.quantile(default_rng(3).normal(0, 2, (2, 10_000)), RANKS, axis=1).T,
        EVENTS + 0.5,
    )
    moved = Evened(Latent(path, 3), law, weight)(stratum, default_rng(2)).latent
    assert (plain != moved).any() == evened
    for channel in (0, 1):
        one, other = plain[:, :, channel].ravel(), moved[:, :, channel].ravel()
        assert (np.diff(other[np.argsort(one)]) >= 0).all()
        if evened:
            order = np.argsort(other)
            mass = np.cumsum(np.repeat(weight[stratum], 3)[order])
            for part in (0.1, 0.5, 0.9):
                found = other[order][np.searchsorted(mass / mass[-1], part)]
                assert found == pytest.approx(np.interp(part, RANKS, law[channel]), abs=0.1)


def test_too_few_patients_are_left_as_they_are_drawn() -> None:
    for stratum in (np.zeros(1, int), np.zeros(5, int), np.array([0] * 30 + [1])):
        drawn = Balanced(EVENTS)(stratum, np.eye(40), default_rng(2))
        assert np.isfinite(drawn).all()
        assert (np.abs(drawn).max(axis=1) > 0).all()  # one patient is not its own mean


def test_balanced_draws_times_a_matrix_are_their_product() -> None:
    stratum, times = np.arange(300) % 4, default_rng(1).normal(size=(10, 10))
    plain, product = (Balanced(EVENTS)(stratum, m, default_rng(2)) for m in (np.eye(10), times))
    assert product == pytest.approx(plain @ times, abs=1e-5)


def test_one_event_alone_is_balanced_too() -> None:
    drawn = Balanced(EVENTS)(np.zeros(100, int), np.eye(5), default_rng(2))
    assert np.allclose(drawn.T @ drawn / 100, np.eye(5), atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_nearest_covariance_is_one_with_the_diagonal_asked_for(seed: int) -> None:
    rng = default_rng(seed)
    raw = rng.uniform(-1, 1, (12, 12))
    raw = (raw + raw.T) / 2
    diagonal = rng.uniform(0.2, 1.0, 12)
    np.fill_diagonal(raw, diagonal)
    assert np.linalg.eigvalsh(raw)[0] < -0.1  # there is something to mend
    [found, _] = nearest(halves_of(raw, 1), diagonal, 1)
    assert np.linalg.eigvalsh(found)[0] > 0
    assert np.allclose(np.diag(found), diagonal)
    assert np.allclose(found, found.T)


def test_a_covariance_is_its_own_nearest() -> None:
    fine = toeplitz(0.5 ** np.arange(6)[:, None, None] * np.eye(2))
    [found, _] = nearest(halves_of(fine, 1), np.ones(12), 1)
    assert np.allclose(found, fine, atol=1e-6)


@pytest.mark.parametrize("slots", [1, 2, 5, 6])
def test_halves_give_what_the_whole_gives(slots: int) -> None:
    blocks = default_rng(1).uniform(-0.6, 0.6, (slots, 3, 3))
    blocks = (blocks + blocks.transpose(0, 2, 1)) / 2
    blocks[0][np.diag_indices(3)] = 1.0
    blocks[:, 2, 2] = 1.0  # static: many eigenvalues are zero
    matrix, one = toeplitz(blocks), np.ones(3 * slots)
    halves = halves_of(matrix, slots)
    assert np.allclose(whole_of(halves, slots), matrix)
    found = nearest(halves, one, slots)
    [of_whole, _] = nearest(halves_of(matrix, 1), one, 1)
    assert np.allclose(whole_of(found, slots), of_whole)
    spectrum = spectrum_of(found, slots)
    assert np.allclose(spectrum.matrix, of_whole)
    assert np.allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(3 * slots))
    assert (np.diff(spectrum.values) >= 0).all()


def test_toeplitz_puts_blocks_at_their_distance() -> None:
    blocks = default_rng(1).standard_normal((3, 2, 2))
    whole = toeplitz(blocks)
    for s in range(3):
        for t in range(3):
            assert np.array_equal(whole[2 * s : 2 * s + 2, 2 * t : 2 * t + 2], blocks[abs(s - t)])


def test_strata_and_what_is_within_them_add_up_to_the_correlations() -> None:
    slots, mass = 4, np.array([0.7, 0.3])
    correlations = 0.7 ** np.arange(slots)[:, None, None] * np.eye(2)
    means = np.zeros((2, slots, 2))
    means[0, :, 0], means[1, :, 0] = -0.3, 0.7  # nothing on average
    spectrum = within(correlations, means, mass, np.zeros(2, bool), 1)
    covariance = (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
    flat = means.reshape(2, -1)
    assert np.allclose(covariance + (flat.T * mass) @ flat, toeplitz(correlations), atol=1e-3)


def test_effects_as_large_as_all_variance_leave_room_for_patients_to_differ() -> None:
    means = np.zeros((2, 3, 1))
    means[0], means[1] = -2.0, 2.0
    spectrum = within(np.ones((3, 1, 1)), means, np.array([0.5, 0.5]), np.zeros(1, bool), 1)
    assert spectrum.values.min() > 0
    assert (spectrum.vectors * spectrum.values @ spectrum.vectors.T)[0, 0] == pytest.approx(0.1)


def test_marks_above_their_threshold_are_observed_within_the_length() -> None:
    latent = np.zeros((3, 4, 5))
    latent[:, :, 2] = [[1, -1, 1, 1]] * 3  # the mark of the first variable; the second is static
    latent[:, :, 3] = [[1] * 4, [-1] * 4, [1] * 4]
    masks = Thresholds(np.array([0.0, 0.0]), layout_of(4, (1, 1), (False, True)), least=0)
    found = masks.draw(Drawing(np.zeros(3, int), latent), np.array([4, 3, 0]), default_rng(1))
    assert found[:, :, 0].tolist() == [
        [True, False, True, True],
        [True, False, True, False],
        [False] * 4,
    ]
    assert found[:, :, 1].tolist() == [[True] + [False] * 3, [False] * 4, [True] + [False] * 3]


def test_a_map_gives_latent_numbers_the_distribution_of_the_measure() -> None:
    latent = default_rng(1).normal(3.0, 2.0, 20_000)
    ranks = (np.arange(400) + 0.5) / 400
    chances = np.array([0.6, 0.3, 0.1])
    found = Map(np.quantile(latent, ranks), ranks, Marginal(Cells(3), chances)).unit(latent)
    assert [(found == level).mean() for level in (-1, 0, 1)] == pytest.approx(chances, abs=0.005)
    order = np.argsort(latent)
    assert (np.diff(found[order]) >= 0).all()


@pytest.mark.parametrize("levels", [None, 2, 3, 11])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_a_map_looks_up_is_what_it_would_find(levels: int | None, seed: int) -> None:
    rng = default_rng(seed)
    ruler = Cells(levels, 0.2, 0.1)
    chances = rng.dirichlet(np.full(ruler.number, 0.3)) + 1e-6
    ranks = (np.arange(400) + 0.5) / 400
    latent = rng.normal(1.0, 2.0, 50_000)
    mapped = Map(np.quantile(latent, ranks), ranks, Marginal(ruler, chances / chances.sum()))
    asked = np.concatenate([latent, [-1e9, 1e9, *mapped.knots[[0, -1]]]])
    found, searched = mapped.unit(asked), mapped.searched(asked)
    if levels:
        assert np.array_equal(found[:-4], searched[:-4])
    assert found.min() >= -1 and found.max() <= 1
    assert np.abs(found - searched).mean() < 2e-5
    assert np.mean(np.abs(found - searched) > 0.01) < 1e-3


def test_a_map_of_one_number_alone_has_a_value() -> None:
    ranks = (np.arange(400) + 0.5) / 400
    mapped = Map(np.zeros(400), ranks, Marginal(Cells(), np.full(256, 1 / 256)))
    assert np.isfinite(mapped.unit(np.array([-1.0, 0.0, 1.0]))).all()


def test_numbers_that_are_looked_up_are_normal_and_differ() -> None:
    drawn = _fast_normal(default_rng(1), (3000, 20))
    assert drawn.dtype == np.float32
    assert drawn.mean() == pytest.approx(0, abs=0.02)
    assert drawn.std() == pytest.approx(1, abs=0.01)
    assert (drawn**4).mean() == pytest.approx(3, abs=0.15)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(20)).max() < 0.1


@pytest.mark.parametrize("levels", [2, 5, 40])
def test_levels_are_found_by_their_cuts(levels: int) -> None:
    cuts = np.sort(default_rng(levels).normal(size=levels - 1))
    latent = default_rng(2).normal(size=(50, 4)).astype(np.float32)
    latent[0, 0] = cuts[0]
    assert np.array_equal(_above(cuts, latent), np.searchsorted(cuts, latent))
