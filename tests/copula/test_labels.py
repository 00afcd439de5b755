"""The event is drawn last. From the base alone nothing changes; a release moves it to where real
patients depart from the copula."""

from dataclasses import replace

import numpy as np
import pytest

from copula.fitted import bundle_of
from longsynth.bundle import Bundle
from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.copula_score.labelled import Pool, pool_of
from longsynth.methods.copula_score.labels import (
    Labels,
    chances,
    dealt,
    read_labels,
)
from longsynth.methods.copula_score.model import copula_model
from longsynth.methods.copula_score.settings import LEAST_STRENGTH, Settings
from longsynth.methods.copula_score.summaries import Summaries
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.sample import sample
from longsynth.sampling.model import Model
from longsynth.system.arrays import Floats

PATIENTS = 3000


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return bundle_of(simulate(PATIENTS, seed=101), simulated_schema(), epsilon=12)


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> Model:
    return CopulaScore().model(bundle)


@pytest.fixture(scope="module")
def pool(bundle: Bundle) -> Pool:
    return pool_of(copula_model(bundle, Settings()), bundle)


def read(pool: Pool, released: Floats, bundle: Bundle, noise: float = 1e-4) -> Labels:
    patients = pool.patients
    mass = patients.weight / patients.weight.sum()
    return read_labels(
        pool.base,
        pool.summarised,
        patients.weight,
        released=released,
        noise=noise,
        radius=1e6,
        patients=10**6,
        shares=np.array([mass @ (patients.event == 0), mass @ patients.event]),
    )


def test_patients_of_the_copula_leave_the_base_as_it_is(pool: Pool, bundle: Bundle) -> None:
    rows = pool.base.rows(pool.summarised, pool.patients.event).astype(np.float64)
    mean = pool.patients.weight @ rows / pool.patients.weight.sum()
    base, found = read(pool, mean, bundle).log_odds(pool.summarised)
    assert np.abs(chances(base) - chances(found)).mean() < 0.01


def test_the_posterior_finds_by_how_much_the_base_expects_too_much(
    pool: Pool, bundle: Bundle
) -> None:
    """Patients whose events go with the base half as much as its log odds say."""
    base, _ = pool.base.designs(pool.summarised)
    chance = chances(base / 2 - 1)[:, 1]
    yes = pool.base.rows(pool.summarised, np.ones(len(chance), np.int64)).astype(np.float64)
    no = pool.base.rows(pool.summarised, np.zeros(len(chance), np.int64)).astype(np.float64)
    mass = pool.patients.weight / pool.patients.weight.sum()
    labels = read(pool, mass @ (chance[:, None] * yes + (1 - chance[:, None]) * no), bundle)
    found = labels.log_odds(pool.summarised)[1][:, 0] - labels.constant[0]
    slope = np.polyfit(base[:, 0], found, 1, w=np.sqrt(mass))[0]
    assert slope == pytest.approx(0.5, abs=0.05)


def test_with_nothing_but_noise_the_base_stays(pool: Pool, bundle: Bundle) -> None:
    width = pool.base.rows(pool.summarised, pool.patients.event).shape[1]
    labels = read(pool, np.zeros(width), bundle, noise=1e3)
    assert np.abs(labels.shift).max() < 1e-3


def test_events_drawn_last_are_as_frequent_as_released_and_weights_restore_it(
    model: Model, bundle: Bundle
) -> None:
    made = sample(model, 8000, seed=1)
    mass = model.strata.mass
    share = mass[model.schema.strata[:, 2] == 1].sum()
    assert made.event.mean() > 0.25  # over-represented, as strata are
    assert np.average(made.event, weights=made.weight) == pytest.approx(share, abs=0.01)
    assert made.weight.mean() == pytest.approx(1.0, abs=0.05)


def test_labels_of_the_base_alone_go_with_records_as_those_of_the_copula_do(model: Model) -> None:
    assert isinstance(model.labels, Labels)
    nothing = np.zeros_like(model.labels.shift)
    plain = replace(model.labels, shift=nothing, constant=nothing[:, 0])
    drawn, kept = (
        sample(replace(model, labels=labels), 16_000, seed=2) for labels in (plain, None)
    )
    means = []
    for made in (drawn, kept):
        last = np.where(made.observed[:, -1], made.values[:, -1], np.nan)
        with_event = made.event == 1
        means.append([np.nanmean(last[chosen], axis=0) for chosen in (with_event, ~with_event)])
    apart = np.abs(np.diff(means[1], axis=0))  # between events
    assert (np.abs(np.subtract(*means)) < 0.25 * apart + 0.02 * np.abs(means[1])).all()


def test_a_condition_on_the_event_holds_for_every_label(model: Model) -> None:
    made = sample(model, 300, seed=3, where={"event": "1"})
    assert (made.event == 1).all()


def test_levels_are_dealt_as_evenly_as_whole_patients_allow() -> None:
    rng = np.random.default_rng(0)
    chance = np.repeat([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]], 500, axis=0)
    event = dealt(chance, rng)
    for part, expected in ((event[:500], [250, 150, 100]), (event[500:], [450, 50, 0])):
        assert np.abs(np.bincount(part, minlength=3) - expected).max() <= 3


def test_without_enough_to_learn_there_is_no_line_and_labels_are_the_copulas() -> None:
    def lines(strength: float) -> set[str]:
        schema = simulated_schema()
        constants = schema.constants.model_copy(update={"strength": strength})
        resolved = schema.model_copy(update={"constants": constants}).resolved(100)
        return set(CopulaScore().lines(resolved))

    assert lines(LEAST_STRENGTH) - lines(LEAST_STRENGTH - 1) == {"labels"}


def test_as_many_summaries_are_planned_as_are_computed(pool: Pool, bundle: Bundle) -> None:
    assert pool.summarised.few.shape[1] == Summaries.few_number(bundle.schema)
    assert pool.summarised.many.shape[1] == Summaries.many_number(bundle.schema)


def test_a_row_does_not_depend_on_who_else_is_in_the_batch(pool: Pool) -> None:
    whole, some = pool.summarised, slice(40, 53)
    part = whole._replace(few=whole.few[some], many=whole.many[some])
    rows = pool.base.rows(whole, pool.patients.event)[some]
    assert np.array_equal(rows, pool.base.rows(part, pool.patients.event[some]))
