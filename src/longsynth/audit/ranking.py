"""Predicted probabilities: how well they rank patients, how well they are calibrated, and their
curves. Patients count by weight; NaN means undefined."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from longsynth.audit.view import summed
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

BINS = 10  # of equal width, for calibration
WILDEST = 50.0  # a slope or intercept beyond this has no finite optimum to converge to


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model predicted for test patients, and what happened."""

    event: Ints  # (n,)
    probability: Floats  # (n,)
    group: Ints  # (n,)
    site: Ints  # (n,)

    __repr__ = sizes_only


class Ranking:
    """Patients in order of their score, sorted once and then weighted as often as needed."""

    def __init__(self, event: Ints, score: Floats) -> None:
        levels, self._level = np.unique(score, return_inverse=True)
        self._levels = len(levels)
        self._code = 2 * self._level + (event == 1)

    def tallies(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weight of events and of others at each distinct score, in increasing order."""
        negative, positive = summed(self._code, weight, 2 * self._levels).reshape(-1, 2).T
        return positive, negative

    def auroc(self, weight: Floats) -> float:
        positive, negative = self.tallies(weight)
        pairs = positive.sum() * negative.sum()
        if pairs <= 0:
            return np.nan
        below = np.cumsum(negative) - negative / 2
        return float((positive * below).sum() / pairs)

    def auprc(self, weight: Floats) -> float:
        """Average precision: each event at the precision of everyone scored as high."""
        positive, negative = self.tallies(weight)
        if positive.sum() <= 0:
            return np.nan
        hits, all_ = np.cumsum(positive[::-1]), np.cumsum((positive + negative)[::-1])
        precision = hits / np.where(all_ > 0, all_, 1.0)
        return float((positive[::-1] * precision).sum() / hits[-1])

    def missed(self, weight: Floats, members: Bools, alerted: float) -> float:
        """The share of the events among `members` that get no alert, if this share of all patients
        does, highest scores first. Patients with equal scores share what is left of it."""
        everybody = summed(self._level, weight, self._levels)[::-1]
        before = np.cumsum(everybody) - everybody
        left = np.maximum(alerted * everybody.sum() - before, 0.0)
        reached = np.minimum(left / np.where(everybody > 0, everybody, 1.0), 1.0)
        events = self.tallies(weight * members)[0][::-1]
        return float(1 - (events * reached).sum() / events.sum()) if events.sum() > 0 else np.nan


def ece(event: Ints, probability: Floats, weight: Floats) -> float:
    """Expected calibration error over `BINS` bins of equal width."""
    total = weight.sum()
    if total <= 0:
        return np.nan
    off = np.bincount(bin_of(probability), weight * (event - probability), BINS)
    return float(np.abs(off).sum() / total)


def bin_of(probability: Floats) -> Ints:
    return np.minimum((probability * BINS).astype(np.int64), BINS - 1)


def logit(probability: Floats) -> Floats:
    inside = np.clip(probability, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(inside / (1 - inside)))


def calibration_slope(event: Ints, probability: Floats, weight: Floats) -> float:
    """Slope of the event's log odds on the predicted ones; the fit has its own intercept."""
    score = logit(probability)
    if _one_class(event, weight) or np.ptp(score[weight > 0]) < 1e-9:
        return np.nan
    centre = np.average(score, weights=weight)
    design = np.stack([np.ones(len(score)), score - centre])
    return float(_newton(design, np.zeros(len(score)), event, weight)[1])


def calibration_intercept(event: Ints, probability: Floats, weight: Floats) -> float:
    """What must be added to the log odds for the mean prediction to be right."""
    if _one_class(event, weight):
        return np.nan
    return float(_newton(np.ones((1, len(event))), logit(probability), event, weight)[0])


def _one_class(event: Ints, weight: Floats) -> bool:
    positive = weight[event == 1].sum()
    return bool(positive <= 0 or positive >= weight.sum())


def _newton(design: Floats, offset: Floats, event: Ints, weight: Floats) -> Floats:
    """Weighted logistic regression on rows of a design; NaN where the classes can be separated."""
    counted = weight > 0  # a third of a bootstrap replicate are not
    design, offset, weight = design[:, counted], offset[counted], weight[counted]
    event = event[counted]
    beta = np.zeros(len(design))
    for _ in range(60):
        mean = expit(beta @ design + offset)
        gradient = design @ (weight * (event - mean))
        curvature = (design * (weight * mean * (1 - mean))) @ design.T
        scale = 1e-12 * max(1.0, float(np.trace(curvature)))
        step = np.linalg.solve(curvature + scale * np.eye(len(beta)), gradient)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))  # no leaps
        beta = beta + step
        if np.abs(beta).max() > WILDEST:
            break
        if np.abs(step).max() < 1e-8:
            return beta
    return np.full(len(beta), np.nan)


def curves(predictions: Predictions) -> dict[str, dict[str, Floats]]:
    """Return ROC, precision-recall and calibration curves, x increasing; empty if undefined."""
    return {
        "roc": _roc(predictions),
        "pr": _precision_recall(predictions),
        "calibration": _calibration(predictions),
    }


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
    """Events and others at each distinct probability, in decreasing order."""
    ranking = Ranking(predictions.event, predictions.probability)
    positive, negative = ranking.tallies(np.ones(len(predictions.event)))
    return positive[::-1], negative[::-1]


def _from_zero(counts: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
