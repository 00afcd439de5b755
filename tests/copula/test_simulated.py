"""A whole fit on simulated patients with a large budget: what comes out is what went in."""

from functools import cache

import numpy as np
import pytest
from numpy.random import SeedSequence

from copula.fitted import bundle_of
from longsynth import model_of, sample, simulate, simulated_schema
from longsynth.audit.game.trials import FastNoise
from longsynth.bundle import Bundle
from longsynth.methods.copula_score import model as calibration
from longsynth.methods.copula_score.channels import Coding
from longsynth.methods.copula_score.features import shape_features
from longsynth.methods.copula_score.model import simulated_patients
from longsynth.methods.copula_score.reading import first_pass, lags_of
from longsynth.methods.copula_score.rows import left_rows
from longsynth.methods.copula_score.settings import BLOCKS, EFFECTS, Settings, Sizes
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model, Synthetic

N = 3000


@cache
def real() -> Cohort:
    return simulate(N, seed=103)


@cache
def released() -> Bundle:
    """With a seed: what is claimed below of means must not hang on one unlucky draw."""
    return bundle_of(real(), simulated_schema(), epsilon=50, noise=FastNoise(SeedSequence(5)))


@cache
def synthetic() -> Synthetic:
    return sample(model_of(released()), N, seed=1)


def weighted(values: np.ndarray, weight: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The weighted share of values up to each point."""
    order = np.argsort(values)
    reached = np.concatenate([[0.0], np.cumsum(weight[order])]) / weight.sum()
    return np.asarray(reached[np.searchsorted(values[order], at, side="right")])


def kept(cohort: Cohort | Synthetic, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Observed values of a variable, and the weights of their patients."""
    seen = cohort.observed[:, :, v]
    weight = getattr(cohort, "weight", np.ones(cohort.patients))
    return cohort.values[:, :, v][seen], np.repeat(weight, seen.sum(axis=1))


def autocorrelation(cohort: Cohort | Synthetic, v: int) -> float:
    both = cohort.observed[:, 1:, v] & cohort.observed[:, :-1, v]
    weight = getattr(cohort, "weight", np.ones(cohort.patients))
    w = np.repeat(weight, both.sum(axis=1))
    pairs = np.stack([cohort.values[:, :-1, v][both], cohort.values[:, 1:, v][both]])
    covariance = np.cov(pairs, aweights=w)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def contrast(cohort: Cohort | Synthetic, v: int) -> float:
    """Mean with the event less without, in deviations of the real values."""
    means = [
        cohort.values[cohort.event == y, :, v][cohort.observed[cohort.event == y, :, v]].mean()
        for y in (0, 1)
    ]
    return float((means[1] - means[0]) / kept(real(), v)[0].std())


def test_events_are_as_frequent_by_weight_and_a_third_by_number() -> None:
    made = synthetic()
    assert (made.event * made.weight).sum() / made.weight.sum() == pytest.approx(
        real().event.mean(), abs=0.02
    )
    assert made.event.mean() == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("v", range(6))
def test_every_variable_keeps_its_distribution_and_how_often_it_is_observed(v: int) -> None:
    values, _ = kept(real(), v)
    at = np.unique(values)
    made, weight = kept(synthetic(), v)
    true = weighted(values, np.ones(len(values)), at)
    assert np.abs(weighted(made, weight, at) - true).max() < 0.05
    seen = np.average(synthetic().observed[:, :, v].mean(axis=1), weights=synthetic().weight)
    assert seen == pytest.approx(real().observed[:, :, v].mean(), abs=0.02)


@pytest.mark.parametrize("v", range(6))
def test_every_variable_keeps_what_one_slot_says_of_the_next(v: int) -> None:
    assert autocorrelation(synthetic(), v) == pytest.approx(autocorrelation(real(), v), abs=0.1)


def test_events_move_variables_the_way_they_do_in_the_cohort() -> None:
    for v in range(6):
        true = contrast(real(), v)
        if abs(true) > 0.15:
            assert contrast(synthetic(), v) == pytest.approx(true, abs=0.5 * abs(true))


def apart(model: Model) -> tuple[float, float]:
    """How far a generated cohort, counted as the real one was, is from the releases: products by
    distance, and channels by event."""
    bundle, sizes, clipped = released(), Sizes.of(released().schema), calibration._clipped
    known, lags = first_pass(bundle), lags_of(bundle)
    stratum = calibration.in_proportion(known.mass, 4000)
    u = known.channels.of(Coding(bundle.schema).of(simulated_patients(model, stratum)))
    products = clipped(lags.rows(u), sizes.block_radius).mean(axis=0) / sizes.block_radius
    left = left_rows(bundle.schema, stratum)[:, :2] / len(u)
    by_event = left.T @ clipped(shape_features(u).reshape(len(u), -1), sizes.effect_radius)
    return (
        float(np.linalg.norm(products - bundle.mean(BLOCKS)[0])),
        float(np.linalg.norm(by_event / sizes.effect_radius - bundle.mean(EFFECTS)[:2])),
    )


def test_calibration_brings_generated_patients_nearer_to_the_releases() -> None:
    after = apart(model_of(released()))
    before = apart(calibration.copula_model(released(), Settings(rounds=0)))
    assert after[0] < 0.7 * before[0]
    assert after[1] < before[1]
