"""Targets: what the flagship must show, each an entry that a result file reaches or does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from longsynth.benchmark.cells import WITHOUT_BUDGET, setting
from longsynth.benchmark.experiments import BASE_RATE, TRAIN_ON_REAL
from longsynth.benchmark.judging import BOOSTED
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import Summary, summary

FLAGSHIP = "copula-score"
SIMULATED, PHYSIONET, PBC = "simulated", "physionet2012", "pbc"
PATIENTS = 504
HIGHER = ("auprc", "auroc", "worst_group_auprc")  # larger is better, boosted ones too

Rule = Literal["at most", "below", "at least", "above", "not wholly worse than"]


@dataclass(frozen=True, slots=True)
class Target:
    """One entry: a metric of the flagship against a number, or against another row's mean."""

    experiment: str
    epsilon: float
    metric: str
    rule: Rule
    limit: float = 1.0  # a number, or a multiple of the other row
    other: str = ""  # a method, where the limit is its
    other_epsilon: float = WITHOUT_BUDGET
    patients: int = PATIENTS


@dataclass(frozen=True, slots=True)
class Outcome:
    target: Target
    found: Summary  # the flagship, or its paired difference
    limit: float
    reached: bool | None  # None: not run


def higher_is_better(metric: str) -> bool:
    return metric.removeprefix(BOOSTED) in HIGHER


def targets() -> Iterator[Target]:
    """The table of what must be shown, row by row."""
    limits = {  # ε → marginals, correlations, autocorrelations
        12.0: (0.022, 0.050, 0.040),
        2.0: (0.050, 0.075, 0.095),
        1.0: (0.085, 0.095, 0.14),
    }
    shapes = ("marginal_ks", "correlation_error", "autocorrelation_error")
    for epsilon, numbers in limits.items():
        for metric, limit in zip(shapes, numbers, strict=True):
            yield Target(SIMULATED, epsilon, metric, "at most", limit)
    for epsilon, pair in {12.0: (0.075, 0.040), 2.0: (0.080, 0.055)}.items():
        for metric, limit in zip(("brier", "ece"), pair, strict=True):
            yield Target(SIMULATED, epsilon, metric, "at most", limit)
    for metric in ("brier", "ece"):
        yield Target(SIMULATED, 1.0, metric, "below", 1.0, "trust", 12.0)
    yield Target(SIMULATED, 12.0, "auprc", "above", 1.0, "dp-markov", 12.0)
    yield Target(SIMULATED, 2.0, "auprc", "at least", 1.0, "dp-markov", 2.0)
    yield Target(SIMULATED, 1.0, "auprc", "at least", 1.0, "trust", 12.0)
    for epsilon, part in {4.0: 0.85, 1.0: 0.77}.items():
        for start in ("", BOOSTED):
            metric = start + "auprc"
            yield Target(PHYSIONET, epsilon, metric, "at least", part, TRAIN_ON_REAL)
    for metric, limit in zip(shapes, (0.032, 0.065, 0.065), strict=True):
        yield Target(PHYSIONET, 4.0, metric, "at most", limit)
    for epsilon in (1.0, 4.0):
        for start in ("", BOOSTED):
            yield Target(PHYSIONET, epsilon, start + "brier", "below", 1.0, BASE_RATE)
    for epsilon in (1.0, 4.0, 12.0):
        for other in ("dp-markov", "trust"):
            for metric in ("auprc", "marginal_ks", "autocorrelation_error"):
                yield Target(PBC, epsilon, metric, "not wholly worse than", 0.0, other, epsilon)


def outcome(results: Results, target: Target) -> Outcome:
    """Hold a result file to one entry."""
    label = label_of(results, target.experiment, target.patients, target.epsilon)
    ours = results.by_seed(target.experiment, FLAGSHIP, label, target.metric)
    found, limit = summary(list(ours.values())), target.limit
    if target.other:
        beside = label_of(results, target.experiment, target.patients, target.other_epsilon)
        theirs = _best(results, target, beside)
        if target.rule == "not wholly worse than":
            shared = sorted(ours.keys() & theirs.keys())
            found = summary([ours[seed] - theirs[seed] for seed in shared])
        else:
            limit *= summary(list(theirs.values())).mean
    if not found.seeds or limit != limit:
        return Outcome(target, found, limit, None)
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
            better = higher_is_better(target.metric)
            reached = found.upper >= 0 if better else found.lower <= 0
    return Outcome(target, found, limit, bool(reached))


def _best(results: Results, target: Target, label: str) -> dict[int, float]:
    """The other row; of a method that stands there under several rules, the one that is best in
    this metric, so that no rule is held against its own method's better one."""
    rules = [m for m in results.methods(target.experiment) if m.split(",")[0] == target.other]
    found = [results.by_seed(target.experiment, m, label, target.metric) for m in rules]
    better = max if higher_is_better(target.metric) else min
    return better(
        (one for one in found if one),
        key=lambda one: sum(one.values()) / len(one),
        default={},
    )


def label_of(results: Results, experiment: str, patients: int, epsilon: float) -> str:
    """The label of a setting; a real cohort has one size, whatever it is called."""
    wanted = setting(patients, epsilon)
    labels = results.settings(experiment)
    if wanted in labels or experiment == SIMULATED:
        return wanted
    ends = wanted[wanted.index("/") :]
    return next((label for label in labels if label.endswith(f" {ends}")), wanted)
