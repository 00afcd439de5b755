"""Dependence: how a patient's summaries correlate, how much a value says about later ones, and
whether a classifier finds any difference between real and synthetic patients at all."""

from dataclasses import replace

import numpy as np

from longsynth.audit.classifiers import fitted_probability
from longsynth.audit.marginals import Measure, Tables, mean_of_known, per_patient
from longsynth.audit.ranking import Ranking
from longsynth.audit.view import (
    View,
    categorical,
    clipped,
    level_codes,
    level_count,
    over_time,
    summaries,
    view,
    weights,
)
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

LAGS = (1, 2, 3)
FURTHEST = 12  # slots between two readings that still count towards elapsed time
ELAPSED = np.array([0, 1 / 12, 1 / 6, 1 / 3, 2 / 3, 4 / 3, 8 / 3])  # bin edges in max_gap
FEWEST_PAIRS = 30  # real pairs below which a bin of elapsed time is left out
FOLDS = 3


def correlations(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Mean absolute difference of two correlation matrices, off the diagonal.

    A summary that does not vary has correlation 0 with everything. One that varies in neither
    cohort is left out, so that a fixed number of slots does not dilute the error.
    """
    a, b = summaries(schema, real), summaries(schema, synthetic)
    vary = (np.ptp(a, axis=0) > 1e-9) | (np.ptp(b, axis=0) > 1e-9)
    a, b = a[:, vary], b[:, vary]
    pairs = np.triu_indices(a.shape[1], 1)

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        if len(pairs[0]) == 0:
            return {"correlation_error": np.nan}
        apart = _correlations(a, real_weight) - _correlations(b, synthetic_weight)
        return {"correlation_error": float(np.abs(apart[pairs]).mean())}

    return measure


def _correlations(features: Floats, weight: Floats) -> Floats:
    share = weight / max(float(weight.sum()), 1e-300)
    centred = features - share @ features
    centred *= np.sqrt(share)[:, None]
    covariance = centred.T @ centred  # of one array, which takes half the time
    spread = np.sqrt(np.diag(covariance))
    known = spread > 1e-9
    scale = np.where(known, 1 / np.where(known, spread, 1.0), 0.0)
    return np.asarray(covariance * scale[:, None] * scale)


def autocorrelations(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Mean over variables of the absolute difference in pooled autocorrelation, by lag. Unordered
    levels have none; `transitions` compares those."""
    by_lag = {
        f"autocorrelation_error{'' if lag == 1 else f'_lag{lag}'}": at_lag(
            schema, real, synthetic, lag
        )
        for lag in LAGS
    }

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        return {name: apart(real_weight, synthetic_weight) for name, apart in by_lag.items()}

    return measure


def elapsed_autocorrelation(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """The same by hours between two readings."""
    a, b = (_elapsed_sums(schema, _numbers(schema, cohort)) for cohort in (real, synthetic))
    apart = PairSums(a, b, a[:, 0].sum(axis=0) >= FEWEST_PAIRS)
    return lambda *weight: {"autocorrelation_error_elapsed": apart(*weight)}


class PairSums:
    """Sums over a patient's pairs of readings, from which a correlation follows for any weights."""

    def __init__(self, real: Floats, synthetic: Floats, counted: Bools) -> None:
        self._real, self._synthetic, self._counted = real, synthetic, counted

    def __call__(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        if not self._counted.any():
            return np.nan
        apart = _correlation(real_weight, self._real) - _correlation(
            synthetic_weight, self._synthetic
        )
        return float(np.abs(apart[self._counted]).mean())


def at_lag(schema: Schema, real: Trajectories, synthetic: Trajectories, lag: int) -> PairSums:
    """Mean over variables of |difference of pooled correlation| that many slots apart."""
    a, b = (_lag_sums(_numbers(schema, cohort), lag) for cohort in (real, synthetic))
    return PairSums(a, b, a[:, 0].sum(axis=0) >= 2)


def _numbers(schema: Schema, cohort: Trajectories) -> View:
    """The view of those variables over time that are numbers or ordered levels."""
    whole = view(schema, cohort)
    chosen = [v for v in over_time(schema) if schema.variables[v].kind != "nominal"]
    values = np.take(whole.values, chosen, axis=2)
    return replace(whole, values=values, observed=np.take(whole.observed, chosen, axis=2))


def _lag_sums(cohort: View, lag: int) -> Floats:
    """(n, 6, V): number of pairs, Σx, Σy, Σxx, Σyy, Σxy."""
    early, late = cohort.values[:, :-lag], cohort.values[:, lag:]
    both = cohort.observed[:, :-lag] & cohort.observed[:, lag:]
    return np.stack([np.where(both, part, 0.0).sum(axis=1) for part in _moments(early, late)], 1)


def _elapsed_sums(schema: Schema, cohort: View) -> Floats:
    """(n, 6, V·bins): the same by hours between the two readings."""
    patients, slots, variables = cohort.values.shape
    bins = len(ELAPSED) - 1
    sums = np.zeros((6, patients * variables * bins))
    cell = np.arange(patients * variables).reshape(patients, 1, variables) * bins
    for lag in range(1, min(slots, FURTHEST + 1)):
        hours = cohort.time[:, lag:] - cohort.time[:, :-lag]
        place = np.searchsorted(ELAPSED * schema.max_gap, hours, side="right")[:, :, None] - 1
        both = cohort.observed[:, :-lag] & cohort.observed[:, lag:] & (place < bins)
        where = np.broadcast_to(cell + place, both.shape)[both]
        for row, part in enumerate(_moments(cohort.values[:, :-lag], cohort.values[:, lag:])):
            sums[row] += np.bincount(where, np.broadcast_to(part, both.shape)[both], sums.shape[1])
    by_patient = sums.reshape(6, patients, variables * bins).transpose(1, 0, 2)
    return np.ascontiguousarray(by_patient)


def _moments(early: Floats, late: Floats) -> tuple[Floats, ...]:
    return np.ones_like(early), early, late, early**2, late**2, early * late


def _correlation(weight: Floats, sums: Floats) -> Floats:
    """0 where there is no pair or no variation: then nothing is known about a later value."""
    number, x, y, xx, yy, xy = per_patient(weight, sums)
    number = np.where(number > 0, number, 1.0)
    spread = np.maximum(xx / number - (x / number) ** 2, 0) * np.maximum(
        yy / number - (y / number) ** 2, 0
    )
    known = spread > 1e-18
    together = xy / number - x * y / number**2
    return np.asarray(np.where(known, together / np.sqrt(np.where(known, spread, 1.0)), 0.0))


def transitions(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Total variation between the rows of two transition tables, by how often rows occur.

    A level that synthetic patients never leave counts as entirely wrong.
    """
    tables = []
    for v in categorical(schema):  # a static variable takes no step and adds nothing
        levels = level_count(schema.variables[v])
        steps = (*_steps(schema, real, v), *_steps(schema, synthetic, v))
        tables.append((levels, Tables(levels**2, *steps)))

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        errors = []
        for levels, table in tables:
            a, b = (
                counts.reshape(levels, levels)
                for counts in table.counts(real_weight, synthetic_weight)
            )
            errors.append(_row_error(a, b))
        return {"transition_error": mean_of_known(errors)}

    return measure


def _steps(schema: Schema, cohort: Trajectories, v: int) -> tuple[Ints, Ints]:
    """Code each step between consecutive slots in which the variable was observed."""
    variable, observed = schema.variables[v], view(schema, cohort).observed[:, :, v]
    level = level_codes(variable, clipped(schema, cohort)[:, :, v])
    both = observed[:, :-1] & observed[:, 1:]
    code = level[:, :-1] * level_count(variable) + level[:, 1:]
    return code[both], np.nonzero(both)[0]


def _row_error(real: Floats, synthetic: Floats) -> float:
    visits, others = real.sum(axis=1), synthetic.sum(axis=1)
    if visits.sum() <= 0:
        return np.nan
    there = (visits > 0) & (others > 0)
    distance = np.where(visits > 0, 1.0, 0.0)
    apart = real[there] / visits[there, None] - synthetic[there] / others[there, None]
    distance[there] = np.abs(apart).sum(axis=1) / 2
    return float((distance * visits).sum() / visits.sum())


def real_vs_synthetic(
    schema: Schema, real: Trajectories, synthetic: Trajectories, columns: slice = slice(None)
) -> Measure:
    """Cross-validated AUC of a boosted classifier on summaries, event, group and site, or on some
    of these columns.

    Each cohort has the same total weight in training. The folds are made once: bootstrap weights
    count the patients evaluated, not those trained on.
    """
    features = np.vstack([_features(schema, cohort)[:, columns] for cohort in (real, synthetic)])
    label = np.repeat([0, 1], [real.patients, synthetic.patients])
    weight = np.concatenate([np.ones(real.patients), weights(synthetic)])
    ranking = Ranking(label, _out_of_fold(features, label, weight))

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        both = np.concatenate([real_weight, synthetic_weight])
        return {"real_vs_synthetic_auc": ranking.auroc(both)}

    return measure


def _out_of_fold(features: Floats, label: Ints, weight: Floats) -> Floats:
    """Copies of one record share a fold: otherwise a copied record would teach about itself."""
    _, record = np.unique(features, axis=0, return_inverse=True)
    records = int(record.max()) + 1
    fold = np.random.default_rng(0).permutation(records)[record.ravel()] % FOLDS
    score = np.zeros(len(label))
    for held_out in range(FOLDS):
        train, test = fold != held_out, fold == held_out
        balanced = weight[train].copy()
        for kind in (0, 1):
            chosen = label[train] == kind
            if balanced[chosen].sum() > 0:
                balanced[chosen] *= len(balanced) / 2 / balanced[chosen].sum()
        if test.any():
            score[test] = fitted_probability(
                "boosted", features[train], label[train], balanced, features[test]
            )
    return score


def _features(schema: Schema, cohort: Trajectories) -> Floats:
    sites = cohort.site[:, None] == np.arange(len(schema.sites))
    return np.column_stack([summaries(schema, cohort), cohort.event, cohort.group, sites])
