"""Variables that are measured in some patients more than in others."""

from dataclasses import replace

import numpy as np

from copula.fitted import bundle_of
from longsynth import model_of
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.sample import sample
from longsynth.schema.record import Trajectories

CRP = 3
OFTEN, RARELY = 0.3, 0.1  # measured in a slot of a patient with the event, and without it


def measured_by_event(patients: int, seed: int) -> Cohort:
    cohort, rng = simulate(patients, seed=seed), np.random.default_rng(seed)
    observed = cohort.observed.copy()
    chance = np.where(cohort.event == 1, OFTEN, RARELY)[:, None]
    observed[:, :, CRP] &= rng.random(observed.shape[:2]) < chance
    return replace(cohort, observed=observed)


def effect(patients: Trajectories, weight: np.ndarray) -> float:
    """How far apart the measured values of the two events are, in deviations of all of them."""
    seen = patients.observed[:, :, CRP]
    values = np.log(np.where(seen, patients.values[:, :, CRP], 1.0))
    each = seen * weight[:, None]
    mean = (each * values).sum() / each.sum()
    spread = np.sqrt((each * (values - mean) ** 2).sum() / each.sum())
    one, other = (each * (patients.event == y)[:, None] for y in (1, 0))
    return float(((one * values).sum() / one.sum() - (other * values).sum() / other.sum()) / spread)


def test_what_is_measured_more_often_with_the_event_is_not_further_from_usual_for_it() -> None:
    """Read with one rate for both events, each round of the calibration overshot: .8 to 1.0."""
    schema = simulated_schema()
    rare = schema.constants.model_copy(update={"least_observations": 0})
    schema = schema.model_copy(update={"constants": rare})
    cohort = measured_by_event(3_000, seed=101)
    made = sample(model_of(bundle_of(cohort, schema, epsilon=100)), 4_000, seed=1)
    truth = effect(cohort, np.ones(cohort.patients))
    assert abs(effect(made, made.weight) - truth) < 0.15
