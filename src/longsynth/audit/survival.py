"""Utility for times to event: a Cox model of each cause, trained on one cohort and tested on real
patients, and the curves of the cohort itself.

With competing events, the curve of a cause is its cumulative incidence (Aalen and Johansen);
without them that is one minus the Kaplan–Meier curve.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longsynth.audit.cox import Cox, covariates, fitted_cox, incidence, incidence_in_order
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.subgroups import PartMeasure
from longsynth.audit.targets import Actual, Patients, Target
from longsynth.audit.utility import too_few
from longsynth.system.arrays import Bools, Floats, sizes_only

TIMES = 60  # of the grid on which curves are compared
AT_RISK = 0.1  # curves end where fewer than this share of the test patients are still at risk
LEAST_LEFT = 0.05  # of patients not censored: no patient stands for more than twenty
BLOCK = 256  # events whose pairs are compared at a time


@dataclass(frozen=True, slots=True)
class Reference:
    """The test patients of one outcome, and what every row of its tables is compared with."""

    targets: tuple[Target, ...]  # one for each cause
    actual: Actual  # of patients whose time is known
    covariates: Floats  # (n, P)
    grid: Floats  # times
    before: Floats  # (n,): 1 / P(not censored before the patient's own time)
    then: Floats  # (times,): 1 / P(not censored by then)
    cox: tuple[Cox | None, ...]  # of the test patients themselves, by cause
    error: Floats  # (causes, P): of the difference between the ratios of two real cohorts

    __repr__ = sizes_only


def reference(targets: tuple[Target, ...], train: Patients, test: Patients) -> Reference:
    """Prepare all comparisons of one outcome with the test patients."""
    actual, horizon = test.actual(targets[0]), _horizon(targets[0], test)
    rows = actual.known
    known = Actual(actual.value[rows], actual.known[rows], actual.status[rows])
    until = float(np.quantile(known.value, 1 - AT_RISK)) if rows.any() else horizon
    grid = np.linspace(0.0, max(until, horizon / 1000), TIMES + 1)[1:]
    one, censored = np.ones(len(known.value)), (known.status == 0).astype(np.int64)
    before, then = (
        1 / np.maximum(1 - incidence(known.value, censored, one, 1, at)[0], LEAST_LEFT)
        for at in (np.nextafter(known.value, -1.0), grid)
    )
    given, trained = covariates(targets[0], test)[rows], covariates(targets[0], train)
    cox = [fitted_cox(given, known, t.level, one, influence=True) for t in targets]
    everyone = np.ones(len(trained))
    other = [fitted_cox(trained, train.actual(t), t.level, everyone) for t in targets]
    unknown = np.full(given.shape[1], np.inf)
    error = [
        np.hypot(*(m.error if m else unknown for m in pair))
        for pair in zip(cox, other, strict=True)
    ]
    return Reference(targets, known, given, grid, before, then, tuple(cox), np.array(error))


def _horizon(target: Target, patients: Patients) -> float:
    assert target.outcome.variable is not None  # for mypy: a time is a variable
    return patients.schema.variables[target.outcome.variable].bounds[1]


@dataclass(frozen=True, slots=True)
class Survival:
    """What a model predicted of one cause, and the curve of the patients who trained it."""

    cause: int  # among the targets
    reference: Reference
    risk: Floats  # (n,): higher is earlier
    chance: Floats  # (n, times): P(ended in this way by then)
    curve: Floats  # (times,)
    ratio: Floats  # (P,)

    __repr__ = sizes_only

    @property
    def happened(self) -> Bools:
        level = self.reference.targets[self.cause].level
        return np.asarray(self.reference.actual.status == level)


def survival(test: Reference, train: Patients, *, model: bool, weighted: bool) -> list[Survival]:
    """Predict every cause. Without a model, everyone has the training cohort's curve."""
    target, causes, size = test.targets[0], len(test.targets), len(test.actual.value)
    actual = train.actual(target)
    weight = np.where(actual.known, train.weight if weighted else 1.0, 0.0)
    curves = incidence(actual.value, actual.status, weight, causes, test.grid)
    fits: list[Cox | None] = [None] * causes
    if model:
        given = covariates(target, train)
        fits = [fitted_cox(given, actual, t.level, weight) for t in test.targets]
    risks = [m.risk(test.covariates) if m else np.zeros(size) for m in fits]
    chances = np.repeat(curves[:, None], size, axis=1)
    if any(fits):
        steps = np.stack(
            [_steps(*each, test.grid) for each in zip(fits, risks, curves, strict=True)]
        )
        together = steps.sum(axis=0)
        left = np.exp(-np.cumsum(together, axis=1))
        leaving = np.concatenate([np.ones((size, 1)), left[:, :-1]], axis=1) - left
        chances = np.cumsum(steps * (leaving / np.maximum(together, 1e-300)), axis=2)
    none = np.zeros(test.covariates.shape[1])
    return [
        Survival(k, test, risks[k], chances[k], curves[k], m.ratio if m else none)
        for k, m in enumerate(fits)
    ]


def _steps(cox: Cox | None, risk: Floats, curve: Floats, grid: Floats) -> Floats:
    """(n, times): hazards between the times of the grid; without a model those of the curve."""
    own = -np.log1p(-np.clip(np.nan_to_num(curve), 0.0, 0.999))
    hazard = cox.at(grid) if cox else own
    return np.asarray(np.exp(risk)[:, None] * np.diff(hazard, prepend=0.0))


