"""Effects: planted contrasts come back with little noise, and shrink with much."""

from dataclasses import replace

import numpy as np
import pytest

from longsynth.methods.copula_score.effects import (
    EffectInputs,
    Effects,
    EffectSums,
    expected,
    posterior_effects,
)
from longsynth.methods.copula_score.features import shape_features, time_shapes

SLOTS, V, SHAPES, PLACES = 8, 2, 3, 4
M, SHARE = 2 * V + 1, 0.2
SPREAD = np.array([0.5, 0.5, 0.5, 0.05, 0.5])  # in one channel all patients are nearly alike
LOADINGS = np.array([[0.8, 0], [-0.6, 0], [0.1, 0.3], [0.0, 0.3], [0.1, 0.2]])


def inputs(patients: int = 10**7) -> EffectInputs:
    return EffectInputs(
        gains=np.array([0.9, 0.9, 0.3, 0.3, 0.4]),
        loadings=LOADINGS,
        score=LOADINGS[:, 0] / 0.8,
        usage=np.broadcast_to(np.eye(SHAPES), (2, M, SHAPES, SHAPES)),
        event_shares=np.array([1 - SHARE, SHARE]),
        place_shares=np.array([0.4, 0.3, 0.2, 0.1]),
        moving=np.ones(M),
        spread=np.broadcast_to(0.3 * np.eye(M), (SHAPES, M, M)),
        latent_spread=np.broadcast_to(np.diag(SPREAD), (SHAPES, M, M)),
        patients=patients,
    )


def planted() -> Effects:
    rng = np.random.default_rng(1)
    place = rng.normal(0, 0.2, (PLACES, M))
    place -= inputs().place_shares @ place
    event = rng.normal(0, 0.3, (1, SHAPES, M))
    event[0, 0] = LOADINGS[:, 0]
    return Effects(rng.normal(0, 0.2, (SHAPES, M)), event, place)


def sums_of(found: Effects, noise: float, seed: int | None = None) -> EffectSums:
    """What the releases would be, with noise of this size or none."""
    by_event, score, by_place = expected(found, inputs())
    rng = np.random.default_rng(seed)
    if seed is not None:
        by_event = by_event + rng.normal(0, noise, by_event.shape)
        score = score + rng.normal(0, noise, score.shape)
        by_place = by_place + rng.normal(0, noise, by_place.shape)
    return EffectSums(by_event, by_place, noise, noise, score, np.full(SHAPES, noise))


def test_planted_effects_come_back_with_little_noise() -> None:
    truth = planted()
    found = posterior_effects(sums_of(truth, 1e-5), inputs())
    assert np.allclose(found.event, truth.event, atol=0.02)
    assert np.allclose(found.trend, truth.trend, atol=0.02)
    assert np.allclose(found.place, truth.place, atol=0.02)


def test_noise_shrinks_effects_and_few_patients_do_too() -> None:
    truth = planted()
    sizes = [
        float(np.abs(posterior_effects(sums_of(truth, noise), inputs()).event).sum())
        for noise in (1e-5, 0.05, 5.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.1 * sizes[0]
    alone = posterior_effects(sums_of(truth, 1e-5), inputs(patients=2))
    assert np.abs(alone.event).sum() < 0.8 * sizes[0]
    hidden = posterior_effects(sums_of(truth, 5.0), inputs())
    assert np.abs(hidden.place).max() < 0.01


def test_between_noise_an_event_is_found_along_the_severity() -> None:
    """The one number a patient of the score says more of events than all channels one by one."""
    along = Effects(np.zeros((SHAPES, M)), np.zeros((1, SHAPES, M)), np.zeros((PLACES, M)))
    along.event[0, 0] = LOADINGS[:, 0]
    apart = []
    for seed in range(8):
        noisy = sums_of(along, 0.1, seed)
        blind = replace(noisy, score_noise=np.full(SHAPES, 1e3))
        apart.append(
            [
                np.abs(posterior_effects(s, inputs()).event[0, 0] - along.event[0, 0]).sum()
                for s in (noisy, blind)
            ]
        )
    assert np.mean(apart, axis=0)[0] < 0.9 * np.mean(apart, axis=0)[1]


def test_where_patients_are_alike_an_effect_is_held_back_more() -> None:
    """An error there would tell events apart that nobody can tell."""
    none = Effects(np.zeros((SHAPES, M)), np.zeros((1, SHAPES, M)), np.zeros((PLACES, M)))
    found = [posterior_effects(sums_of(none, 0.05, seed), inputs()).event[0] for seed in range(20)]
    size = np.sqrt(np.mean(np.square(found), axis=(0, 1)))
    assert size[3] < 0.5 * size[2]  # the same gain and loading of severity but for a tenth
    assert size[3] / np.sqrt(SPREAD[3]) == pytest.approx(size[2] / np.sqrt(SPREAD[2]), rel=0.5)


def test_what_is_static_has_no_course() -> None:
    still = replace(inputs(), moving=np.array([0.0, 1, 0, 1, 1]))
    found = posterior_effects(sums_of(planted(), 0.01), still)
    assert (found.event[0, 1:, [0, 2]] == 0).all()
    assert (found.trend[1:, [0, 2]] == 0).all()
    assert found.event[0, 0, 0] != 0


@pytest.mark.parametrize("slots", [1, 2, 3, 14])
def test_shapes_have_mean_square_one_and_no_more_than_slots(slots: int) -> None:
    shapes = time_shapes(slots)
    assert shapes.shape == (min(3, slots), slots)
    assert np.allclose((shapes**2).mean(axis=1), 1)
    assert (shapes[0] == 1).all()


def test_features_are_mean_products_with_the_shapes() -> None:
    u = np.random.default_rng(1).standard_normal((5, SLOTS, M))
    by_hand = [[(u[i] * s[:, None]).mean(axis=0) for s in time_shapes(SLOTS)] for i in range(5)]
    assert np.allclose(shape_features(u), by_hand)


def test_means_of_strata_average_out_over_the_population() -> None:
    """But for the course over time, which all share and whose level ranks do not show."""
    events, places = np.tile([0, 1], PLACES), np.repeat(np.eye(PLACES, dtype=np.int64), 2, axis=0)
    truth = replace(planted(), trend=np.zeros((SHAPES, M)))
    mass = np.repeat(inputs().place_shares, 2) * np.tile([1 - SHARE, SHARE], PLACES)
    means = truth.means(events, places, np.array([1 - SHARE, SHARE]), SLOTS)
    assert means.shape == (8, SLOTS, M)
    assert np.allclose(np.tensordot(mass, means, 1), 0, atol=1e-12)
    assert np.allclose(
        means[1] - means[0], np.einsum("pm,pt->tm", truth.event[0], time_shapes(SLOTS))
    )


def test_an_effect_without_limit_leaves_room_for_patients_to_differ() -> None:
    """A static variable that the event determines; the others stay as they are."""
    truth = replace(planted(), trend=np.zeros((SHAPES, M)), place=np.zeros((PLACES, M)))
    truth.event[0, 0, 0] = 40.0
    events, places = np.array([0, 1]), np.zeros((2, PLACES), np.int64)
    shares = np.array([1 - SHARE, SHARE])
    found = truth.possible(shares, events, places, shares, SLOTS)
    means = found.means(events, places, shares, SLOTS)
    explained = np.tensordot(shares, (means**2).mean(axis=1), 1)
    assert explained[0] == pytest.approx(0.9)
    assert np.array_equal(found.event[:, :, 1:], truth.event[:, :, 1:])
