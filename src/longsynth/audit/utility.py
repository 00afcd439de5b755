"""Utility: is a model trained on synthetic patients any good for real ones? Here for outcomes with
levels; regression.py has numbers, survival.py times to event, subgroups.py whom models serve."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from longsynth.audit.classifiers import ModelName, fitted_probability
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import (
    Predictions,
    Ranking,
    calibration_intercept,
    calibration_slope,
    ece,
)
from longsynth.audit.targets import Patients, Target, targets_of
from longsynth.audit.view import weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints, sizes_only

FEW_EVENTS = 10  # below this a ranking metric says next to nothing


class Ranked(NamedTuple):
    """Predictions, ranked once."""

    event: Ints
    probability: Floats
    ranking: Ranking

    def __repr__(self) -> str:
        return sizes_only(self)

    def mean(self, values: Floats, weight: Floats) -> float:
        total = weight.sum() or np.nan  # of nobody, nothing is defined
        return float((weight * values).sum() / total)


# Computed from ranked predictions and the weights of the test patients.
UTILITY = [
    Metric(
        "auroc",
        "AUROC",
        "higher",
        "The probability that a patient with the event ranks above one without.",
        lambda p, weight: p.ranking.auroc(weight),
        compare="0.5: guessing",
    ),
    Metric(
        "auprc",
        "AUPRC",
        "higher",
        "Average precision: how pure the top of the ranking is, over all events.",
        lambda p, weight: p.ranking.auprc(weight),
        compare="the event rate: guessing",
    ),
    Metric(
        "brier",
        "Brier score",
        "lower",
        "The mean squared difference between prediction and outcome.",
        lambda p, weight: p.mean((p.event - p.probability) ** 2, weight),
        short="Brier",
        compare="*base rate*",
    ),
    Metric(
        "ece",
        "expected calibration error",
        "lower",
        "The mean difference between predicted and observed rate in ten bins of equal width.",
        lambda p, weight: ece(p.event, p.probability, weight),
        short="ECE",
        shown="dossier",
    ),
    Metric(
        "calibration_slope",
        "calibration slope",
        "one",
        "Below 1: predictions are too extreme. Above 1: not extreme enough. Near 0: unrelated.",
        lambda p, weight: calibration_slope(p.event, p.probability, weight),
        short="Calibration slope",
        limits=(-np.inf, np.inf),
        shown="dossier",
    ),
    Metric(
        "calibration_intercept",
        "calibration intercept",
        "zero",
        "The log odds to add so that the mean is right. Above 0: risks are underestimated.",
        lambda p, weight: calibration_intercept(p.event, p.probability, weight),
        short="Calibration intercept",
        limits=(-np.inf, np.inf),
        shown="page",
    ),
    Metric(
        "mean_prediction",
        "mean prediction",
        "none",
        "The mean predicted probability.",
        lambda p, weight: p.mean(p.probability, weight),
        short="Mean prediction",
        compare="the event rate",
    ),
]


def train_and_predict(
    schema: Schema,
    train: Trajectories,
    test: Trajectories,
    *,
    model: ModelName = "logistic",
    weighted: bool = True,
) -> Predictions:
    """Train on one cohort and predict the first outcome of another that has levels."""
    target = next(t for t in targets_of(schema) if t.task == "classification")
    cohorts = Patients(schema, train), Patients(schema, test)
    return classified(target, *cohorts, model=model, weighted=weighted)


def classified(
    target: Target, train: Patients, test: Patients, *, model: ModelName | None, weighted: bool
) -> Predictions:
    """Predict the level of test patients. Without a model, predict the rate of the training cohort
    for everyone: the floor of every table.

    Weights count in training only: test patients are real and count one each. A training cohort
    with one class predicts its base rate.
    """
    given, asked = train.actual(target), test.actual(target)
    weight = np.where(given.known, train.weight if weighted else 1.0, 0.0)
    if model is None:
        rate = float(np.average(given.value, weights=weight)) if weight.any() else 0.5
        probability = np.full(len(asked.value), rate)
    else:
        event = given.value.astype(np.int64)
        features = train.predictors(target), test.predictors(target)
        probability = fitted_probability(model, features[0], event, weight, features[1])
    rows, cohort = asked.known, test.cohort
    event = asked.value.astype(np.int64)
    return Predictions(event[rows], probability[rows], cohort.group[rows], cohort.site[rows])


def base_rate(train: Trajectories, test: Trajectories) -> Predictions:
    """Predict the training cohort's event rate for everyone."""
    rate = float(np.average(train.event, weights=weights(train)))
    return Predictions(test.event, np.full(test.patients, rate), test.group, test.site)


def utility_scores(predictions: Predictions, *, bootstrap: int = 0, seed: int = 0) -> list[Score]:
    """Score predictions. Intervals resample the test patients; the model stays as trained."""
    ranked = ranked_of(predictions)
    return scored(
        lambda weight: {metric.name: metric.compute(ranked, weight) for metric in UTILITY},
        (len(predictions.event),),
        UTILITY,
        bootstrap=bootstrap,
        seed=seed,
        notes=_utility_notes(predictions),
    )


def ranked_of(predictions: Predictions) -> Ranked:
    event, probability = predictions.event, predictions.probability
    return Ranked(event, probability, Ranking(event, probability))


def _utility_notes(predictions: Predictions) -> Callable[[str, float], str]:
    events = int(predictions.event.sum())
    one_class = events in (0, len(predictions.event))
    constant = len(np.unique(predictions.probability)) < 2

    def note(metric: str, value: float) -> str:
        if metric in ("brier", "ece", "mean_prediction"):
            return "" if len(predictions.event) else "there are no test patients"
        if np.isnan(value):
            if one_class:
                return "every test patient has the same outcome"
            return "a constant prediction has no slope" if constant else "outcomes are separated"
        return too_few(events)

    return note


def too_few(events: int) -> str:
    plural = "event" if events == 1 else "events"
    return f"only {events} {plural}: too few for a conclusion" if events < FEW_EVENTS else ""
