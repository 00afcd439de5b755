"""Dependence: how a patient's summaries go together."""

import numpy as np

from longsynth.audit.comparisons.comparison import Measure
from longsynth.audit.summaries import summaries
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats


def correlations(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Mean absolute difference of two correlation matrices, off the diagonal.

    A summary that does not vary has correlation 0 with everything. One that varies in neither
    cohort is left out, so that a fixed number of slots does not dilute the error.
    """
    return correlations_of(summaries(schema, real), summaries(schema, synthetic))


def correlations_of(a: Floats, b: Floats) -> Measure:
    """The same of summaries that are already there."""
    vary = (np.ptp(a, axis=0) > 1e-9) | (np.ptp(b, axis=0) > 1e-9)
    a, b = a[:, vary], b[:, vary]
    pairs = np.triu_indices(a.shape[1], 1)

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        if len(pairs[0]) == 0:
            return {"correlation_error": np.nan}
        apart = _correlation(a, real_weight) - _correlation(b, synthetic_weight)
        return {"correlation_error": float(np.abs(apart[pairs]).mean())}

    return measure


def _correlation(features: Floats, weight: Floats) -> Floats:
    share = weight / max(float(weight.sum()), 1e-300)
    centred = features - share @ features
    covariance = (centred * share[:, None]).T @ centred
    spread = np.sqrt(np.diag(covariance))
    known = spread > 1e-9
    scale = np.where(known, 1 / np.where(known, spread, 1.0), 0.0)
    return np.asarray(covariance * scale[:, None] * scale)
