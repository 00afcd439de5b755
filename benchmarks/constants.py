"""How sensitive `trust` is to its public constants, one at a time, on development seeds.

python benchmarks/constants.py --out benchmarks/results/constants.json --page docs/constants.md
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from longsynth import fit, model_of, plan, sample
from longsynth.constants import Constants
from longsynth.records import Cohort
from longsynth.report.constants_page import (
    AS_THEY_ARE,
    MEASURES,
    SETUP,
    SHUFFLED,
    YARDSTICK,
    constants_page,
    is_default,
)
from longsynth.schema import Schema
from longsynth.simulate import simulate, simulated_schema
from longsynth.synthetic import Synthetic

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Value = str | float
Scores = dict[str, float]  # measure → error

SEEDS = (101, 102, 103, 104, 105)  # development only
FRESH = 100_000  # added to a seed: the population a sample is judged against
DEFAULTS = "defaults"  # stands for a constant where none is moved
GRID: dict[str, tuple[Value, ...]] = {
    "clip_radius": ("1/6", "1/3", "1/2", "2/3", "5/6", "1"),  # multiples of √(T·V)
    "ridge": (0.001, 0.005, 0.01, 0.05, 0.2),
    "eigen_floor": (1e-4, 1e-3, 1e-2),
    "bandwidth": (0, 1, 3, 6, 13),
    "shrinkage": (0.0, 0.25, 0.5, 0.75, 1.0),
    "event_floor": (0.0, 0.02, 0.05),
    "release": ("separate", "joint"),
    "condition_gram": ("derived", "released"),
    "gram_sensitivity": ("tight", "triangle"),
    "second_moment": ("band", "whole"),
    "missing_values": ("midpoint", "interpolated"),
    "mask_coding": ("centred", "zero_one"),
    "strata_draw": ("even", "independent"),
    "encoding": ("bounds", "reference"),
    "covariance": ("banded", "diagonal"),
    "steps": (1, 20, 100),
}
YARDSTICKS: list[tuple[str, Value]] = [(YARDSTICK, AS_THEY_ARE), (YARDSTICK, SHUFFLED)]
NOTE = "noise is not seeded; a rerun differs within the sd"


@dataclass(frozen=True, slots=True)
class People:
    """Real or synthetic patients as the measures see them."""

    values: Floats  # (n, T, V); 0 where not observed
    observed: Bools  # (n, T, V)
    weight: Floats  # (n,)
    group: NDArray[np.int64]  # (n,)
    event: NDArray[np.int64]  # (n,)

    @property
    def patient_means(self) -> Floats:
        """(n, V); nan where a variable was never observed."""
        counts = self.observed.sum(axis=1)
        return np.where(counts > 0, self.values.sum(axis=1) / np.maximum(counts, 1), np.nan)


def people(cohort: Cohort | Synthetic) -> People:
    weight = cohort.weight if isinstance(cohort, Synthetic) else np.ones(cohort.patients)
    values = np.where(cohort.observed, cohort.values, 0.0)
    return People(values, cohort.observed, weight, cohort.group, cohort.event)


# Measures: each an error of synthetic patients against the population.


def scores(schema: Schema, real: People, synthetic: People) -> Scores:
    """Return every measure of the page; all are zero for a perfect sample."""
    continuous = [v for v, known in enumerate(schema.variables) if known.kind == "continuous"]
    found: dict[str, Any] = {
        "marginals": np.mean([marginal_distance(schema, v, real, synthetic) for v in _all(schema)]),
        "autocorrelation": np.mean(
            [abs(autocorrelation(synthetic, v) - autocorrelation(real, v)) for v in continuous]
        ),
        "correlation": np.mean(np.abs(mean_correlations(synthetic) - mean_correlations(real))),
        "event contrast": contrast_error(real, synthetic),
        "missing": np.mean(np.abs(missing_shares(synthetic) - missing_shares(real))),
        "prevalence": abs(prevalence(synthetic) - prevalence(real)),
    }
    return {name: float(found[name]) for name in MEASURES}


def marginal_distance(schema: Schema, v: int, real: People, synthetic: People) -> float:
    """Kolmogorov-Smirnov distance, or total variation of ordinal and binary variables."""
    first, second = observed_cells(real, v), observed_cells(synthetic, v)
    if schema.variables[v].kind == "continuous":
        at = np.concatenate([first[0], second[0]])
        return float(np.abs(cumulative(*first, at) - cumulative(*second, at)).max())
    low, high = schema.variables[v].bounds
    levels = np.arange(low, high + 1)
    return float(np.abs(level_shares(*first, levels) - level_shares(*second, levels)).sum() / 2)


def observed_cells(who: People, v: int) -> tuple[Floats, Floats]:
    """Return the observed values of a variable and their weights."""
    seen = who.observed[:, :, v]
    weight = np.broadcast_to(who.weight[:, None], seen.shape)
    return who.values[:, :, v][seen], weight[seen]


def cumulative(values: Floats, weight: Floats, at: Floats) -> Floats:
    order = np.argsort(values)
    share = np.concatenate([[0.0], np.cumsum(weight[order])]) / weight.sum()
    return np.asarray(share[np.searchsorted(values[order], at, side="right")])


def level_shares(values: Floats, weight: Floats, levels: Floats) -> Floats:
    share = [weight[values == level].sum() / weight.sum() for level in levels]
    return np.array(share, np.float64)


def autocorrelation(who: People, v: int) -> float:
    """Lag-1 autocorrelation over all neighbouring slots that are both observed."""
    before, after = who.values[:, :-1, v], who.values[:, 1:, v]
    both = who.observed[:, :-1, v] & who.observed[:, 1:, v]
    weight = np.broadcast_to(who.weight[:, None], both.shape)
    return correlation(before[both], after[both], weight[both])


def mean_correlations(who: People) -> Floats:
    """Correlation between the patient means of each pair of variables."""
    means = who.patient_means
    pairs = zip(*np.triu_indices(means.shape[1], k=1), strict=True)
    return np.array([correlation(means[:, a], means[:, b], who.weight) for a, b in pairs])


def correlation(first: Floats, second: Floats, weight: Floats) -> float:
    """Weighted correlation of the complete pairs; 0 where one side does not vary."""
    weight = np.where(np.isfinite(first + second), weight, 0.0)
    x, y = centred(first, weight), centred(second, weight)
    spread = sqrt((weight * x**2).sum() * (weight * y**2).sum())
    return float((weight * x * y).sum() / spread) if spread > 0 else 0.0


def centred(values: Floats, weight: Floats) -> Floats:
    known = np.where(weight > 0, values, 0.0)
    return np.asarray(np.where(weight > 0, known - np.average(known, weights=weight), 0.0))


def contrast_error(real: People, synthetic: People) -> float:
    """Event against no event in patient means, in spreads of the population's patient means."""
    spread = np.nanstd(real.patient_means, axis=0)
    error = np.abs(event_contrast(synthetic) - event_contrast(real)) / spread
    return float(error.mean())


