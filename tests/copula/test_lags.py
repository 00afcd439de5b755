"""Lags: products of channels by distance, against a double loop over slots."""

import numpy as np
import pytest

from longsynth.methods.copula_score.features import Lags

CASES = [(1, 3), (2, 3), (3, 5), (5, 3), (9, 4), (14, 3)]


def by_hand(u: np.ndarray, low: int, high: int) -> np.ndarray:
    """The mean over all pairs of slots at these distances of u_s u_t', made symmetric."""
    slots, m = u.shape
    found, pairs = np.zeros((m, m)), 0
    for s in range(slots):
        for t in range(s, slots):
            if low <= t - s <= high:
                found += np.outer(u[s], u[t])
                pairs += 1
    return (found + found.T) / 2 / pairs


@pytest.mark.parametrize(("slots", "m"), CASES)
def test_rows_are_mean_products_by_distance(slots: int, m: int) -> None:
    lags, rng = Lags(slots, m), np.random.default_rng(slots)
    u = rng.standard_normal((4, slots, m))
    rows = lags.rows(u)
    assert rows.shape == (4, lags.size)
    for row, one in zip(rows, u, strict=True):
        blocks = lags.blocks(row)
        for g, (low, high) in enumerate(lags.groups):
            expected = by_hand(one, low, high)
            if g == 0:
                np.fill_diagonal(expected, 0.0)  # known
            assert np.allclose(blocks[g], expected)


def test_what_never_changes_takes_no_room_for_what_is_known_of_it() -> None:
    """Patients with an unusual static value would otherwise be clipped in all they are."""
    u = np.random.default_rng(1).standard_normal((4, 9, 3))
    u[:, :, 1] = 5.0
    all_of_it, without = (lags.blocks(lags.rows(u)[0]) for lags in (Lags(9, 3), Lags(9, 3, (1,))))
    assert (all_of_it[1:, 1, 1] > 20).all() and (without[:, 1, 1] == 0).all()
    others = ~np.diag([False, True, False])
    assert np.array_equal(all_of_it[:, others], without[:, others])


@pytest.mark.parametrize(("slots", "m"), CASES)
def test_a_row_is_as_long_as_the_matrices_it_stands_for(slots: int, m: int) -> None:
    lags = Lags(slots, m)
    rows = lags.rows(np.random.default_rng(1).standard_normal((3, slots, m)))
    for row in rows:
        assert (row**2).sum() == pytest.approx((lags.blocks(row) ** 2).sum())


@pytest.mark.parametrize(("slots", "m"), CASES)
def test_blocks_of_clipped_rows_are_their_mean(slots: int, m: int) -> None:
    lags = Lags(slots, m)
    u = np.random.default_rng(2).standard_normal((700, slots, m)).astype(np.float32)
    u[0] = 0.0
    rows = lags.rows(u).astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    radius = float(np.median(norms))
    clipped = rows * np.minimum(1.0, radius / np.maximum(norms, 1e-12))
    found = lags.clipped_blocks(u, radius)
    assert found == pytest.approx(lags.blocks(clipped.mean(axis=0)), abs=1e-7)


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 9, 14, 60])
def test_groups_cover_every_distance_once(slots: int) -> None:
    lags = Lags(slots, 3)
    covered = [lag for low, high in lags.groups for lag in range(low, high + 1)]
    assert covered == list(range(slots))
    assert np.allclose(lags.membership.sum(axis=1), 1)
    assert lags.groups[0] == (0, 0)


@pytest.mark.parametrize("slots", [1, 2, 5, 14])
def test_what_is_alike_at_all_distances_is_spread_as_it_is(slots: int) -> None:
    lags = Lags(slots, 2)
    one = np.array([[1.0, 0.3], [0.3, 1.0]])
    groups = np.repeat(one[None], len(lags.groups), axis=0)
    assert np.allclose(lags.spread(groups), one)


def test_single_distances_are_spread_to_themselves_and_the_rest_lies_between() -> None:
    lags = Lags(14, 1)
    groups = np.array([1.0, 0.8, 0.6, 0.4, 0.2])[:, None, None]
    spread = lags.spread(groups)[:, 0, 0]
    assert spread[:2].tolist() == [1.0, 0.8]
    assert (np.diff(spread) <= 1e-12).all()
    assert spread.min() >= 0.2


def test_noise_on_an_entry_off_the_diagonal_is_smaller_by_the_root_of_two() -> None:
    lags, rng = Lags(3, 3), np.random.default_rng(4)
    blocks = np.array([lags.blocks(rng.standard_normal(lags.size)) for _ in range(4000)])
    assert np.allclose(blocks.std(axis=(0, 1)), lags.noise(1.0), atol=0.05)