def concordance(predicted: Survival, rows: Bools) -> Callable[[Floats], float]:
    """Prepare the share of pairs, among these patients, in which the one who ended earlier has the
    higher risk.

    Weights enter to first order: a pair counts by the sum of its weights, less one. For
    bootstrap replicates this gives the same interval, without all pairs of patients each time.
    """
    where = np.flatnonzero(rows)
    time, risk = predicted.reference.actual.value[where], predicted.risk[where]
    happened = predicted.happened[where]
    right, pairs = np.zeros(len(where)), np.zeros(len(where))
    cases = np.flatnonzero(happened)
    for start in range(0, len(cases), BLOCK):
        i = cases[start : start + BLOCK, None]
        later = (time > time[i]) | ((time == time[i]) & ~happened)
        wins = np.where(later, (risk < risk[i]) + 0.5 * (risk == risk[i]), 0.0)
        for total, each in ((right, wins), (pairs, later)):
            total[i[:, 0]] += each.sum(axis=1)
            total += each.sum(axis=0)

    def measure(weight: Floats) -> float:
        share = weight[where] - 0.5
        compared = float(share @ pairs)
        return float(share @ right) / compared if compared > 0 else np.nan

    return measure


def part_concordance(predicted: Survival) -> PartMeasure:
    return lambda rows: concordance(predicted, rows)


def brier(predicted: Survival) -> Callable[[Floats], float]:
    """Prepare the Brier score over time, with censored patients represented by the others."""
    test = predicted.reference
    ended = (test.actual.value[:, None] <= test.grid) & (test.actual.status > 0)[:, None]
    staying = test.actual.value[:, None] > test.grid
    missed = np.where(ended, (predicted.happened[:, None] - predicted.chance) ** 2, 0.0)
    each = missed * test.before[:, None] + np.where(staying, predicted.chance**2 * test.then, 0.0)
    mean = each.mean(axis=1)
    return lambda weight: float((weight * mean).sum() / (weight.sum() or np.nan))


def curve_distance(predicted: Survival) -> Callable[[Floats], float]:
    """Prepare the largest distance between the curves of training and test patients."""
    test = predicted.reference
    order = np.argsort(test.actual.value, kind="stable")
    time, status = test.actual.value[order], test.actual.status[order]

    def measure(weight: Floats) -> float:
        curves = incidence_in_order(time, status, weight[order], len(test.targets), test.grid)
        return float(np.abs(curves[predicted.cause] - predicted.curve).max())

    return measure


def ratio_error(predicted: Survival) -> Callable[[Floats], float]:
    """Prepare the mean distance of log hazard ratios from the test patients' own, in standard
    errors. Weights move the test patients' ratios to first order."""
    own, error = (
        predicted.reference.cox[predicted.cause],
        predicted.reference.error[predicted.cause],
    )
    known = np.isfinite(error)
    if own is None or not known.any():
        return lambda weight: np.nan
    shifts = own.influence

    def measure(weight: Floats) -> float:
        moved = own.ratio if shifts is None else own.ratio + (weight - 1) @ shifts
        return float((np.abs(predicted.ratio - moved)[known] / error[known]).mean())

    return measure


# Computed from the predictions of one cause; what they return takes the test patients' weights.
SURVIVAL = [
    Metric(
        "concordance",
        "concordance",
        "higher",
        "Of two test patients, the probability that the one who ends earlier has the higher "
        "predicted risk (Harrell; other causes are censored).",
        lambda predicted: concordance(predicted, np.ones(len(predicted.risk), bool)),
        short="Concordance",
        compare="0.5: guessing",
        undefined="no test patient ends in this way",
    ),
    Metric(
        "integrated_brier",
        "integrated Brier score",
        "lower",
        "The Brier score of “ended in this way by then”, averaged over time and weighted for "
        "censoring.",
        brier,
        short="Integrated Brier",
        compare="*base rate*",
        undefined="there are no test patients",
    ),
    Metric(
        "curve_distance",
        "largest distance of the curves",
        "lower",
        "The largest difference between the Kaplan–Meier curves of training and test patients or, "
        "with competing events, between their cumulative incidences.",
        curve_distance,
        short="Curve distance",
        compare="*train on real*: two samples of patients",
        undefined="one of the cohorts has nobody",
    ),
    Metric(
        "hazard_ratio_error",
        "difference of log hazard ratios",
        "lower",
        "The mean difference of the log hazard ratios from those of the test patients, in standard "
        "errors of the difference between two real cohorts.",
        ratio_error,
        short="Hazard ratio error",
        limits=(0.0, np.inf),
        compare="0.8: two samples of patients; *base rate*: all ratios 1",
        undefined="the test patients have no model of this cause",
    ),
]


def survival_scores(predicted: Survival, *, bootstrap: int = 0, seed: int = 0) -> list[Score]:
    """Score one cause. Intervals resample the test patients; the model stays as trained."""
    measures = {metric.name: metric.compute(predicted) for metric in SURVIVAL}
    events = int(predicted.happened.sum())
    undefined = {metric.name: metric.undefined for metric in SURVIVAL}

    def note(metric: str, value: float) -> str:
        if np.isnan(value):
            return undefined[metric]
        return too_few(events) if metric != "integrated_brier" else ""

    return scored(
        lambda weight: {name: measure(weight) for name, measure in measures.items()},
        (len(predicted.risk),),
        SURVIVAL,
        bootstrap=bootstrap,
        seed=seed,
        notes=note,
    )
