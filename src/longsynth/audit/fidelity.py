"""Fidelity: are synthetic patients distributed like real ones?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from longsynth.audit.dependence import (
    autocorrelations,
    correlations,
    elapsed_autocorrelation,
    real_vs_synthetic,
    transitions,
)
from longsynth.audit.marginals import (
    Comparison,
    codes,
    gaps,
    marginals,
    missingness,
    prevalence,
    visit_counts,
)
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.view import weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats


def _error(name: str, label: str, meaning: str, compute: Comparison, **more: Any) -> Metric:
    """An error of which 0 is perfect and nothing is too large."""
    return Metric(name, label, "lower", meaning, compute, limits=(0.0, np.inf), **more)


# Computed from the schema, a real and a synthetic cohort: see `Comparison`.
FIDELITY = [
    _error(
        "marginal_ks[_<variable>]",
        "distributions[: <variable>]",
        "The largest difference between two distribution functions; total variation for variables "
        "with levels. Without a suffix: the mean over variables.",
        marginals,
        short="Marginal KS[, <variable>]",
        undefined="never observed in one of the cohorts",
    ),
    _error(
        "correlation_error",
        "correlations between summaries",
        "The mean absolute difference of the correlations between summaries of a record.",
        correlations,
        short="Correlation error",
        undefined="fewer than two summaries vary",
    ),
    _error(
        "autocorrelation_error[_lag<lag>]",
        "autocorrelation[, lag <lag>]",
        "The difference in correlation between readings one slot apart, or two or three, pooled "
        "over patients. The mean over variables over time, except nominal ones.",
        autocorrelations,
        short="AC error[, lag <lag>]",
        undefined="too few real patients with two readings that far apart",
    ),
    _error(
        "autocorrelation_error_elapsed",
        "autocorrelation, by hours apart",
        "The same by hours between readings, in bins that are fixed shares of `max_gap`.",
        elapsed_autocorrelation,
        undefined="too few real patients with two readings that far apart",
        shown="page",
    ),
    _error(
        "transition_error",
        "steps between levels",
        "For variables with levels, over time: the share of steps from a level that lead elsewhere "
        "(total variation, weighted by how often real patients are at the level).",
        transitions,
        short="Transition error",
        undefined="no variable with levels was observed in two consecutive slots",
    ),
    _error(
        "prevalence_error[_group<group>]",
        "share with the event[, group <group>]",
        "The difference in event rate, for all patients or in one group.",
        prevalence,
        short="Prevalence error[, group <group>]",
        undefined="one of the cohorts has nobody in this group",
    ),
    _error(
        "missingness_error[_<variable>]",
        "missing readings[: <variable>]",
        "The difference in the share of missing cells, within slots in use. A static variable has "
        "one cell per patient. Without a suffix: the mean over variables.",
        missingness,
        short="Missingness error[, <variable>]",
        undefined="one of the cohorts has no slots in use",
    ),
    _error(
        "missingness_event_error",
        "missing readings, dependence on the event",
        "The difference in how much more is missing with the event than without.",
        missingness,
        undefined="one of the cohorts has one outcome only",
        shown="dossier",
    ),
    _error(
        "gap_wasserstein",
        "gaps, hours",
        "The mean shift of the gaps between slots, in hours.",
        gaps,
        short="Gap Wasserstein (h)",
        undefined="one of the cohorts has no slots in use",
    ),
    _error(
        "visit_count_error[_event<event>]",
        "slots used[, event <event>]",
        "The mean shift of the number of slots, for all patients or among those without (0) or "
        "with (1) the event: the length of a record can reveal its outcome.",
        visit_counts,
        short="Visit count error[, event <event>]",
        undefined="one of the cohorts has nobody with this outcome",
    ),
    _error(
        "code_prevalence_error",
        "codes, share of patients",
        "The mean absolute difference, over the codes of all lists, in the share of patients who "
        "ever have the code.",
        codes,
        short="Code prevalence error",
        shown="dossier",
    ),
    _error(
        "code_pair_error",
        "codes, pairs",
        "The mean absolute difference, over all pairs of codes, in the share of patients who have "
        "both.",
        codes,
        short="Code pair error",
        shown="dossier",
    ),
    _error(
        "code_event_error",
        "codes, dependence on the event",
        "The mean absolute difference, over codes, in how much more common the code is with the "
        "event than without.",
        codes,
        short="Code event error",
        undefined="one of the cohorts has one outcome only",
        shown="dossier",
    ),
    Metric(
        "real_vs_synthetic_auc",
        "distinguished by a classifier, AUC",
        "half",
        "How well boosted trees distinguish real from synthetic patients, cross-validated. 0.5: "
        "not at all.",
        real_vs_synthetic,
    ),
]


def fidelity_scores(
    schema: Schema,
    real: Trajectories,
    synthetic: Trajectories,
    *,
    bootstrap: int = 0,
    seed: int = 0,
    metrics: Sequence[Metric] = FIDELITY,
) -> list[Score]:
    """Compare two cohorts, synthetic patients by weight; intervals resample both of them."""
    comparisons = dict.fromkeys(metric.compute for metric in metrics)
    measures = [compare(schema, real, synthetic) for compare in comparisons]
    weight = weights(synthetic)

    def statistic(of_real: Floats, of_synthetic: Floats) -> dict[str, float]:
        values: dict[str, float] = {}
        for measure in measures:
            values |= measure(of_real, of_synthetic * weight)
        return values

    sizes = (real.patients, synthetic.patients)
    return scored(statistic, sizes, metrics, bootstrap=bootstrap, seed=seed)
