"""Marginals: each variable's values, what is missing, the gaps, the number of slots and the event,
each compared between real and synthetic patients.

A comparison is prepared once for two cohorts: sorting and counting happen then. The measure that it
returns is then evaluated for weights of both cohorts; a bootstrap replicate is another pair of
weights.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from longsynth.audit.view import clipped, level_codes, level_count, summed, view
from longsynth.schema.record import Trajectories, given_codes
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

Measure = Callable[[Floats, Floats], dict[str, float]]  # weights of real and synthetic patients
Comparison = Callable[[Schema, Trajectories, Trajectories], Measure]


class Samples:
    """Observations of real and synthetic patients, with the patient of each, sorted once."""

    def __init__(self, real: Floats, of_real: Ints, synthetic: Floats, of_synthetic: Ints) -> None:
        values = np.concatenate([real, synthetic])
        order = np.argsort(values, kind="stable")
        sorted_ = values[order]
        self._ends = np.flatnonzero(np.diff(sorted_, append=np.inf) > 0)  # of tied runs
        self._values = sorted_[self._ends]
        self._numbers = np.bincount(of_real), np.bincount(of_synthetic)  # of each patient
        patients = len(self._numbers[0])
        self._owner = np.concatenate([of_real, patients + of_synthetic])[order]

    def kolmogorov_smirnov(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        apart = self._apart(real_weight, synthetic_weight)
        return float(np.abs(apart).max()) if apart is not None else np.nan

    def wasserstein(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        """Mean distance that observations must move, in their unit."""
        apart = self._apart(real_weight, synthetic_weight)
        if apart is None:
            return np.nan
        return float((np.abs(apart[:-1]) * np.diff(self._values)).sum())

    def _apart(self, real_weight: Floats, synthetic_weight: Floats) -> Floats | None:
        """The two distribution functions' difference at each distinct value."""
        real, synthetic = (
            weight[: len(numbers)]  # who comes after them has no observation
            for weight, numbers in zip((real_weight, synthetic_weight), self._numbers, strict=True)
        )
        whole, other = real @ self._numbers[0], synthetic @ self._numbers[1]
        if not (whole > 0 and other > 0):
            return None
        signed = np.concatenate([real / whole, -synthetic / other])
        return np.asarray(np.cumsum(signed[self._owner])[self._ends])


