"""docs/flagship.md: targets of the default method, what its parts contribute, stress tests."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from longsynth.methods import DEFAULT
from longsynth_lab.evidence.comparison_tables import (
    CONDITIONS,
    RIVALS_AT_BEST,
    label,
    metric_name,
    metric_title,
    table,
)
from longsynth_lab.evidence.comparisons import (
    ABLATION,
    HARDLY_ANY_NOISE,
    HELD_OUT,
    LARGEST,
    PBC,
    SMALL,
    STRESSES,
)
from longsynth_lab.evidence.rivals import CHOSEN_FOR, best_row, family, higher_is_better
from longsynth_lab.experiments import BASE_RATE, REFERENCES, TRAIN_ON_REAL
from longsynth_lab.labels import look
from longsynth_lab.measures import BOOSTED
from longsynth_lab.results import Results
from longsynth_lab.seeds import evaluation_sets, looked_at
from longsynth_lab.statistics import Summary, summary
from longsynth_lab.tables import Table, interval, markdown_body, number
from longsynth_lab.versions import only

Rule = Literal["at most", "below", "at least", "above", "not clearly worse than"]


@dataclass(frozen=True, slots=True)
class Target:
    """A metric of the default method against a number or against another row. If a rival has
    several rows, the best one counts."""

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
    other: str  # the row it was compared with
    reached: bool | None  # None: not measured


def targets() -> Iterator[Target]:
    """Yield every target."""
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
                yield Target(PBC, epsilon, metric, "not clearly worse than", 0.0, other)


def outcome(results: Results, target: Target) -> Outcome:
    """Check results against one target."""
    ours = results.by_seed(target.experiment, DEFAULT, target.setting, target.metric)
    found, limit, other = summary(list(ours.values())), target.limit, ""
    if target.other:
        other, theirs = _other(results, target)
        if target.rule == "not clearly worse than":
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
    """The row to compare with, and its values."""
    setting = target.other_setting or target.setting
    rows = [target.other]
    if target.other not in REFERENCES:
        rows = family(results, target.experiment, target.other)
    best = best_row(results, target.experiment, setting, target.metric, rows)
    if best is None:
        return target.other, {}
    return best, results.by_seed(target.experiment, best, setting, target.metric)


PLACES = {
    SMALL: "504 simulated patients",
    HELD_OUT: "PhysioNet 2012, held out",
    PBC: "PBC",
}
TITLES = {
    ABLATION: "What each part contributes",
    "two factors": "Stress test: two latent factors instead of one",
    "wrong references": "Stress test: wrong public centres and scales",
    "bounds only": "Stress test: a schema with bounds only",
}
SHOWN = tuple(metric for metric in CHOSEN_FOR if metric != "auroc")


def flagship_text(results: Results, earlier: Results) -> str:
    """Return the page. `earlier` holds the results of earlier versions."""
    found = only(results, [*PLACES, LARGEST, *TITLES])
    parts = [
        f"# The default method, `{DEFAULT}`",
        CONDITIONS,
        RIVALS_AT_BEST,
        "The pages on [simulated](population.md) and [real](real.md) patients compare it with its "
        "rivals on every metric. This page checks it against targets set in advance, and shows "
        "what each of its parts contributes.",
        "## Targets",
        *_asked(found),
        "## Earlier evaluations",
        *_judged_before(earlier),
    ]
    for experiment in (ABLATION, *STRESSES):
        if found.seeds(experiment):
            heads = {metric: metric_title(metric) for metric in SHOWN}
            parts += [
                f"## {TITLES[experiment]}",
                f"{len(found.seeds(experiment))} seeds with 504 simulated patients each.",
                table(found, experiment, heads, intervals=("auprc",)),
            ]
    return "\n\n".join(parts) + "\n"


def _asked(results: Results) -> Iterator[str]:
    found = [outcome(results, target) for target in targets()]
    reached = sum(bool(one.reached) for one in found)
    missed = [one for one in found if one.reached is False]
    open_ = sum(one.reached is None for one in found)
    yield (
        f"{reached} of {len(found)} targets are met, {len(missed)} are missed"
        + (f", and {open_} were not measured." if open_ else ".")
        + f" *PhysioNet 2012, held out*: {looked_at()['physionet2012']}"
    )
    ordered = sorted(found, key=lambda one: one.reached is not False)
    head = ("Patients", "ε", "Metric", "Verdict", "Result", "Target")
    yield markdown_body(Table("", "", head, tuple(_entry(one) for one in ordered)))
    limits = list(_limits(results, missed))
    if limits:
        at = f"ε = {HARDLY_ANY_NOISE:g}"
        yield f"The same metrics with almost no noise ({at}) show what limits the missed targets:"
        yield "\n".join(limits)


def _entry(one: Outcome) -> tuple[str, ...]:
    target = one.target
    said = {True: "met", False: "**missed**", None: "not measured"}[one.reached]
    paired = target.rule == "not clearly worse than"
    sign = "+" if paired else ""
    shown = (
        f"{one.found.mean:{sign}.3f} ({interval(one.found, 3, sign)})" if one.found.seeds else "–"
    )
    whose = "" if target.limit in (0.0, 1.0) else f"{target.limit:g} × "
    whose += label(one.other) if one.other not in REFERENCES else look(one.other).label
    if target.other_setting:
        whose += f" at ε = {target.other_setting}"
    must = target.rule + (f" {whose}" if paired else f" {number(one.limit)}")
    must += f" ({whose})" if target.other and not paired else ""
    return PLACES[target.experiment], target.setting, metric_name(target.metric), said, shown, must


def _limits(results: Results, missed: list[Outcome]) -> Iterator[str]:
    """Noise or model: whether a missed target is met at the largest budget."""
    said = []
    for one in missed:
        target = one.target
        where = {SMALL: LARGEST}.get(target.experiment, target.experiment)
        if target.rule == "not clearly worse than" or (target.other and where == LARGEST):
            continue
        there = outcome(results, replace(target, experiment=where, setting=f"{HARDLY_ANY_NOISE:g}"))
        if there.reached is not None:
            what = "noise" if there.reached else "the model"
            said.append(
                f"- {PLACES[target.experiment]}, {metric_name(target.metric)} at ε = "
                f"{target.setting}: {there.found.mean:.3f}. The limit is {what}."
            )
    yield from dict.fromkeys(said)


def _judged_before(earlier: Results) -> Iterator[str]:
    versions = dict.fromkeys(row.made_by for row in earlier.rows)
    lines = []
    for version in versions:
        rows = Results(row for row in earlier.rows if row.made_by == version)
        found = [outcome(rows, target) for target in targets()]
        reached = sum(bool(one.reached) for one in found)
        seeds = rows.seeds(SMALL)
        lines.append(
            f"- {version} met {reached} of {len(found)} targets, on seeds {seeds[0]} to "
            f"{seeds[-1]}."
        )
    yield (
        "Earlier versions had the same targets, but a logistic regression with C = 1 and fewer "
        "variants of the rivals, so their counts are flattering:"
    )
    yield "\n".join(lines)
    sets = evaluation_sets()
    spent = "\n".join(
        f"- Seeds {one.seeds[0]} to {one.seeds[-1]} evaluated {', '.join(one.judged)}. They are "
        f"used up: {one.spent}."
        for one in sets
        if one.spent
    )
    yield (
        "The results of an evaluation lead to changes, so each set of seeds evaluates one version "
        "only. `lab/seeds.yaml` lists the sets, and the harness refuses one that is used up:"
    )
    yield spent
