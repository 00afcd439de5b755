"""Comparisons with rivals, always with the rival's best variant for the metric."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from longsynth.methods import DEFAULT
from longsynth_lab.evidence.comparisons import RIVALS
from longsynth_lab.measures import BOOSTED
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, summary
from longsynth_lab.variants import base_of, searched

HIGHER = ("auprc", "auroc", "worst_group_auprc")  # larger is better, of boosted trees too
CHOSEN_FOR = (  # a search's best setting for each of these has a row of its own
    "auprc",
    "auroc",
    "brier",
    "ece",
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "missingness_error",
)
SHOWN_EARLIER = {  # variants that earlier pages showed, whatever a search finds now
    "dp-markov": ("dp-markov, threshold 3", "dp-markov, smoothed"),
}
Outcome = Literal["ahead", "behind", "level"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The default method and the best variant of one rival, for one metric and one ε."""

    metric: str
    setting: str
    rival: str
    best: str  # the rival's best row
    ours: Summary
    theirs: Summary
    gap: Summary  # ours less theirs, paired over seeds

    @property
    def outcome(self) -> Outcome:
        """Return "level" if the interval of the difference contains zero."""
        if self.gap.seeds < 2 or self.gap.contains(0.0):
            return "level"
        return "ahead" if (self.gap.mean > 0) == higher_is_better(self.metric) else "behind"


def higher_is_better(metric: str) -> bool:
    return metric.removeprefix(BOOSTED) in HIGHER


def best_row(
    results: Results, experiment: str, setting: str, metric: str, rows: Iterable[str]
) -> str | None:
    """Return the row with the best mean of a metric; None if none was measured."""
    means = {
        row: sum(values) / len(values)
        for row in rows
        if (values := results.values(experiment, row, setting, metric))
    }
    choose = max if higher_is_better(metric) else min
    return choose(means, key=lambda row: means[row], default=None)


def family(results: Results, experiment: str, rival: str) -> list[str]:
    """Return the rows of a rival in an experiment: the method and its variants."""
    return [row for row in results.methods(experiment) if base_of(row) == rival]


def verdicts(results: Results, experiment: str, metrics: Sequence[str]) -> Iterator[Verdict]:
    """Yield every comparison, by metric, then ε, then rival."""
    for metric in metrics:
        for setting in results.settings(experiment):
            ours = results.by_seed(experiment, DEFAULT, setting, metric)
            for rival in RIVALS:
                rows = family(results, experiment, rival)
                best = best_row(results, experiment, setting, metric, rows)
                if best is None or not ours:
                    continue
                theirs = results.by_seed(experiment, best, setting, metric)
                shared = sorted(ours.keys() & theirs.keys())
                yield Verdict(
                    metric,
                    setting,
                    rival,
                    best,
                    summary([ours[seed] for seed in shared]),
                    summary([theirs[seed] for seed in shared]),
                    summary([ours[seed] - theirs[seed] for seed in shared]),
                )


def best_settings(results: Results, method: str) -> dict[str, str]:
    """Return the best row of a search for each metric, over its budgets and seeds."""
    experiment = f"search {method}"
    return {
        metric: min(searched(method), key=lambda row: _loss(results, experiment, row, metric))
        for metric in CHOSEN_FOR
    }


def variants_shown(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the variants of each rival that a search found best for some metric, and those that
    earlier pages showed."""
    found = {}
    for rival in RIVALS:
        rows = (*SHOWN_EARLIER.get(rival, ()), *best_settings(results, rival).values())
        found[rival] = tuple(row for row in dict.fromkeys(rows) if row != rival)
    return found


def mean_over_budgets(results: Results, experiment: str, row: str, metric: str) -> float:
    means = [
        summary(results.values(experiment, row, setting, metric)).mean
        for setting in results.settings(experiment)
    ]
    return sum(means) / len(means)


def _loss(results: Results, experiment: str, row: str, metric: str) -> float:
    mean = mean_over_budgets(results, experiment, row, metric)
    return -mean if higher_is_better(metric) else mean
