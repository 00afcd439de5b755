"""Probes: the results of a method, or of the metrics, for small fixed inputs and fixed noise."""

import math
from itertools import chain

import numpy as np
from numpy.random import default_rng

from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.attacks.membership import membership_scores
from longsynth.audit.classifiers import MODELS
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.metric import Score
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import train_and_predict, utility_scores
from longsynth.bundle import Bundle
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.method import PrivateMethod
from longsynth.plan import plan_of
from longsynth.privacy.budget import Budget
from longsynth.privacy.noise import Integers
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.sample import sample
from longsynth.sampling.model import Synthetic
from longsynth.schema.constants import Constants
from longsynth.schema.schema import Schema
from longsynth_lab.variants import Variant

# Patients, ε and what the schema says of lengths: little to learn, and more.
INPUTS: tuple[tuple[int, float, str], ...] = ((80, 1.0, "full"), (240, 12.0, "variable"))
DRAWN, SEED = 60, 7

Probe = list[float]


class FixedNoise:
    """The same noise in every run. For probes only, never for patients."""

    def __init__(self) -> None:
        self._rng = default_rng(SEED)

    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        return sums + np.rint(self._rng.normal(0.0, sigma, sums.shape)).astype(np.int64)


def made_probe(variant: Variant) -> Probe:
    """Return summaries of synthetic patients from simulated ones, including short records."""
    known = simulated_schema()
    constants = Constants.model_validate(
        known.constants.model_dump() | dict(variant.constants_for(known))
    )
    found: Probe = []
    for patients, epsilon, length in INPUTS:
        schema = known.model_copy(update={"constants": constants, "length": length})
        bundle = _bundle(variant, schema, patients, epsilon)
        found += _summary(sample(variant.model(bundle), DRAWN, seed=SEED))
    return found


def _bundle(variant: Variant, schema: Schema, patients: int, epsilon: float) -> Bundle:
    cohort = simulate(patients, seed=SEED)
    if not isinstance(variant.method, PrivateMethod):
        return fit_without_privacy(cohort, schema, variant.method.name)
    planned = plan_of(variant.method, schema, patients, Budget(epsilon, 1e-5, "gaussian"))
    return fit(cohort, planned, noise=FixedNoise())


def _summary(drawn: Synthetic) -> Probe:
    """Means that change whenever a synthetic patient changes."""
    seen = np.where(drawn.observed, drawn.values, 0.0)
    rising = np.arange(1.0, drawn.patients + 1) / drawn.patients  # who is who counts too
    parts = [
        seen.mean(axis=(0, 1)),
        np.tensordot(rising, seen, axes=1).mean(axis=0),
        drawn.observed.mean(axis=(0, 1)),
        drawn.gaps.mean(axis=1)[:5],
        [drawn.event @ rising, drawn.group @ rising, drawn.site @ rising],
        [drawn.length @ rising, drawn.weight @ rising],
    ]
    return [float(n) for n in np.concatenate(parts)]


def metrics_probe() -> Probe:
    """Return every metric for simulated cohorts in the roles of real and synthetic patients."""
    schema = simulated_schema()
    train, control, synthetic, test = (simulate(n, seed=SEED + n) for n in (80, 81, 120, 300))
    predictions = [train_and_predict(schema, synthetic, test, model=m) for m in MODELS]
    scores: chain[Score] = chain(
        *(utility_scores(made) for made in predictions),
        *(subgroup_scores(schema, made) for made in predictions),
        fidelity_scores(schema, test, synthetic),
        membership_scores(schema, train, control, synthetic, None),
        attribute_scores(schema, train, control, synthetic),
    )
    return [score.value if math.isfinite(score.value) else -1.0 for score in scores]
