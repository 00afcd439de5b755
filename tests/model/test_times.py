"""Times to event: released hazards, the times of synthetic patients, and the ends of records."""

import numpy as np
import pytest

import longsynth
from longsynth.bundle import Bundle
from longsynth.methods.registry import METHODS
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.sampling.times import INTERVALS, TIMES, distributions, hazards
from longsynth.schema.schema import Schema
from support import NoNoise
from ward import timed_ward_cohort, timed_ward_schema, ward_cohort, ward_schema

PRIVATE = ("copula-score", "trust", "dp-score", "dp-markov")


def fitted(method: str, schema: Schema, cohort: Cohort) -> Bundle:
    if method not in PRIVATE:
        return longsynth.fit_without_privacy(cohort, schema, method)
    plan = longsynth.plan(schema, cohort.patients, epsilon=4, delta=1e-5, method=method)
    return longsynth.fit(cohort, plan, noise=NoNoise())


def incidence(some: Cohort | Synthetic, weight: object, level: int, days: float) -> float:
    """The share that had this end by that day."""
    return float(np.average((some.event == level) & (some.values[:, 0, 7] <= days), weights=weight))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_incidences_and_ends_records_with_the_time(method: str) -> None:
    schema, cohort = timed_ward_schema(), timed_ward_cohort(800, seed=1)
    bundle = fitted(method, schema, cohort)
    assert TIMES in bundle.released
    made = longsynth.sample(longsynth.model_of(bundle), 4000, seed=1)
    days, onset = made.values[:, 0, 7], made.values[:, 0, 9]
    assert 0 <= days.min() <= days.max() <= 30
    assert 0 <= onset.min() <= onset.max() <= 48
    assert made.observed[:, 0, 7:].all()
    used = np.arange(schema.slots) < made.length[:, None]
    at = np.where(used, np.cumsum(made.gaps, axis=1), 0.0)
    assert (at.max(axis=1) <= 24 * days + 1e-9).all()
    for level in (1, 2):
        for day in (5, 10, 20):
            real = incidence(cohort, np.ones(cohort.patients), level, day)
            assert incidence(made, made.weight, level, day) == pytest.approx(real, abs=0.06)


def test_a_schema_without_times_to_event_releases_no_such_line() -> None:
    assert TIMES not in fitted("dp-markov", ward_schema(), ward_cohort(60, seed=1)).released


def test_a_time_and_how_it_ended_are_two_conditions() -> None:
    bundle = fitted("dp-markov", timed_ward_schema(), timed_ward_cohort(400, seed=1))
    where = ["survival >= 10", "event = dead", "fever_status = fever"]
    made = longsynth.sample(longsynth.model_of(bundle), 300, seed=1, where=where)
    assert made.values[:, 0, 7].min() >= 10
    assert (made.event == 1).all()
    assert (made.values[:, 0, 8] == 1).all()


def test_hazards_give_the_counts_back_also_where_most_patients_leave_at_once() -> None:
    censored = np.array([5, 10, 40, 900, 3000, 4000, 700, 300, 200, 100, 80, 60, 50.0])
    event = np.array([60, 150, 120, 90, 80, 150, 120, 100, 80, 60, 40, 30, 0.0])
    counts = np.stack([censored, event])
    assert counts.shape[1] == INTERVALS + 1
    made = distributions(*hazards(counts, 0.0, 336.0), 336.0)
    assert made == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=0.01)
