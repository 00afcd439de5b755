"""Metric and Score: what an audit measures, and one measured value with its interval.

A metric owns its name, label, direction, meaning and computation. Pages, tables and plots look them
up in `registry`; docs/metrics.md is checked against them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from longsynth.system.arrays import Floats
from longsynth.system.workers import single_thread

COVERAGE = 0.95
FEWEST_DRAWS = 20  # that must be defined before they are called an interval

Better = Literal["higher", "lower", "half", "one", "zero", "none"]  # where a perfect value lies
ARROWS: dict[Better, str] = {
    "higher": "↑",
    "lower": "↓",
    "half": "→ 0.5",
    "one": "→ 1",
    "zero": "→ 0",
    "none": "",
}
# The smallest place that shows a metric; larger ones show it too. AUDIT.md shows every metric.
Shown = Literal["terminal", "dossier", "page"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, or one for each of several parts of the data.

    In a name or label, <variable> stands for any such part, and square brackets enclose what is
    left out of the metric for the whole: marginal_ks[_<variable>] covers marginal_ks, the mean, and
    marginal_ks_pulse. Metrics that are computed together share one computation.
    """

    name: str  # snake case, as in audit.json
    label: str
    better: Better
    meaning: str  # one sentence
    compute: Callable[..., Any]  # its arguments depend on the section
    short: str = ""  # a label for the head of a narrow column; empty: the label
    limits: tuple[float, float] = (0.0, 1.0)  # no interval reaches beyond
    note: str = ""  # stands beside every value
    undefined: str = "not defined"  # stands beside NaN
    compare: str = ""  # what to read it with
    shown: Shown = "terminal"

    @property
    def heading(self) -> str:
        return f"{self.short or self.label} {ARROWS[self.better]}".strip()

    @property
    def whole(self) -> str:
        """The name without the parts."""
        return _filled(self.name, {})

    def parts(self, name: str) -> dict[str, str] | None:
        """The parts in one of the names that it covers; None for any other name."""
        pattern = re.escape(self.name).replace(r"\[", "(?:").replace(r"\]", ")?")
        match = re.fullmatch(re.sub("<(.+?)>", r"(?P<\1>.+?)", pattern), name)
        if match is None:
            return None
        return {part: value for part, value in match.groupdict().items() if value is not None}

    def called(self, name: str) -> "Metric":
        """This metric under one of the names that it covers."""
        parts = self.parts(name) or {}
        label, short = _filled(self.label, parts), _filled(self.short, parts)
        return replace(self, name=name, label=label, short=short)


def _filled(text: str, parts: Mapping[str, str]) -> str:
    """A text with its parts filled in; what is in brackets is dropped if its parts are missing."""

    def bracket(match: re.Match[str]) -> str:
        return match[1] if all(p in parts for p in re.findall("<(.+?)>", match[1])) else ""

    kept = re.sub(r"\[(.+?)\]", bracket, text)
    return re.sub("<(.+?)>", lambda match: parts.get(match[1], match[0]), kept)


def metric_named(name: str, metrics: Sequence[Metric]) -> Metric | None:
    """The metric that covers a name; the most literal one, where several do."""
    covering = [(m, parts) for m in metrics if (parts := m.parts(name)) is not None]
    if not covering:
        return None
    metric, _ = min(covering, key=lambda pair: sum(map(len, pair[1].values())))
    return metric.called(name)


@dataclass(frozen=True, slots=True)
class Score:
    """A value never stands alone."""

    metric: str
    value: float
    lower: float  # 95 % interval, bootstrap over patients; NaN: no interval
    upper: float
    better: Better
    note: str = ""  # a warning in words, for instance too few events for a conclusion


def scored(
    statistic: Callable[..., Mapping[str, float]],
    sizes: tuple[int, ...],
    metrics: Sequence[Metric],
    *,
    bootstrap: int,
    seed: int,
    notes: Callable[[str, float], str] | None = None,
) -> list[Score]:
    """Turn a statistic of patient counts into scores of these metrics.

    `statistic` takes one array of counts for each of `sizes` (1 everywhere is the cohort itself)
    and returns a value for each metric, NaN if undefined. `notes` replaces the metrics' own notes.
    """
    rng = np.random.default_rng(seed)
    sources = [redraws(size, bootstrap, rng) for size in sizes]
    with single_thread():
        values = dict(statistic(*(np.ones(size) for size in sizes)))
        replicates = [statistic(*counts) for counts in zip(*sources, strict=True)]
    scores = []
    for name, value in values.items():
        metric = metric_named(name, metrics)
        if metric is None:
            raise KeyError(f"no metric is called {name}: add an entry where it is computed")
        draws = np.array([drawn.get(name, np.nan) for drawn in replicates], dtype=np.float64)
        bounds = interval(value, draws, *metric.limits) if replicates else (np.nan, np.nan)
        own = metric.note if np.isfinite(value) else metric.undefined
        note = notes(name, value) if notes else own
        scores.append(Score(name, float(value), *bounds, metric.better, note))
    return scores


def redraws(patients: int, bootstrap: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield how often each patient is drawn, one array per replicate."""
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
