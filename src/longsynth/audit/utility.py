"""Utility: is a model trained on synthetic patients any good for real ones?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from longsynth.audit.classifiers import fitted_probability
from longsynth.audit.intervals import scored
from longsynth.audit.ranking import (
    BINS,
    Ranking,
    bin_of,
    calibration_intercept,
    calibration_slope,
    ece,
)
from longsynth.audit.score import Better, Score
from longsynth.audit.summaries import summaries
from longsynth.audit.view import weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints

FEW_EVENTS = 10  # below this a ranking metric says next to nothing

DIRECTIONS: dict[str, Better] = {
    "auroc": "higher",
    "auprc": "higher",
    "brier": "lower",
    "ece": "lower",
    "calibration_slope": "one",
    "calibration_intercept": "zero",
    "mean_prediction": "none",
}


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model said about test patients, beside what happened."""

    event: Ints  # (n,)
    probability: Floats  # (n,)
    group: Ints  # (n,)
    site: Ints  # (n,)


def train_and_predict(
    schema: Schema,
    train: Trajectories,
    test: Trajectories,
    *,
    model: Literal["logistic", "boosted"] = "logistic",
    weighted: bool = True,
) -> Predictions:
    """Train on the summaries of one cohort and predict another's events.

    Weights count in training only: test patients are real and count one each. A training cohort
    with one class predicts its base rate.
    """
    weight = weights(train) if weighted else np.ones(train.patients)
    probability = fitted_probability(
        model, summaries(schema, train), train.event, weight, summaries(schema, test)
    )
    return _predictions(test, probability)


def base_rate(train: Trajectories, test: Trajectories) -> Predictions:
    """Predict the training cohort's event rate for everyone: the floor of every table."""
    rate = float(np.average(train.event, weights=weights(train)))
    return _predictions(test, np.full(test.patients, rate))


def utility_scores(predictions: Predictions, *, bootstrap: int = 0, seed: int = 0) -> list[Score]:
    """Score predictions. Intervals come from the test patients; the model stays as trained."""
    return scored(
        _statistic(predictions),
        (len(predictions.event),),
        DIRECTIONS.__getitem__,
        bootstrap=bootstrap,
        seed=seed,
        limits=_limits,
        notes=_notes(predictions),
    )


def curves(predictions: Predictions) -> dict[str, dict[str, Floats]]:
    """Return ROC, precision-recall and calibration curves, x rising; empty where undefined."""
    return {
        "roc": _roc(predictions),
        "pr": _precision_recall(predictions),
        "calibration": _calibration(predictions),
    }


def _predictions(test: Trajectories, probability: Floats) -> Predictions:
    return Predictions(test.event, probability, test.group, test.site)


def _statistic(predictions: Predictions) -> Callable[[Floats], dict[str, float]]:
    event, probability = predictions.event, predictions.probability
    ranking = Ranking(event, probability)

    def statistic(weight: Floats) -> dict[str, float]:
        total = weight.sum() or np.nan  # of nobody, nothing is defined
        return {
            "auroc": ranking.auroc(weight),
            "auprc": ranking.auprc(weight),
            "brier": float((weight * (event - probability) ** 2).sum() / total),
            "ece": ece(event, probability, weight),
            "calibration_slope": calibration_slope(event, probability, weight),
            "calibration_intercept": calibration_intercept(event, probability, weight),
            "mean_prediction": float((weight * probability).sum() / total),
        }

    return statistic


def _limits(metric: str) -> tuple[float, float]:
    return (-np.inf, np.inf) if metric.startswith("calibration") else (0.0, 1.0)


def _notes(predictions: Predictions) -> Callable[[str, float], str]:
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
    return f"only {events} {plural}: too few to say anything" if events < FEW_EVENTS else ""


def _roc(predictions: Predictions) -> dict[str, Floats]:
    positive, negative = _tallies(predictions)
    if positive.sum() == 0 or negative.sum() == 0:
        return {"fpr": np.empty(0), "tpr": np.empty(0)}
    return {"fpr": _from_zero(negative), "tpr": _from_zero(positive)}


def _precision_recall(predictions: Predictions) -> dict[str, Floats]:
    positive, negative = _tallies(predictions)
    if positive.sum() == 0:
        return {"recall": np.empty(0), "precision": np.empty(0)}
    hits = np.cumsum(positive)
    precision = hits / np.cumsum(positive + negative)
    return {
        "recall": np.concatenate([[0.0], hits / hits[-1]]),
        "precision": np.concatenate([precision[:1], precision]),
    }


def _calibration(predictions: Predictions) -> dict[str, Floats]:
    place = bin_of(predictions.probability)
    count = np.bincount(place, minlength=BINS)
    filled = count > 0
    predicted = np.bincount(place, predictions.probability, BINS)[filled] / count[filled]
    observed = np.bincount(place, predictions.event, BINS)[filled] / count[filled]
    return {"predicted": predicted, "observed": observed}


def _tallies(predictions: Predictions) -> tuple[Floats, Floats]:
    """Events and others at each distinct probability, falling."""
    ranking = Ranking(predictions.event, predictions.probability)
    positive, negative = ranking.tallies(np.ones(len(predictions.event)))
    return positive[::-1], negative[::-1]


def _from_zero(counts: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