class Tables:
    """Counts of coded observations, real and synthetic."""

    def __init__(
        self, codes: int, real: Ints, of_real: Ints, synthetic: Ints, of_synthetic: Ints
    ) -> None:
        self._codes = codes
        self._real, self._of_real = real, of_real
        self._synthetic, self._of_synthetic = synthetic, of_synthetic

    def counts(self, real_weight: Floats, synthetic_weight: Floats) -> tuple[Floats, Floats]:
        return (
            summed(self._real, real_weight[self._of_real], self._codes),
            summed(self._synthetic, synthetic_weight[self._of_synthetic], self._codes),
        )

    def total_variation(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        real, synthetic = self.counts(real_weight, synthetic_weight)
        if not (real.sum() > 0 and synthetic.sum() > 0):
            return np.nan
        return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


def codes(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Compare who ever has which code of a public list, which two come together, and how much more
    common each is with the event; nothing without codes. All codes of a real patient count."""
    cohorts = [(ever_codes(schema, c), c.event > 0) for c in (real, synthetic)]
    pairs = np.triu_indices(len(schema.code_names), 1)

    def of_one(ever: Any, event: Bools, weight: Floats) -> dict[str, Floats]:
        shares = [_shares(ever, np.where(who, weight, 0.0)) for who in (event, ~event)]
        total = max(float(weight.sum()), 1e-300)
        together = (ever.T @ ever.multiply((weight / total)[:, None])).toarray()
        return {
            "code_prevalence_error": _shares(ever, weight),
            "code_pair_error": together[pairs],
            "code_event_error": shares[0] - shares[1],
        }

    def measure(*weights: Floats) -> dict[str, float]:
        if not schema.codes:
            return {}
        one, other = (of_one(*c, w) for c, w in zip(cohorts, weights, strict=True))
        return {name: float(np.abs(one[name] - other[name]).mean()) for name in one}

    return measure


def ever_codes(schema: Schema, cohort: Trajectories) -> Any:
    """(n, C), sparse: 1 where a patient ever has a code."""
    from scipy.sparse import csr_array

    patient, slot, code = given_codes(cohort.codes)
    used = slot < cohort.length[patient]
    shape, places = (cohort.patients, len(schema.code_names)), (patient[used], code[used])
    ever = csr_array((np.ones(int(used.sum())), places), shape=shape)
    ever.sum_duplicates()
    ever.data[:] = 1.0
    return ever


def _shares(ever: Any, weight: Floats) -> Floats:
    total = float(weight.sum())
    return np.asarray(ever.T @ weight) / total if total > 0 else np.full(ever.shape[1], np.nan)


def mean_of_known(values: list[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else np.nan


def marginals(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Kolmogorov-Smirnov for continuous variables, total variation for those with levels."""
    distances = {}
    pairs = zip(_observations(schema, real), _observations(schema, synthetic), strict=True)
    for variable, ((a, of_a), (b, of_b)) in zip(schema.variables, pairs, strict=True):
        if variable.kind == "continuous":
            distances[variable.name] = Samples(a, of_a, b, of_b).kolmogorov_smirnov
        else:
            codes = level_codes(variable, a), of_a, level_codes(variable, b), of_b
            distances[variable.name] = Tables(level_count(variable), *codes).total_variation

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        by_variable = {
            f"marginal_ks_{name}": distance(real_weight, synthetic_weight)
            for name, distance in distances.items()
        }
        return {"marginal_ks": mean_of_known(list(by_variable.values())), **by_variable}

    return measure


def _observations(schema: Schema, cohort: Trajectories) -> list[tuple[Floats, Ints]]:
    """For each variable its observed values, in clinical units, and the patient of each."""
    values, observed = clipped(schema, cohort), view(schema, cohort).observed
    return [
        (values[:, :, v][observed[:, :, v]], np.nonzero(observed[:, :, v])[0])
        for v in range(len(schema.variables))
    ]


def gaps(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Wasserstein distance of gaps, in hours, each at most max_gap."""

    def used(cohort: Trajectories) -> tuple[Floats, Ints]:
        viewed = view(schema, cohort)
        return viewed.gaps[viewed.used], np.nonzero(viewed.used)[0]

    samples = Samples(*used(real), *used(synthetic))
    return lambda *weight: {"gap_wasserstein": samples.wasserstein(*weight)}


def visit_counts(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Wasserstein distance of the number of slots, for all patients and by event: the length of a
    record can reveal the event."""

    def lengths(cohort: Trajectories) -> tuple[Floats, Ints]:
        return cohort.length.astype(np.float64), np.arange(cohort.patients)

    samples = Samples(*lengths(real), *lengths(synthetic))

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        errors = {"visit_count_error": samples.wasserstein(real_weight, synthetic_weight)}
        for event in (0, 1):
            chosen = (
                real_weight * (real.event == event),
                synthetic_weight * (synthetic.event == event),
            )
            errors[f"visit_count_error_event{event}"] = samples.wasserstein(*chosen)
        return errors

    return measure


def prevalence(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Absolute difference in the share of patients with the event, overall and by group."""

    def share(cohort: Trajectories, weight: Floats) -> float:
        total = weight.sum()
        return float((weight * cohort.event).sum() / total) if total > 0 else np.nan

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        differences = {
            "prevalence_error": share(real, real_weight) - share(synthetic, synthetic_weight)
        }
        for group in (0, 1):
            of_real = share(real, real_weight * (real.group == group))
            of_synthetic = share(synthetic, synthetic_weight * (synthetic.group == group))
            differences[f"prevalence_error_group{group}"] = of_real - of_synthetic
        return {name: abs(difference) for name, difference in differences.items()}

    return measure


def missingness(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Absolute difference in the share of missing cells in slots in use, mean over variables. A
    static variable has one cell per patient, whether or not a slot is in use.

    `missingness_event_error` compares how much larger that share is with the event than without.
    """
    a, b = _cells(schema, real), _cells(schema, synthetic)
    names = [f"missingness_error_{variable.name}" for variable in schema.variables]

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        apart = np.abs(_missing(a, real_weight) - _missing(b, synthetic_weight))
        by_event = np.abs(
            _with_event_more(a, real.event, real_weight)
            - _with_event_more(b, synthetic.event, synthetic_weight)
        )
        return {
            "missingness_error": mean_of_known(apart.tolist()),
            "missingness_event_error": mean_of_known(by_event.tolist()),
            **dict(zip(names, apart.tolist(), strict=True)),
        }

    return measure


def _cells(schema: Schema, cohort: Trajectories) -> Floats:
    """(n, 2, V): missing cells of each variable, and all cells that a patient has."""
    viewed = view(schema, cohort)
    number = np.where(schema.layout.static, 1, viewed.used.sum(axis=1)[:, None])
    return np.stack([number - viewed.observed.sum(axis=1), number], axis=1).astype(np.float64)


def per_patient(weight: Floats, sums: Floats) -> Floats:
    """The weighted sum over patients of numbers (n, ·, ·) that each has."""
    return np.asarray(weight @ sums.reshape(len(sums), -1)).reshape(sums.shape[1:])


def _missing(cells: Floats, weight: Floats) -> Floats:
    missing, number = per_patient(weight, cells)
    known = number > 0
    return np.where(known, missing / np.where(known, number, 1.0), np.nan)


def _with_event_more(cells: Floats, event: Ints, weight: Floats) -> Floats:
    return _missing(cells, weight * (event == 1)) - _missing(cells, weight * (event == 0))
