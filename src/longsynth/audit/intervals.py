"""Intervals: the bootstrap over patients, as counts of how often each patient is drawn."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from longsynth.audit.score import Better, Score
from longsynth.system.arrays import Floats
from longsynth.system.workers import single_thread

COVERAGE = 0.95
FEWEST_DRAWS = 20  # that must be defined before they are called an interval


def redraws(patients: int, bootstrap: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield how often each patient is drawn, one array a replicate."""
    for _ in range(bootstrap):
        drawn = rng.integers(0, max(patients, 1), patients)
        yield np.bincount(drawn, minlength=patients).astype(np.float64)


def interval(
    value: float, draws: Floats, low: float = -np.inf, high: float = np.inf
) -> tuple[float, float]:
    """Return value ± the distance that 95 % of the replicates keep, cut to [low, high].

    Symmetric on purpose: errors and precisions of resampled patients lie systematically above
    those of the patients, so that a percentile interval could miss its own value.
    """
    known = draws[np.isfinite(draws)]
    if not np.isfinite(value) or len(known) < max(FEWEST_DRAWS, len(draws) / 2):
        return np.nan, np.nan
    reach = float(np.quantile(np.abs(known - value), COVERAGE))
    return max(low, value - reach), min(high, value + reach)


def scored(
    statistic: Callable[..., Mapping[str, float]],
    sizes: tuple[int, ...],
    better: Callable[[str], Better],
    *,
    bootstrap: int,
    seed: int,
    limits: Callable[[str], tuple[float, float]] = lambda _: (-np.inf, np.inf),
    notes: Callable[[str, float], str] = lambda *_: "",
) -> list[Score]:
    """Turn a statistic of patient counts into scores.

    `statistic` takes one array of counts for each of `sizes` (1 everywhere is the cohort itself)
    and returns a value for each metric, NaN where it is not defined.
    """
    rng = np.random.default_rng(seed)
    sources = [redraws(size, bootstrap, rng) for size in sizes]
    with single_thread():
        found = dict(statistic(*(np.ones(size) for size in sizes)))
        drawn = [statistic(*counts) for counts in zip(*sources, strict=True)]
    scores = []
    for name, value in found.items():
        draws = np.array([replicate.get(name, np.nan) for replicate in drawn], dtype=np.float64)
        bounds = interval(value, draws, *limits(name)) if drawn else (np.nan, np.nan)
        scores.append(Score(name, float(value), *bounds, better(name), notes(name, value)))
    return scores
