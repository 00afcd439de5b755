"""Strata, means, covariance, masks and gaps: each small enough to check by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.auxiliary import (
    LEAST_VARIANCE,
    Gaps,
    Masks,
    gap_variance,
    repaired,
    shrunken_means,
)
from longsynth.sampling.moments import (
    block_band,
    clipped_spectrum,
    gram_of_strata,
    positive_part,
    residual_covariance,
    residual_variance,
    ridge_solution,
)
from longsynth.sampling.strata import SlotUse, population_masses, synthesis_strata
from longsynth.schema.record import layout_of
from longsynth.schema.schema import condition_matrix
from support import small_schema

histograms = st.lists(st.floats(-50, 500), min_size=12, max_size=12).map(np.array)
PROTECTED = small_schema().protected_strata
ALWAYS = np.zeros((3,), np.int64)  # three columns of one slot


def everybody(mass: np.ndarray, slots: int = 1) -> SlotUse:
    return SlotUse(mass, np.ones((len(mass), slots)))


def test_negative_cells_have_no_mass() -> None:
    assert population_masses(np.array([3.0, -1.0, 1.0])).tolist() == [0.75, 0.0, 0.25]


def test_a_histogram_of_nothing_but_noise_is_even() -> None:
    assert population_masses(np.array([-3.0, -1.0])).tolist() == [0.5, 0.5]


@given(histograms, st.floats(0, 0.3))
def test_weights_restore_the_released_masses(histogram: np.ndarray, floor: float) -> None:
    mass = population_masses(histogram)
    strata = synthesis_strata(mass, PROTECTED, floor)
    assert strata.draw.sum() == pytest.approx(1)
    assert strata.draw * strata.weight == pytest.approx(mass, abs=1e-12)
    assert (
        strata.draw * np.maximum(mass, PROTECTED * floor).sum() >= PROTECTED * floor - 1e-12
    ).all()


def test_the_floor_lifts_protected_events_and_no_one_else() -> None:
    mass = np.full(12, 0.01)
    mass[0] = 0.89
    strata = synthesis_strata(mass, PROTECTED, 0.05)
    lifted = strata.draw / strata.draw[1]
    assert lifted[PROTECTED] == pytest.approx(5)
    assert lifted[~PROTECTED][1:] == pytest.approx(1)
    assert synthesis_strata(mass, PROTECTED, 0.0).weight == pytest.approx(1)


def test_strata_are_drawn_as_often_as_whole_patients_allow_and_in_no_order() -> None:
    strata = synthesis_strata(np.array([0.5, 0.3, 0.15, 0.05]), np.zeros(4, bool), 0.0)
    alone = np.zeros(4)
    for seed in range(400):
        drawn = strata.drawn(37, np.random.default_rng(seed))
        counts = np.bincount(drawn, minlength=4)
        assert (np.abs(counts - 37 * strata.draw) < 2).all()
        alone[drawn[5]] += 1
    assert np.abs(alone / 400 - strata.draw).max() < 0.1  # any one patient has the law q


@given(histograms, st.integers(0, 11))
def test_conditioned_strata_are_a_distribution_over_the_condition(
    histogram: np.ndarray, one: int
) -> None:
    allowed = np.arange(12) % 3 == one % 3
    strata = synthesis_strata(population_masses(histogram), PROTECTED, 0.02).given(allowed)
    assert strata.draw[~allowed].sum() == 0
    assert strata.draw.sum() == pytest.approx(1)
    assert (strata.draw * strata.weight).sum() == pytest.approx(1) or strata.mass.sum() == 0


def test_the_derived_gram_is_the_mean_of_condition_products() -> None:
    conditions = condition_matrix(small_schema())
    people = np.random.default_rng(0).integers(0, 12, 1000)
    mass = np.bincount(people, minlength=12) / 1000
    direct = conditions[people].T @ conditions[people] / 1000
    assert gram_of_strata(mass, conditions) == pytest.approx(direct)


def test_the_ridge_solution_recovers_coefficients_without_noise() -> None:
    rng = np.random.default_rng(0)
    conditions = condition_matrix(small_schema())[rng.integers(0, 12, 5000)]
    beta = rng.normal(size=(conditions.shape[1], 4))
    gram, cross = conditions.T @ conditions / 5000, conditions.T @ (conditions @ beta) / 5000
    assert ridge_solution(gram, cross, 1e-12) == pytest.approx(beta, abs=1e-6)
    assert np.abs(ridge_solution(gram, cross, 10.0)).max() < np.abs(beta).max()


def test_the_positive_part_removes_negative_directions_only() -> None:
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    matrix = rotation @ np.diag([2.0, 0.5, -1.0]) @ rotation.T
    expected = rotation @ np.diag([2.0, 0.5, 0.0]) @ rotation.T
    assert positive_part(matrix) == pytest.approx(expected)


def test_the_residual_covariance_is_that_of_the_residuals() -> None:
    rng = np.random.default_rng(0)
    matrix, stratum = condition_matrix(small_schema()), rng.integers(0, 12, 4000)
    conditions, mass = matrix[stratum], np.bincount(stratum, minlength=12) / 4000
    z = conditions @ rng.normal(size=(7, 3)) + rng.normal(size=(4000, 3))
    gram = conditions.T @ conditions / 4000
    beta = ridge_solution(gram, conditions.T @ z / 4000, 1e-12)
    residual = z - conditions @ beta
    found = residual_covariance(z.T @ z / 4000, matrix @ beta, everybody(mass), ALWAYS)
    assert found == pytest.approx(residual.T @ residual / 4000, abs=1e-8)
    squares = (z**2).mean(axis=0) - 0.5
    alone = residual_variance(squares, matrix @ beta, everybody(mass), ALWAYS)
    assert alone == pytest.approx(np.diag(found), abs=1e-8)


def test_banding_keeps_whole_blocks_of_near_slots() -> None:
    matrix, slot = np.arange(36.0).reshape(6, 6), np.repeat([0, 1, 2], 2)  # two variables
    banded = block_band(matrix, slot, bandwidth=1)
    assert banded[:2, 4:].sum() == banded[4:, :2].sum() == 0
    assert (banded[:4, :4] == matrix[:4, :4]).all()
    assert (banded[2:, 2:] == matrix[2:, 2:]).all()
    assert (block_band(matrix, slot, 2) == matrix).all()


def test_banding_keeps_what_is_static_with_every_slot() -> None:
    matrix, slot = np.arange(1.0, 17).reshape(4, 4), np.array([-1, 0, 1, 5])
    banded = block_band(matrix, slot, bandwidth=0)
    assert (banded[0] == matrix[0]).all()
    assert (banded[:, 0] == matrix[:, 0]).all()
    assert (banded[1:, 1:] == np.diag(np.diag(matrix)[1:])).all()


@given(st.integers(0, 2**32))
def test_the_spectrum_stays_between_floor_and_cap(seed: int) -> None:
    noisy = np.random.default_rng(seed).normal(size=(8, 8)) * 10
    spectrum = clipped_spectrum(noisy, 0.1, 4.0)
    values = np.linalg.eigvalsh(spectrum.matrix)
    assert values.min() >= 0.1 - 1e-9
    assert values.max() <= 4.0 + 1e-9


def test_a_covariance_inside_the_limits_is_left_alone() -> None:
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    assert clipped_spectrum(matrix, 0.01, 10).matrix == pytest.approx(matrix)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_every_variable_is_observed_twice_or_as_often_as_there_are_slots(
    seed: int, slots: int
) -> None:
    scores = np.random.default_rng(seed).normal(-1.5, 1.0, (20, slots, 3))
    full = np.full(20, slots)
    observed = repaired(scores, full, layout_of(slots, (1,) * 3, (False,) * 3), 2)
    assert (observed.sum(axis=1) >= min(2, slots)).all()
    assert (observed >= (scores >= 0)).all(), "the repair only adds"


def test_the_repair_observes_the_largest_scores() -> None:
    full, layout = np.array([4]), layout_of(4, (1,), (False,))
    scores = np.array([-0.5, -0.1, -0.9, -0.2]).reshape(1, 4, 1)
    assert repaired(scores, full, layout, 2).ravel().tolist() == [False, True, False, True]
    scores = np.array([0.5, -0.1, -0.9, -0.2]).reshape(1, 4, 1)
    assert repaired(scores, full, layout, 2).ravel().tolist() == [True, True, False, False]


def test_the_repair_yields_to_the_length_and_to_what_is_asked_for() -> None:
    scores = np.array([-0.5, -0.1, -0.9, 0.2]).reshape(1, 4, 1)
    for length, least, expected in (
        (4, 2, [1, 3]),
        (3, 2, [0, 1]),
        (1, 2, [0]),
        (0, 2, []),
        (4, 0, [3]),
        (3, 0, []),
        (4, 9, [0, 1, 2, 3]),
    ):
        layout = layout_of(4, (1,), (False,))
        observed = repaired(scores, np.array([length]), layout, least)
        assert np.flatnonzero(observed).tolist() == expected


def test_masks_follow_their_probabilities() -> None:
    missing = np.zeros((2, 14, 2))
    missing[0] = 0.3
    missing[1] = 0.6
    stratum = np.repeat([0, 1], 20_000)
    masks, length = Masks(missing, layout_of(14, (1, 1), (False, False)), 2), np.full(40_000, 14)
    drawn = masks.draw(stratum, length, np.random.default_rng(0))
    assert 1 - drawn[:20_000].mean() == pytest.approx(0.3, abs=0.004)
    assert 1 - drawn[20_000:].mean() == pytest.approx(0.6, abs=0.004)


def test_what_is_static_is_observed_once_whatever_the_length_and_never_repaired() -> None:
    missing = np.ones((1, 3, 2))
    missing[:, 0, 0] = 0.4
    masks, length = Masks(missing, layout_of(3, (1, 1), (True, False)), 2), np.arange(9000) % 4
    drawn = masks.draw(np.zeros(9000, np.int64), length, np.random.default_rng(0))
    assert not drawn[:, 1:, 0].any()
    for slots in range(4):
        assert drawn[length == slots, 0, 0].mean() == pytest.approx(0.6, abs=0.04)
        assert (drawn[length == slots, :, 1].sum(axis=1) == min(2, slots)).all()


def test_effects_are_shrunk_toward_the_overall_mean() -> None:
    conditions = condition_matrix(small_schema())
    mass = np.full(12, 1 / 12)
    gram = gram_of_strata(mass, conditions)
    beta = np.random.default_rng(0).normal(size=(7, 5))
    cross, slot = gram @ beta, np.array([0, 1, 2, 3, -1])
    full, none, half = (
        shrunken_means(
            gram,
            cross,
            everybody(mass, slots=4),
            slot,
            small_schema(ridge=1e-12, shrinkage=keep).resolved(100),
        )
        for keep in (1.0, 0.0, 0.5)
    )
    assert full == pytest.approx(conditions @ beta, abs=1e-8)
    assert none == pytest.approx(np.tile(mass @ conditions @ beta, (12, 1)))
    assert half == pytest.approx((full + none) / 2)


def test_gap_variance_is_what_the_means_do_not_explain_and_never_negative() -> None:
    means = np.array([[0.5, 0.5], [-0.5, 0.5]])
    part = np.full((2, 2), 0.5)
    assert gap_variance(np.array([0.35, 0.35]), means, part) == pytest.approx([0.1, 0.1])
    assert (gap_variance(np.array([-3.0, 0.0]), means, part) == LEAST_VARIANCE).all()


def test_gaps_stay_between_zero_and_the_public_maximum() -> None:
    gaps = Gaps(np.full((1, 4), 0.9), np.full(4, 0.5), Scaling(small_schema()))
    drawn = gaps.draw(np.zeros(5000, np.int64), np.random.default_rng(0))
    assert drawn.min() >= 0
    assert drawn.max() <= 48 * (1 + 1e-12)
