"""Utility for outcomes that are numbers: grades, counts and measures of a patient."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from longsynth.audit.classifiers import NumberModel, fitted_number
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.subgroups import PartMeasure
from longsynth.audit.targets import Patients, Target
from longsynth.system.arrays import Floats, sizes_only


class Estimates(NamedTuple):
    """Numbers that a model predicted for test patients, and what they were, on the scale of the
    schema: logarithms, if it says so."""

    actual: Floats
    predicted: Floats
    logarithmic: bool

    def __repr__(self) -> str:
        return sizes_only(self)

    def error(self) -> Floats:
        """(n,): the absolute error, in the outcome's unit."""
        pair = (self.actual, self.predicted)
        a, b = map(np.exp, pair) if self.logarithmic else pair
        return np.asarray(np.abs(a - b))

    def r2(self, weight: Floats) -> float:
        total = weight.sum()
        if total <= 0:
            return np.nan
        mean = (weight * self.actual).sum() / total
        spread = (weight * (self.actual - mean) ** 2).sum()
        missed = (weight * (self.actual - self.predicted) ** 2).sum()
        return float(1 - missed / spread) if spread > 0 else np.nan

    def rank_correlation(self) -> Callable[[Floats], float]:
        ranks = rankdata(self.actual), rankdata(self.predicted)

        def measure(weight: Floats) -> float:
            total = weight.sum() or np.nan
            a, b = (r - (weight * r).sum() / total for r in ranks)
            spread = np.sqrt((weight * a**2).sum() * (weight * b**2).sum())
            return float((weight * a * b).sum() / spread) if spread > 1e-9 else np.nan

        return measure


# Computed from estimates; what they return takes the weights of the test patients.
NUMBERS = [
    Metric(
        "r2",
        "R²",
        "higher",
        "The share of a number's variance that is explained, on the schema's scale (logarithms if "
        "it says so). Below 0: worse than the test patients' own mean.",
        lambda estimates: estimates.r2,
        limits=(-np.inf, 1.0),
        compare="*base rate*, near 0",
        undefined="all test patients have the same value",
    ),
    Metric(
        "mae",
        "mean absolute error",
        "lower",
        "The mean distance between prediction and outcome, in the outcome's unit.",
        lambda estimates: _weighted_mean(estimates.error()),
        short="MAE",
        limits=(0.0, np.inf),
        compare="*base rate*",
        undefined="there are no test patients",
    ),
    Metric(
        "rank_correlation",
        "rank correlation",
        "higher",
        "Spearman's correlation between prediction and outcome.",
        lambda estimates: estimates.rank_correlation(),
        short="Rank correlation",
        limits=(-1.0, 1.0),
        compare="0: guessing",
        undefined="a constant ranks nobody",
    ),
]


def estimated(
    target: Target, train: Patients, test: Patients, *, model: NumberModel | None, weighted: bool
) -> Estimates:
    """Predict the number of test patients. Without a model, predict the training cohort's mean."""
    assert target.outcome.variable is not None  # for mypy: only a label has none
    logarithmic = train.schema.variables[target.outcome.variable].transform == "log"
    given, asked = train.actual(target), test.actual(target)
    weight = np.where(given.known, train.weight if weighted else 1.0, 0.0)
    number = np.log(given.value) if logarithmic else given.value
    if model is None:
        mean = float(np.average(number, weights=weight)) if weight.any() else 0.0
        predicted = np.full(len(asked.value), mean)
    else:
        features = train.predictors(target), test.predictors(target)
        predicted = fitted_number(model, features[0], number, weight, features[1])
    low, high = train.schema.variables[target.outcome.variable].bounds
    ends = (np.log(low), np.log(high)) if logarithmic else (low, high)
    actual = np.log(asked.value) if logarithmic else asked.value
    rows = asked.known
    return Estimates(actual[rows], np.clip(predicted, *ends)[rows], logarithmic)


def number_scores(estimates: Estimates, *, bootstrap: int = 0, seed: int = 0) -> list[Score]:
    """Score estimates. Intervals resample the test patients; the model stays as trained."""
    measures = {metric.name: metric.compute(estimates) for metric in NUMBERS}
    size = len(estimates.actual)
    return scored(
        lambda weight: {name: measure(weight) for name, measure in measures.items()},
        (size,),
        NUMBERS,
        bootstrap=bootstrap,
        seed=seed,
    )


def part_mae(estimates: Estimates) -> PartMeasure:
    error = estimates.error()
    return lambda rows: lambda weight: _weighted_mean(error)(weight * rows)


def _weighted_mean(values: Floats) -> Callable[[Floats], float]:
    return lambda weight: float((weight * values).sum() / (weight.sum() or np.nan))
