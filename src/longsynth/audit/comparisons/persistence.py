"""Persistence: how much a value says of the same patient's later ones."""

from dataclasses import replace

import numpy as np

from longsynth.audit.comparisons.comparison import Measure
from longsynth.audit.comparisons.distributions import Tables, mean_of_known
from longsynth.audit.comparisons.levels import categorical, level_codes, level_count, over_time
from longsynth.audit.view import View, inside, view
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints

LAGS = (1, 2, 3)
FURTHEST = 12  # slots between two readings that still count towards elapsed time
ELAPSED = np.array([0, 1 / 12, 1 / 6, 1 / 3, 2 / 3, 4 / 3, 8 / 3])  # bin edges in max_gap
FEWEST_PAIRS = 30  # real pairs below which a bin of elapsed time is left out


def autocorrelations(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Mean over variables of the absolute difference in pooled autocorrelation. Of unordered levels
    there is none: what follows what is for `transitions` to say."""
    measures = {
        f"autocorrelation_error{'' if lag == 1 else f'_lag{lag}'}": by_lag(
            schema, real, synthetic, lag
        )
        for lag in LAGS
    }
    measures["autocorrelation_error_elapsed"] = _by_elapsed(schema, real, synthetic)

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        return {
            name: float(apart(real_weight, synthetic_weight)) for name, apart in measures.items()
        }

    return measure


def first_lag(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """The first of them alone."""
    apart = by_lag(schema, real, synthetic, 1)
    return lambda *weights: {"autocorrelation_error": apart(*weights)}


class _Pairs:
    """Sums over a patient's pairs of readings, from which a correlation follows for any weights."""

    def __init__(self, real: Floats, synthetic: Floats, counted: np.ndarray) -> None:
        self._real, self._synthetic, self._counted = real, synthetic, counted

    def __call__(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        if not self._counted.any():
            return np.nan
        apart = _correlation(real_weight, self._real) - _correlation(
            synthetic_weight, self._synthetic
        )
        return float(np.abs(apart[self._counted]).mean())


def by_lag(schema: Schema, real: Trajectories, synthetic: Trajectories, lag: int) -> _Pairs:
    """Mean over variables of |difference of pooled correlation| that many slots apart."""
    a, b = (_lag_sums(_numbers(schema, cohort), lag) for cohort in (real, synthetic))
    return _Pairs(a, b, a[:, 0].sum(axis=0) >= 2)


def _by_elapsed(schema: Schema, real: Trajectories, synthetic: Trajectories) -> _Pairs:
    a, b = (_elapsed_sums(schema, _numbers(schema, cohort)) for cohort in (real, synthetic))
    return _Pairs(a, b, a[:, 0].sum(axis=0) >= FEWEST_PAIRS)


def _numbers(schema: Schema, cohort: Trajectories) -> View:
    """The view of those variables over time that are numbers or ordered levels."""
    whole = view(schema, cohort)
    chosen = [v for v in over_time(schema) if schema.variables[v].kind != "nominal"]
    values, seen = np.take(whole.values, chosen, axis=2), np.take(whole.seen, chosen, axis=2)
    return replace(whole, values=values, seen=seen)


def _lag_sums(cohort: View, lag: int) -> Floats:
    """(n, 6, V): number of pairs, Σx, Σy, Σxx, Σyy, Σxy."""
    early, late = cohort.values[:, :-lag], cohort.values[:, lag:]
    both = cohort.seen[:, :-lag] & cohort.seen[:, lag:]
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
        both = cohort.seen[:, :-lag] & cohort.seen[:, lag:] & (place < bins)
        where = np.broadcast_to(cell + place, both.shape)[both]
        for row, part in enumerate(_moments(cohort.values[:, :-lag], cohort.values[:, lag:])):
            sums[row] += np.bincount(where, np.broadcast_to(part, both.shape)[both], sums.shape[1])
    return sums.reshape(6, patients, variables * bins).transpose(1, 0, 2)


def _moments(early: Floats, late: Floats) -> tuple[Floats, ...]:
    return np.ones_like(early), early, late, early**2, late**2, early * late


def _correlation(weight: Floats, sums: Floats) -> Floats:
    """0 where there is no pair or no spread: nothing is known of a later value then."""
    number, x, y, xx, yy, xy = np.tensordot(weight, sums, axes=1)
    number = np.where(number > 0, number, 1.0)
    spread = np.maximum(xx / number - (x / number) ** 2, 0) * np.maximum(
        yy / number - (y / number) ** 2, 0
    )
    known = spread > 1e-18
    together = xy / number - x * y / number**2
    return np.asarray(np.where(known, together / np.sqrt(np.where(known, spread, 1.0)), 0.0))


def transitions(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Total variation between the rows of two transition tables, by how often rows occur.

    A level that synthetic patients never leave from counts as wholly wrong.
    """
    tables = []
    for v in categorical(schema):  # what is static takes no step, and adds nothing
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
    """Code each step between consecutive slots in which the variable was seen."""
    variable, seen = schema.variables[v], view(schema, cohort).seen[:, :, v]
    level = level_codes(variable, inside(schema, cohort)[:, :, v])
    both = seen[:, :-1] & seen[:, 1:]
    code = level[:, :-1] * level_count(variable) + level[:, 1:]
    return code[both], np.nonzero(both)[0]


def _row_error(real: Floats, synthetic: Floats) -> float:
    visits, others = real.sum(axis=1), synthetic.sum(axis=1)
    if visits.sum() <= 0:
        return np.nan
    there = (visits > 0) & (others > 0)
    rows = np.where(visits > 0, 1.0, 0.0)
    apart = real[there] / visits[there, None] - synthetic[there] / others[there, None]
    rows[there] = np.abs(apart).sum(axis=1) / 2
    return float((rows * visits).sum() / visits.sum())