def event_contrast(who: People) -> Floats:
    """(V,): mean of patients with the event less mean of those without."""
    return weighted_means(who, who.event == 1) - weighted_means(who, who.event == 0)


def weighted_means(who: People, chosen: Bools) -> Floats:
    means = who.patient_means
    weight = np.where(np.isfinite(means) & chosen[:, None], who.weight[:, None], 0.0)
    return np.asarray((weight * np.nan_to_num(means)).sum(axis=0) / weight.sum(axis=0))


def missing_shares(who: People) -> Floats:
    """(2, V): share of cells not observed, by group."""
    by_patient = 1 - who.observed.mean(axis=1)
    return np.array(
        [np.average(by_patient, axis=0, weights=who.weight * (who.group == g)) for g in (0, 1)]
    )


def prevalence(who: People) -> float:
    return float(np.average(who.event, weights=who.weight))


def _all(schema: Schema) -> range:
    return range(len(schema.variables))


# One run: fit, sample, judge.


def with_constant(schema: Schema, constant: str, value: Value) -> Schema:
    """Return the checked schema with one constant set, or none for the defaults."""
    given = float(Fraction(value)) * sqrt(schema.width) if constant == "clip_radius" else value
    constants = {} if constant == DEFAULTS else {constant: given}
    return Schema.model_validate(schema.model_dump() | {"constants": constants})


