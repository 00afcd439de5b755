"""Outcomes: how common the event is, what is missing, and how the two go together."""

import numpy as np

from longsynth.audit.comparisons.comparison import Measure
from longsynth.audit.comparisons.distributions import mean_of_known
from longsynth.audit.view import view
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints


def prevalence(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Absolute difference in the share of patients with the event, overall and by group."""

    def share(cohort: Trajectories, weight: Floats) -> float:
        total = weight.sum()
        return float((weight * cohort.event).sum() / total) if total > 0 else np.nan

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        found = {"prevalence_error": share(real, real_weight) - share(synthetic, synthetic_weight)}
        for group in (0, 1):
            of_real = share(real, real_weight * (real.group == group))
            of_synthetic = share(synthetic, synthetic_weight * (synthetic.group == group))
            found[f"prevalence_error_group{group}"] = of_real - of_synthetic
        return {name: abs(difference) for name, difference in found.items()}

    return measure


def missingness(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Absolute difference in the share of unseen cells in slots in use, mean over variables. What
    is static has one cell a patient, whether or not a slot is in use.

    `missingness_event_error` compares how much larger that share is with the event than without.
    """
    a, b = _cells(schema, real), _cells(schema, synthetic)
    names = [f"missingness_error_{variable.name}" for variable in schema.variables]

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        apart = np.abs(_missing(a, real_weight) - _missing(b, synthetic_weight))
        dependence = np.abs(
            _dependence(a, real.event, real_weight)
            - _dependence(b, synthetic.event, synthetic_weight)
        )
        return {
            "missingness_error": mean_of_known(apart.tolist()),
            "missingness_event_error": mean_of_known(dependence.tolist()),
            **dict(zip(names, apart.tolist(), strict=True)),
        }

    return measure


def _cells(schema: Schema, cohort: Trajectories) -> Floats:
    """(n, 2, V): unseen cells of each variable, and all that a patient has."""
    seen_as = view(schema, cohort)
    number = np.where(schema.layout.static, 1, seen_as.used.sum(axis=1)[:, None])
    return np.stack([number - seen_as.seen.sum(axis=1), number], axis=1).astype(np.float64)


def _missing(cells: Floats, weight: Floats) -> Floats:
    unseen, number = np.tensordot(weight, cells, axes=1)
    known = number > 0
    return np.where(known, unseen / np.where(known, number, 1.0), np.nan)


def _dependence(cells: Floats, event: Ints, weight: Floats) -> Floats:
    return _missing(cells, weight * (event == 1)) - _missing(cells, weight * (event == 0))
