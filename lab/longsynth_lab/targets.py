"""Targets: what the default method was asked to show, each entry reached or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from longsynth.methods import DEFAULT
from longsynth_lab.evidence import HELD_OUT, PBC, SMALL
from longsynth_lab.experiments import BASE_RATE, REFERENCES, TRAIN_ON_REAL
from longsynth_lab.measures import BOOSTED
from longsynth_lab.results import Results
from longsynth_lab.rivals import best_row, family, higher_is_better
from longsynth_lab.statistics import Summary, summary

Rule = Literal["at most", "below", "at least", "above", "not wholly worse than"]


@dataclass(frozen=True, slots=True)
class Target:
    """One entry: a metric of the default method against a number, or against another row. Of a
    rival with several rows the best one counts."""

    experiment: str
    setting: str  # ε
    metric: str
    rule: Rule
    limit: float = 1.0  # a number, or a multiple of the other row's mean
    other: str = ""  # a rival or a reference
    other_setting: str = ""  # its ε; empty: the same


@dataclass(frozen=True, slots=True)
class Outcome:
    target: Target
    found: Summary  # the default method, or its paired difference
    limit: float
    other: str  # the row it was held against
    reached: bool | None  # None: not measured


def targets() -> Iterator[Target]:
    """Yield every entry."""
    limits = {  # ε → marginals, correlations, autocorrelations
        "12": (0.022, 0.050, 0.040),
        "2": (0.050, 0.075, 0.095),
        "1": (0.085, 0.095, 0.14),
    }
    shapes = ("marginal_ks", "correlation_error", "autocorrelation_error")
    for epsilon, numbers in limits.items():
        for metric, limit in zip(shapes, numbers, strict=True):
            yield Target(SMALL, epsilon, metric, "at most", limit)
    for epsilon, pair in {"12": (0.075, 0.040), "2": (0.080, 0.055)}.items():
        for metric, limit in zip(("brier", "ece"), pair, strict=True):
            yield Target(SMALL, epsilon, metric, "at most", limit)
    for metric in ("brier", "ece"):
        yield Target(SMALL, "1", metric, "below", 1.0, "trust", "12")
    yield Target(SMALL, "12", "auprc", "above", 1.0, "dp-markov")
    yield Target(SMALL, "2", "auprc", "at least", 1.0, "dp-markov")
    yield Target(SMALL, "1", "auprc", "at least", 1.0, "trust", "12")
    for epsilon, part in {"4": 0.85, "1": 0.77}.items():
        for start in ("", BOOSTED):
            yield Target(HELD_OUT, epsilon, start + "auprc", "at least", part, TRAIN_ON_REAL)
    for metric, limit in zip(shapes, (0.032, 0.065, 0.065), strict=True):
        yield Target(HELD_OUT, "4", metric, "at most", limit)
    for epsilon in ("1", "4"):
        for start in ("", BOOSTED):
            yield Target(HELD_OUT, epsilon, start + "brier", "below", 1.0, BASE_RATE)
    for epsilon in ("1", "4", "12"):
        for other in ("dp-markov", "trust"):
            for metric in ("auprc", "marginal_ks", "autocorrelation_error"):
                yield Target(PBC, epsilon, metric, "not wholly worse than", 0.0, other)


def outcome(results: Results, target: Target) -> Outcome:
    """Hold results to one entry."""
    ours = results.by_seed(target.experiment, DEFAULT, target.setting, target.metric)
    found, limit, other = summary(list(ours.values())), target.limit, ""
    if target.other:
        other, theirs = _other(results, target)
        if target.rule == "not wholly worse than":
            shared = sorted(ours.keys() & theirs.keys())
            found = summary([ours[seed] - theirs[seed] for seed in shared])
        else:
            limit *= summary(list(theirs.values())).mean
    if not found.seeds or limit != limit:
        return Outcome(target, found, limit, other, None)
    match target.rule:
        case "at most":
            reached = found.mean <= limit
        case "below":
            reached = found.mean < limit
        case "at least":
            reached = found.mean >= limit
        case "above":
            reached = found.mean > limit
        case _:
            reached = found.upper >= 0 if higher_is_better(target.metric) else found.lower <= 0
    return Outcome(target, found, limit, other, bool(reached))


def _other(results: Results, target: Target) -> tuple[str, dict[int, float]]:
    """The row that counts, and its values."""
    setting = target.other_setting or target.setting
    rows = [target.other]
    if target.other not in REFERENCES:
        rows = family(results, target.experiment, target.other)
    best = best_row(results, target.experiment, setting, target.metric, rows)
    if best is None:
        return target.other, {}
    return best, results.by_seed(target.experiment, best, setting, target.metric)
