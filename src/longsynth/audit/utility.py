"""Utility: is a model trained on synthetic patients any good for real ones, in both groups and at
every site?"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from longsynth.audit.classifiers import fitted_probability
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import (
    Predictions,
    Ranking,
    calibration_intercept,
    calibration_slope,
    ece,
)
from longsynth.audit.view import summaries, weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

FEW_EVENTS = 10  # below this a ranking metric says next to nothing
GROUPS = ("group0", "group1")


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
    return Predictions(test.event, probability, test.group, test.site)


def base_rate(train: Trajectories, test: Trajectories) -> Predictions:
    """Predict the training cohort's event rate for everyone: the floor of every table."""
    rate = float(np.average(train.event, weights=weights(train)))
    return Predictions(test.event, np.full(test.patients, rate), test.group, test.site)


def utility_scores(predictions: Predictions, *, bootstrap: int = 0, seed: int = 0) -> list[Score]:
    """Score predictions. Intervals resample the test patients; the model stays as trained."""
    ranked = _ranked(predictions)
    return scored(
        lambda weight: {metric.name: metric.compute(ranked, weight) for metric in UTILITY},
        (len(predictions.event),),
        UTILITY,
        bootstrap=bootstrap,
        seed=seed,
        notes=_utility_notes(predictions),
    )


def _ranked(predictions: Predictions) -> Ranked:
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


def subgroup_scores(
    schema: Schema, predictions: Predictions, *, bootstrap: int = 0, seed: int = 0
) -> list[Score]:
    """Score each group, the worst one, their gap, and each group at each site.

    The average precision of guessing is the group's own event rate: two groups with different event
    rates differ in average precision even under equal skill.
    """
    parts = _parts(schema, predictions)
    events = {name: int(predictions.event[rows].sum()) for name, rows in parts.items()}
    ranked = _ranked(predictions)
    computations = dict.fromkeys(metric.compute for metric in SUBGROUPS)

    def statistic(weight: Floats) -> dict[str, float]:
        values: dict[str, float] = {}
        for compute in computations:
            values |= compute(ranked, parts, weight)
        return values

    return scored(
        statistic,
        (len(predictions.event),),
        SUBGROUPS,
        bootstrap=bootstrap,
        seed=seed,
        notes=_subgroup_notes(events),
    )


def _parts(schema: Schema, predictions: Predictions) -> dict[str, Bools]:
    parts = {name: predictions.group == g for g, name in enumerate(GROUPS)}
    if len(schema.sites) > 1:
        for g, name in enumerate(GROUPS):
            for s, site in enumerate(schema.sites):
                chosen = (predictions.group == g) & (predictions.site == s)
                parts[f"{name}_site_{site}"] = chosen
    return parts


def _by_part(ranked: Ranked, parts: dict[str, Bools], weight: Floats) -> dict[str, float]:
    auprc = {name: ranked.ranking.auprc(weight * rows) for name, rows in parts.items()}
    ece_ = {
        name: ece(ranked.event, ranked.probability, weight * rows) for name, rows in parts.items()
    }
    pair = [auprc[name] for name in GROUPS]
    return {
        **{f"{name}_auprc": auprc[name] for name in GROUPS},
        **{f"{name}_ece": ece_[name] for name in GROUPS},
        "worst_group_auprc": float(np.min(pair)),
        "group_gap_auprc": abs(pair[1] - pair[0]),
        **{f"{name}_auprc": value for name, value in auprc.items() if name not in GROUPS},
        **{f"{name}_ece": value for name, value in ece_.items() if name not in GROUPS},
    }


def _subgroup_notes(events: dict[str, int]) -> Callable[[str, float], str]:
    fewest = min(events[name] for name in GROUPS)

    def note(metric: str, value: float) -> str:
        part = metric.rpartition("_")[0]
        count = events.get(part, fewest)
        if count == 0 and np.isnan(value):
            return "no events: no conclusion is possible"
        return too_few(count) if count < FEW_EVENTS else ""

    return note


# Computed from ranked predictions, the patients of each part, and the weights.
SUBGROUPS = [
    Metric(
        "group<group>[_site_<site>]_auprc",
        "AUPRC in group <group>[ at site <site>]",
        "higher",
        "Average precision within a group, or within a group at one site if there are several.",
        _by_part,
        short="Group <group>[ at <site>] AUPRC",
        compare="its *base rate* row",
    ),
    Metric(
        "group<group>[_site_<site>]_ece",
        "calibration error in group <group>[ at site <site>]",
        "lower",
        "Expected calibration error within a group, or within a group at one site.",
        _by_part,
        short="Group <group>[ at <site>] ECE",
    ),
    Metric(
        "worst_group_auprc",
        "AUPRC in the worse group",
        "higher",
        "The lower average precision of the two groups.",
        _by_part,
        short="Worst-group AUPRC",
    ),
    Metric(
        "group_gap_auprc",
        "AUPRC, difference between the groups",
        "lower",
        "The absolute difference between the two groups' average precision.",
        _by_part,
        short="Group gap AUPRC",
    ),
]
