"""Fidelity: are synthetic patients distributed as real ones are?"""

from collections.abc import Sequence

import numpy as np

from longsynth.audit.comparisons.comparison import Comparison
from longsynth.audit.comparisons.dependence import correlations
from longsynth.audit.comparisons.marginals import marginals, rhythm
from longsynth.audit.comparisons.outcomes import missingness, prevalence
from longsynth.audit.comparisons.persistence import autocorrelations, transitions
from longsynth.audit.comparisons.telling_apart import telling_apart
from longsynth.audit.intervals import scored
from longsynth.audit.score import Better, Score
from longsynth.audit.view import weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

COMPARISONS: tuple[Comparison, ...] = (
    marginals,
    correlations,
    autocorrelations,
    transitions,
    prevalence,
    missingness,
    rhythm,
    telling_apart,
)

WHY_UNDEFINED = {  # by how the metric's name starts
    "marginal_ks": "never seen in one of the cohorts",
    "correlation_error": "fewer than two summaries vary",
    "autocorrelation_error": "too few real patients with two readings that far apart",
    "transition_error": "no variable with levels was seen in two consecutive slots",
    "prevalence_error": "one of the cohorts has nobody in this group",
    "missingness_event_error": "one of the cohorts has one outcome only",
    "missingness_error": "one of the cohorts has no slots in use",
    "gap_wasserstein": "one of the cohorts has no slots in use",
    "visit_count_error_event": "one of the cohorts has nobody with this outcome",
}


def fidelity_scores(
    schema: Schema,
    real: Trajectories,
    synthetic: Trajectories,
    *,
    bootstrap: int = 0,
    seed: int = 0,
    comparisons: Sequence[Comparison] = COMPARISONS,
) -> list[Score]:
    """Compare two cohorts, synthetic patients by weight; intervals resample both of them."""
    measures = [compare(schema, real, synthetic) for compare in comparisons]
    weight = weights(synthetic)

    def statistic(of_real: Floats, of_synthetic: Floats) -> dict[str, float]:
        found: dict[str, float] = {}
        for measure in measures:
            found |= measure(of_real, of_synthetic * weight)
        return found

    return scored(
        statistic,
        (real.patients, synthetic.patients),
        _better,
        bootstrap=bootstrap,
        seed=seed,
        limits=_limits,
        notes=_note,
    )


def _better(metric: str) -> Better:
    return "half" if metric.endswith("_auc") else "lower"


def _limits(metric: str) -> tuple[float, float]:
    return 0.0, 1.0 if metric.endswith("_auc") else np.inf


def _note(metric: str, value: float) -> str:
    if np.isfinite(value):
        return ""
    return next(
        (why for start, why in WHY_UNDEFINED.items() if metric.startswith(start)), "not defined"
    )
