"""Judging: every number that the flagship is held to, of one synthetic cohort against one
reference population. Population weights count in every metric and in every classifier fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from longsynth.audit.classifiers import probability_of
from longsynth.audit.comparisons.dependence import correlations_of
from longsynth.audit.comparisons.distributions import Tables
from longsynth.audit.comparisons.marginals import marginals, rhythm
from longsynth.audit.comparisons.outcomes import missingness, prevalence
from longsynth.audit.comparisons.persistence import by_lag
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.summaries import summaries
from longsynth.audit.utility import Predictions, base_rate, utility_scores
from longsynth.audit.view import Floats, weights
from longsynth.io.writer import Trajectories
from longsynth.schema import Schema

FORECASTS = ("auprc", "auroc", "brier", "ece", "mean_prediction", "worst_group_auprc")
FIDELITY = (
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "missingness_error",
    "gap_wasserstein",
    "length_tv",
    "prevalence_error",
)
BOOSTED = "boosted_"  # before a metric's name; a metric without it is the logistic one
METRICS = (*FORECASTS, *(BOOSTED + name for name in FORECASTS), *FIDELITY)

Metrics = dict[str, float]


@dataclass(frozen=True)
class Judge:
    """A reference population; its own summaries are made once."""

    schema: Schema
    reference: Trajectories

    @cached_property
    def features(self) -> Floats:
        return summaries(self.schema, self.reference)

    def metrics(self, synthetic: Trajectories, *, boosted: bool = True) -> Metrics:
        """Return every metric of `METRICS`; without the boosted ones it is sooner."""
        features, weight = summaries(self.schema, synthetic), weights(synthetic)
        lesson = features, synthetic.event, weight, self.features
        found = self._forecasts("", probability_of(_logistic, _standardised(weight), *lesson))
        if boosted:
            found |= self._forecasts(BOOSTED, probability_of(_boosted, _as_they_are, *lesson))
        return found | self._fidelity(synthetic, features, weight)

    def base_rate(self, train: Trajectories) -> Metrics:
        """Return the forecasts' metrics of predicting the training patients' rate for everyone."""
        said = base_rate(train, self.reference).probability
        return self._forecasts("", said) | self._forecasts(BOOSTED, said)

    def _forecasts(self, start: str, probability: Floats) -> Metrics:
        who = self.reference
        predictions = Predictions(who.event, probability, who.group, who.site)
        scores = utility_scores(predictions) + subgroup_scores(self.schema, predictions)
        return {start + s.metric: s.value for s in scores if s.metric in FORECASTS}

    def _fidelity(self, synthetic: Trajectories, features: Floats, weight: Floats) -> Metrics:
        pair = self.schema, self.reference, synthetic
        both = np.ones(self.reference.patients), weight
        found: Mapping[str, float] = {}
        for compare in (marginals, missingness, prevalence, rhythm):
            found = {**found, **compare(*pair)(*both)}
        found = {
            **found,
            **correlations_of(self.features, features)(*both),
            "autocorrelation_error": by_lag(*pair, 1)(*both),
            "length_tv": _lengths(*pair).total_variation(*both),
        }
        return {name: found[name] for name in FIDELITY}


def _lengths(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Tables:
    return Tables(
        schema.slots + 1,
        real.length,
        np.arange(real.patients),
        synthetic.length,
        np.arange(synthetic.patients),
    )


def _standardised(weight: Floats) -> Callable[[Floats, Floats], Floats]:
    """Mean 0 and spread 1 among weighted training patients."""

    def prepare(train: Floats, asked: Floats) -> Floats:
        mean = np.average(train, axis=0, weights=weight)
        spread = np.sqrt(np.average((train - mean) ** 2, axis=0, weights=weight))
        return np.asarray((asked - mean) / np.where(spread > 1e-9, spread, 1.0))

    return prepare


def _as_they_are(train: Floats, asked: Floats) -> Floats:
    return asked


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, solver="newton-cholesky", max_iter=500)


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)
