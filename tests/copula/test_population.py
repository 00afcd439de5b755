"""Population: masses of strata, and the share of events, from two noisy releases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.methods.copula_score.latent import USUAL_RATE, event_share, masses, synthesis
from support import small_schema

STRATA = small_schema().strata
PROTECTED = small_schema().protected_strata
EVENT = STRATA[:, 2] == 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_a_share_seen_without_noise_is_believed(share: float) -> None:
    assert event_share(share, 1e-6) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize("seen", [-3.0, 0.0, 0.4, 1.0, 4.0])
def test_a_share_seen_through_huge_noise_stays_near_the_prior(seen: float) -> None:
    assert USUAL_RATE / 2 < event_share(seen, 100.0) < 2 * USUAL_RATE


def test_a_share_lies_between_the_prior_and_what_was_seen() -> None:
    believed = [event_share(0.4, noise) for noise in (0.01, 0.1, 0.3)]
    assert believed == sorted(believed, reverse=True)
    assert 0.15 < believed[-1] < believed[0] < 0.41


@settings(max_examples=100)
@given(
    counts=st.lists(st.floats(-2, 2), min_size=12, max_size=12),
    share=st.floats(0.001, 0.999),
    noise=st.floats(1e-6, 10),
)
def test_masses_are_a_distribution_with_the_given_share_of_events(
    counts: list[float], share: float, noise: float
) -> None:
    found = masses(np.array([1 - share, share]), np.array(counts), noise, small_schema())
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    assert found[EVENT].sum() == pytest.approx(share)


def test_masses_follow_counts_without_noise_and_events_are_even_with_it() -> None:
    truth = np.array([0.2, 0.05, 0.1, 0.05, 0.2, 0.01, 0.1, 0.04, 0.1, 0.05, 0.05, 0.05])
    shares = np.array([truth[~EVENT].sum(), truth[EVENT].sum()])
    assert np.allclose(masses(shares, truth, 1e-9, small_schema()), truth, atol=1e-6)
    noisy = masses(np.array([0.8, 0.2]), truth, 10.0, small_schema())
    assert np.allclose(noisy[EVENT] / (noisy[EVENT] + noisy[~EVENT]), 0.2)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.7])
def test_weights_restore_the_population(share: float) -> None:
    mass = np.where(EVENT, share, 1 - share) / 6
    drawn = synthesis(mass, STRATA, PROTECTED, 0.02, 0.25)
    assert drawn.draw.sum() == pytest.approx(1)
    assert drawn.draw[EVENT].sum() >= 0.25 - 1e-9 if share < 0.25 else True
    assert np.allclose(drawn.draw * drawn.weight, mass)
    assert (drawn.draw[PROTECTED] >= 0.02 / 1.2).all()
