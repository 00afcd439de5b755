"""Cox models of one cause, by lifelines, and curves of cumulative incidence. Patients count by
weight. Patients who end in another way leave the risk set of a cause, as censored patients do."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from longsynth.audit.targets import Actual, Patients, Target
from longsynth.schema.schema import LABEL_ORDER
from longsynth.system.arrays import Floats, Ints, sizes_only
from longsynth.system.errors import Code, Refused
from longsynth.system.workers import single_thread

PENALTY = 1e-2  # of a Cox model on standardised predictors: it keeps estimates finite
LEAST_VARIED = 10  # patients with another value than the most common one, or a predictor is unused


@dataclass(frozen=True, slots=True)
class Cox:
    """The model of one cause: log hazard ratios per unit of each predictor, with their standard
    errors (infinite where a predictor does not vary), and the hazard of the average patient."""

    ratio: Floats  # (P,)
    error: Floats  # (P,)
    mean: Floats  # (P,)
    times: Floats  # of the cumulative hazard, ascending
    hazard: Floats
    influence: Floats | None = None  # (n, P): how much each patient moves the ratios

    __repr__ = sizes_only

    def risk(self, predictors: Floats) -> Floats:
        """(n,): log hazard ratios against the average patient, kept to what arithmetic can bear."""
        return np.asarray(np.clip((predictors - self.mean) @ self.ratio, -20.0, 20.0))

    def at(self, times: Floats) -> Floats:
        """The cumulative hazard of the average patient at these times."""
        place = np.searchsorted(self.times, times, side="right")
        return np.asarray(np.concatenate([[0.0], self.hazard])[place])


def fitted_cox(
    predictors: Floats, actual: Actual, cause: int, weight: Floats, *, influence: bool = False
) -> Cox | None:
    """Fit the hazard of a cause; None if nobody ends that way or nothing varies."""
    fitter, frame = _lifelines()
    known = actual.known & (weight > 0)
    given, happened = predictors[known], actual.status[known] == cause
    mean, spread = given.mean(axis=0), given.std(axis=0)
    used = np.flatnonzero([_varied(column) >= LEAST_VARIED for column in given.T])
    if not happened.any() or not len(used):
        return None
    table = frame((given[:, used] - mean[used]) / spread[used])
    table.columns = [f"x{i}" for i in used]
    # A patient with time 0 is at risk for a moment.
    table["time"], table["event"] = np.maximum(actual.value[known], 1e-9), happened
    if weighted := bool(np.ptp(weight[known]) > 0):
        table["weight"] = weight[known]
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fractional weights, collinear predictors
        model = fitter(penalizer=PENALTY)
        try:
            model.fit(table, "time", "event", weights_col="weight" if weighted else None)
        except _no_fit():  # a predictor separates those who end from all others
            return None
        moved = model.compute_residuals(table, "delta_beta") if influence else None
    ratio, error = np.zeros(predictors.shape[1]), np.full(predictors.shape[1], np.inf)
    ratio[used] = model.params_.to_numpy() / spread[used]
    error[used] = model.standard_errors_.to_numpy() / spread[used]
    base = model.baseline_cumulative_hazard_
    shifts = None
    if moved is not None:
        shifts = np.zeros((len(predictors), len(ratio)))
        by_patient = moved.sort_index().to_numpy() / spread[used]
        shifts[np.ix_(np.flatnonzero(known), used)] = by_patient
    times, hazard = base.index.to_numpy(np.float64), base.iloc[:, 0].to_numpy(np.float64)
    return Cox(ratio, error, mean, times, hazard, shifts)


def _varied(column: Floats) -> int:
    """Patients who differ from the most common value: with few of them, the ratio runs away."""
    return len(column) - int(np.unique(column, return_counts=True)[1].max(initial=0))


def _lifelines() -> tuple[Any, Any]:
    try:
        from lifelines import CoxPHFitter
        from pandas import DataFrame
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "an audit of a time to event needs lifelines, which is not installed.",
            "Run pip install 'longsynth[audit]'.",
        ) from None
    return CoxPHFitter, DataFrame


def _no_fit() -> Any:
    from lifelines.exceptions import ConvergenceError

    return ConvergenceError


def covariates(target: Target, patients: Patients) -> Floats:
    """(n, P): the predictors, and each group and the site: a study reports their hazard ratios."""
    schema, cohort = patients.schema, patients.cohort
    columns = [patients.predictors(target)]
    for what in LABEL_ORDER[:2]:
        code = np.asarray(getattr(cohort, what))
        columns += [(code == i)[:, None] for i in range(1, len(schema.levels(what)))]
    for group in schema.groups:
        if group.variable is not None:
            code = np.where(
                cohort.observed[:, 0, group.variable], cohort.values[:, 0, group.variable], 0
            )
            columns += [(code == i)[:, None] for i in range(1, len(group.levels))]
    return np.concatenate(columns, axis=1).astype(np.float64)


def incidence(time: Floats, status: Ints, weight: Floats, causes: int, at: Floats) -> Floats:
    """(causes, times): the share of patients who ended in each way by these times, had nobody been
    censored. NaN, if there is nobody."""
    order = np.argsort(time, kind="stable")
    return incidence_in_order(time[order], status[order], weight[order], causes, at)


def incidence_in_order(
    time: Floats, status: Ints, weight: Floats, causes: int, at: Floats
) -> Floats:
    """Of patients in the order of their times."""
    if not weight.sum() > 0:
        return np.full((causes, len(at)), np.nan)
    ends = np.flatnonzero(np.diff(time, append=np.inf) > 0)  # of tied times
    staying = np.cumsum(weight[::-1])[::-1][np.concatenate([[0], ends[:-1] + 1])]
    events = [
        np.diff(np.cumsum(weight * (status == k))[ends], prepend=0.0) for k in range(1, causes + 1)
    ]
    shares = np.array(events) / np.where(staying > 0, staying, 1.0)
    left = np.cumprod(np.maximum(1 - shares.sum(axis=0), 0.0))
    reached = np.cumsum(np.concatenate([[1.0], left[:-1]]) * shares, axis=1)
    place = np.searchsorted(time[ends], at, side="right")
    return np.asarray(np.concatenate([np.zeros((causes, 1)), reached], axis=1)[:, place])
