"""Lengths: a private table by event, and what sums over all patients mean where not all are there.

Each case is small enough to work out beside the code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.sampling.auxiliary import gaps_from, shrunken_means
from longsynth.sampling.moments import gram_of_strata, means_in_use, residual_covariance
from longsynth.sampling.strata import (
    LEAST_SHARE,
    MOST_BINS,
    Lengths,
    SlotUse,
    length_edges,
    lengths_of,
)
from longsynth.schema.schema import Schema, condition_matrix
from support import small_schema

EVENTS = small_schema().strata[:, 2]


def schema_of(slots: int) -> Schema:
    return Schema.model_validate(small_schema().model_dump() | {"slots": slots})


@pytest.mark.parametrize("slots", [1, 2, 4, 30, 31, 32, 100, 2000])
def test_bins_hold_every_length_once_and_nobody_at_all_alone(slots: int) -> None:
    edges = length_edges(slots)
    assert edges[0] == 0
    assert edges[1] == 1, "no slot at all is a bin of its own"
    assert edges[-1] == slots + 1
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 == min(slots + 1, MOST_BINS)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(0, 2**32))
def test_the_share_that_uses_a_slot_is_that_of_the_lengths_drawn(slots: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(length_edges(slots)) - 1, 0.3), 2)
    lengths = Lengths(shares, EVENTS, slots)
    drawn = lengths.draw(np.full(20_000, 1), rng)  # stratum 1 has the event
    assert drawn.min() >= 0
    assert drawn.max() <= slots
    using = (np.arange(slots) < drawn[:, None]).mean(axis=0)
    assert using == pytest.approx(lengths.in_use[1], abs=0.025)
    assert lengths.in_use.shape == (12, slots)
    assert (np.diff(lengths.in_use, axis=1) <= 1e-12).all()


def test_counts_without_noise_are_the_lengths_of_each_event() -> None:
    counts = np.array([0, 0, 10, 30, 0, 4, 0, 0, 0, 12.0])
    found = lengths_of(counts, 0.0, small_schema())
    assert isinstance(found, Lengths)
    assert found.shares.tolist() == [[0, 0, 0.25, 0.75, 0], [0.25, 0, 0, 0, 0.75]]


def test_a_rare_event_keeps_its_own_lengths_where_they_stand_clear_of_the_noise() -> None:
    """Sixty patients among six thousand, with noise of two patients a bin."""
    rng, kept = np.random.default_rng(0), []
    exact = np.array([0, 0, 0, 1980, 3960, 0, 50, 10, 0, 0.0])
    for _ in range(200):
        found = lengths_of(exact + rng.normal(0, 2.0, 10), 2.0, small_schema())
        assert isinstance(found, Lengths)
        kept.append(found.shares)
    often, rare = np.mean(kept, axis=0)
    assert often == pytest.approx([0, 0, 0, 1 / 3, 2 / 3], abs=0.01)
    assert rare == pytest.approx([0, 5 / 6, 1 / 6, 0, 0], abs=0.06)


def test_lengths_that_are_mostly_noise_are_those_of_all_patients_together() -> None:
    """Six patients with the event, with noise of forty a bin: their own table would be nonsense."""
    rng, apart, alone = np.random.default_rng(0), [], []
    exact = np.array([0, 0, 0, 1980, 3960, 0, 5, 1, 0, 0.0])
    pooled = np.array([0, 5, 1, 1980, 3960]) / 5946
    for _ in range(200):
        noised = exact + rng.normal(0, 40.0, 10)
        found = lengths_of(noised, 40.0, small_schema())
        assert isinstance(found, Lengths)
        apart.append(np.abs(found.shares[1] - pooled).sum() / 2)
        own = np.maximum(noised[5:], 0) / max(np.maximum(noised[5:], 0).sum(), 1)
        alone.append(np.abs(own - pooled).sum() / 2)
    assert np.median(apart) < 0.05
    assert np.median(alone) > 0.4, "without shrinking it would be"


def test_a_table_of_nothing_but_noise_is_still_a_distribution() -> None:
    for counts in (np.full(10, -5.0), np.zeros(10), np.array([-1.0] * 9 + [3.0])):
        found = lengths_of(counts, 3.0, small_schema())
        assert isinstance(found, Lengths)
        assert found.shares.sum(axis=1) == pytest.approx([1, 1])
        assert (found.shares >= 0).all()


# Sums over all patients, where padding adds nothing.


def padded(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strata, lengths and values of two slots and one static number; 0 where there is none."""
    stratum = rng.integers(0, 12, 30_000)
    event = EVENTS[stratum]
    length = np.where(event == 1, rng.integers(0, 2, 30_000), rng.integers(1, 3, 30_000))
    base = rng.normal(0.3 * event - 0.1, 0.2)
    used = np.arange(2) < length[:, None]
    values = np.where(used, base[:, None] + rng.normal(0.2, 0.1, (30_000, 2)), 0.0)
    return stratum, length, np.column_stack([base, values])