@lru_cache(maxsize=len(SEEDS))
def fitted_patients(seed: int) -> Cohort:
    return simulate(SETUP["patients"], seed=seed)


@lru_cache(maxsize=len(SEEDS))
def population(seed: int) -> People:
    return people(simulate(SETUP["judged_against"], seed=FRESH + seed))


def run(task: tuple[str, Value, int]) -> Scores:
    """Return the errors of one constant's value on one seed, averaged over draws."""
    constant, value, seed = task
    schema = simulated_schema()
    if constant == YARDSTICK:
        return scores(schema, population(seed), yardstick(value, seed))
    moved = with_constant(schema, constant, value)
    draws = SETUP["draws_of_defaults" if constant == DEFAULTS else "draws"]
    with threadpool_limits(limits=1):
        drawn = [people(synthesised(moved, seed, draw)) for draw in range(draws)]
    judged = [scores(schema, population(seed), one) for one in drawn]
    return {name: float(np.mean([one[name] for one in judged])) for name in MEASURES}


def yardstick(value: Value, seed: int) -> People:
    """Return the fitted patients; shuffling their events leaves no link to the course."""
    found = people(fitted_patients(seed))
    if value == AS_THEY_ARE:
        return found
    return replace(found, event=np.random.default_rng(seed).permutation(found.event))


def synthesised(schema: Schema, seed: int, draw: int) -> Synthetic:
    planned = plan(
        schema,
        SETUP["patients"],
        epsilon=SETUP["epsilon"],
        delta=SETUP["delta"],
        method=SETUP["method"],
        accounting=SETUP["accounting"],
    )
    bundle = fit(fitted_patients(seed), planned)
    return sample(model_of(bundle), SETUP["synthetic"], seed=1000 * seed + draw)


# All runs, and their results as one tidy list.


def settings() -> list[tuple[str, Value]]:
    """What is run: the defaults once, every other value, and the yardsticks."""
    moved = [(name, v) for name, values in GRID.items() for v in values if not is_default(name, v)]
    return [(DEFAULTS, ""), *moved, *YARDSTICKS]


def measure(jobs: int) -> dict[tuple[str, Value], list[Scores]]:
    """Return the errors of every setting, one entry a seed."""
    tasks = [(*setting, seed) for setting in settings() for seed in SEEDS]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(run, tasks, chunksize=1))
    starts = range(0, len(found), len(SEEDS))
    rows = [found[start : start + len(SEEDS)] for start in starts]
    return dict(zip(settings(), rows, strict=True))


def tidy(found: dict[tuple[str, Value], list[Scores]]) -> Iterator[dict[str, Any]]:
    rows = [(name, value) for name, values in GRID.items() for value in values]
    for constant, value in [*rows, *YARDSTICKS]:
        moved = constant == YARDSTICK or not is_default(constant, value)
        by_seed = found[(constant, value) if moved else (DEFAULTS, "")]
        for metric in MEASURES:
            errors = np.array([one[metric] for one in by_seed])
            yield {
                "constant": constant,
                "value": value,
                "metric": metric,
                "mean": round(float(errors.mean()), 6),
                "sd": round(float(errors.std(ddof=1)), 6),
                "seeds": list(SEEDS),
            }


def as_json(results: list[dict[str, Any]]) -> str:
    """One result a line, so that a rerun shows as changed lines."""
    around = {"note": NOTE, "setup": SETUP, "defaults": Constants().model_dump()}
    head = json.dumps(around, ensure_ascii=False, indent=1)
    lines = ",\n".join(f"  {json.dumps(result, ensure_ascii=False)}" for result in results)
    return f'{head[:-2]},\n "results": [\n{lines}\n ]\n}}\n'


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the results, as JSON")
    parser.add_argument("--page", type=Path, help="also write the documentation page here")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reuse", action="store_true", help="take --out as it is, write the page")
    given = parser.parse_args()
    if not given.reuse:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(as_json(list(tidy(measure(given.jobs)))), encoding="utf-8")
    if given.page:
        results = json.loads(given.out.read_text(encoding="utf-8"))["results"]
        given.page.write_text(constants_page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
