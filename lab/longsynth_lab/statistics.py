"""Summaries over seeds, paired tests and Holm's correction (tab:statistics)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longsynth_lab.results import Results


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean over seeds, their standard deviation and a 95 % t interval of the mean."""

    mean: float
    sd: float
    lower: float
    upper: float
    seeds: int

    def contains(self, value: float) -> bool:
        return self.lower <= value <= self.upper


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between the proposed method and a baseline, paired by seed."""

    metric: str
    baseline: str
    difference: Summary
    p: float  # two-sided Wilcoxon signed-rank
    holm: float  # within the metric, over all baselines


def summary(values: Sequence[float]) -> Summary:
    """Summarise seeds. Seeds without a number (NaN) are left out and not counted."""
    from scipy.stats import t

    found = np.array([v for v in values if math.isfinite(v)])
    n = len(found)
    if n == 0:
        return Summary(math.nan, math.nan, math.nan, math.nan, 0)
    mean = float(found.mean())
    if n == 1:
        return Summary(mean, math.nan, math.nan, math.nan, 1)
    sd = float(found.std(ddof=1))
    reach = float(t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return Summary(mean, sd, mean - reach, mean + reach, n)


def less_published(ours: Summary, mean: float, sd: float, seeds: int) -> Summary:
    """The difference between our mean and a published one, with Welch's 95 % interval."""
    from scipy.stats import t

    gap = ours.mean - mean
    parts = [ours.sd**2 / max(ours.seeds, 1), sd**2 / seeds]
    variance = sum(parts)
    if ours.seeds < 2 or not variance > 0:
        return Summary(gap, math.nan, math.nan, math.nan, ours.seeds)
    freedom = variance**2 / (parts[0] ** 2 / (ours.seeds - 1) + parts[1] ** 2 / (seeds - 1))
    reach = float(t.ppf(0.975, freedom)) * math.sqrt(variance)
    return Summary(gap, math.nan, gap - reach, gap + reach, ours.seeds)


def mean_p(values: Sequence[float], mean: float) -> float:
    """Two-sided p of Student's test for this mean; NaN for fewer than two seeds."""
    from scipy.stats import t

    found = summary([value - mean for value in values])
    if found.seeds < 2:
        return math.nan
    error = found.sd / math.sqrt(found.seeds)
    if not error > 0:
        return 1.0 if found.mean == 0 else 0.0
    return float(2 * t.sf(abs(found.mean) / error, found.seeds - 1))


def wilcoxon_p(differences: Sequence[float]) -> float:
    """Two-sided p of the signed-rank test, exact for few seeds; 1 without any difference."""
    from scipy.stats import wilcoxon

    found = np.array([d for d in differences if math.isfinite(d)])
    if len(found) == 0:
        return math.nan
    if not found.any():
        return 1.0
    return float(wilcoxon(found, method="auto").pvalue)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's step-down p values of one family, ignoring missing ones."""
    known = sorted((value, name) for name, value in p.items() if math.isfinite(value))
    adjusted, highest = dict.fromkeys(p, math.nan), 0.0
    for rank, (value, name) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        adjusted[name] = highest
    return adjusted


def compared(
    results: Results,
    metric: str,
    *,
    proposed: str,
    baselines: Sequence[str],
    experiment: str = "comparison",
    setting: str = "main",
) -> list[Comparison]:
    """Test the proposed method against every baseline for one metric: one Holm family."""
    ours = results.by_seed(experiment, proposed, setting, metric)
    differences: dict[str, list[float]] = {}
    for baseline in baselines:
        theirs = results.by_seed(experiment, baseline, setting, metric)
        shared = sorted(ours.keys() & theirs.keys())
        differences[baseline] = [ours[seed] - theirs[seed] for seed in shared]
    p = {baseline: wilcoxon_p(found) for baseline, found in differences.items()}
    adjusted = holm(p)
    return [Comparison(metric, b, summary(differences[b]), p[b], adjusted[b]) for b in baselines]