def users_of(stratum: np.ndarray, length: np.ndarray) -> SlotUse:
    mass = np.bincount(stratum, minlength=12) / len(stratum)
    share = np.array([[np.mean(length[EVENTS[stratum] == y] > t) for t in (0, 1)] for y in (0, 1)])
    return SlotUse(mass, share[EVENTS])


SLOT = np.array([-1, 0, 1])


def test_means_are_those_of_the_patients_who_use_a_slot() -> None:
    stratum, length, z = padded(np.random.default_rng(1))
    conditions = condition_matrix(small_schema())
    users = users_of(stratum, length)
    cross = conditions[stratum].T @ z / len(z)
    gram = gram_of_strata(users.mass, conditions)
    means = means_in_use(gram, cross, conditions, users, SLOT, ridge=1e-6)
    event = EVENTS[stratum]
    for y in (0, 1):
        of_all = z[event == y, 0].mean()
        first = z[(event == y) & (length > 0), 1].mean()
        assert means[y == EVENTS, 0] == pytest.approx(of_all, abs=0.02)
        assert means[y == EVENTS, 1] == pytest.approx(first, abs=0.02)
    second = z[(event == 0) & (length > 1), 2].mean()
    assert means[EVENTS == 0, 2] == pytest.approx(second, abs=0.02), "nobody else uses it"


def test_shrinking_toward_the_overall_mean_does_not_mix_up_who_is_there() -> None:
    """A cell is missing equally often with and without the event, but few with it use the slot."""
    rng = np.random.default_rng(2)
    stratum, length, _ = padded(rng)
    marks = np.where(rng.random(30_000) < 0.3, 0.5, -0.5) * (length > 0)
    conditions, schema = condition_matrix(small_schema()), small_schema().resolved(30_000)
    users = users_of(stratum, length)
    gram = gram_of_strata(users.mass, conditions)
    cross = conditions[stratum].T @ marks[:, None] / 30_000
    means = shrunken_means(gram, cross, users, np.array([0]), schema)
    assert 0.5 + means == pytest.approx(0.3, abs=0.02)


def test_the_covariance_is_that_of_the_patients_who_use_both_slots() -> None:
    stratum, length, z = padded(np.random.default_rng(3))
    users, event = users_of(stratum, length), EVENTS[stratum]
    conditions = condition_matrix(small_schema())
    gram = gram_of_strata(users.mass, conditions)
    cross = conditions[stratum].T @ z / len(z)
    means = means_in_use(gram, cross, conditions, users, SLOT, ridge=1e-6)
    found = residual_covariance(z.T @ z / len(z), means, users, SLOT)
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        chosen = length > max(SLOT[i], SLOT[j])
        centred = [z[:, k] - means[stratum, k] for k in (i, j)]
        expected = np.mean(centred[0][chosen] * centred[1][chosen])
        assert found[i, j] == pytest.approx(expected, abs=0.004), (i, j)
    assert np.var(z[event == 0, 0]) == pytest.approx(found[0, 0], abs=0.004)


def test_gaps_spread_as_those_who_use_a_slot_do() -> None:
    rng = np.random.default_rng(4)
    stratum, length, _ = padded(rng)
    r = np.where(length > 1, rng.normal(-0.4, 0.2, 30_000), 0.0)
    squares = np.where(length > 1, r**2 - 0.5, 0.0)
    schema = schema_of(2).resolved(30_000)
    users, slot = users_of(stratum, length), np.array([0, 1])
    conditions = condition_matrix(schema)
    gram = gram_of_strata(users.mass, conditions)
    both = np.column_stack([r * 0, r])
    means = means_in_use(gram, conditions[stratum].T @ both / 30_000, conditions, users, slot, 1e-6)
    gaps = gaps_from(means, np.array([0.0, squares.mean()]), users, schema)
    assert gaps.means[EVENTS == 0, 1] == pytest.approx(-0.4, abs=0.02)
    assert gaps.variance[1] == pytest.approx(0.04, abs=0.003)


def test_noise_on_a_slot_that_nobody_uses_is_not_blown_up() -> None:
    conditions, mass = condition_matrix(small_schema()), np.full(12, 1 / 12)
    users = SlotUse(mass, np.zeros((12, 1)))
    gram, slot = gram_of_strata(mass, conditions), np.array([0])
    noise = np.random.default_rng(5).normal(0, 0.001, (7, 1))
    means = means_in_use(gram, noise, conditions, users, slot, ridge=0.01)
    assert users.divisor(slot) == LEAST_SHARE
    assert means[0] == pytest.approx(noise[0] / LEAST_SHARE), "the constant alone"
    assert np.abs(means).max() < 6 * np.abs(noise).max() / 0.01, "at most over the ridge"
