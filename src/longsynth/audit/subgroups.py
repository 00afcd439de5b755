"""Subgroups: whom do models serve, trained on synthetic patients and on real ones?

A part is a level of a group, a level of the first group at one site, or a protected combination.
The average precision of guessing is a part's own event rate: two parts with different event rates
differ in average precision even under equal skill.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import Predictions, Ranking, ece
from longsynth.audit.utility import FEW_EVENTS, ranked_of, too_few
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import LABEL_ORDER, Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

ALERTED = 0.1  # the share of patients who get an alert
# A measure of some patients: from who they are, to a function of the test patients' weights.
PartMeasure = Callable[[Bools], Callable[[Floats], float]]


@dataclass(frozen=True, slots=True, repr=False)
class Parts:
    members: dict[str, Bools]  # who belongs to each part
    groups: dict[str, tuple[str, ...]]  # the parts that are a group's levels

    __repr__ = sizes_only

    def among(self, patients: Bools) -> "Parts":
        """The same parts of some patients only."""
        return Parts({name: who[patients] for name, who in self.members.items()}, self.groups)


def parts_of(schema: Schema, cohort: Trajectories) -> Parts:
    """Every part that the schema names. A group without a name of its own has numbered levels."""
    parts = _of_labels(schema, cohort.group, cohort.site)
    for group in schema.groups:
        if group.variable is not None:
            code = _codes(schema, cohort, schema.variables[group.variable].name)
            named = {f"{group.name}={level}": code == i for i, level in enumerate(group.levels)}
            parts = Parts(parts.members | named, parts.groups | {group.name: tuple(named)})
    outcomes = {"event", *(o.name for o in schema.outcomes)}
    for rule in schema.protected or ():
        of_groups = {what: level for what, level in rule.items() if what not in outcomes}
        if len(of_groups) < 2:
            continue  # a level of one group is there already
        both = np.ones(cohort.patients, bool)
        for what, level in of_groups.items():
            both &= _codes(schema, cohort, what) == schema.conditions[what].index(level)
        parts.members["&".join(f"{what}={level}" for what, level in of_groups.items())] = both
    return parts


def _codes(schema: Schema, cohort: Trajectories, what: str) -> Ints:
    """The position of each patient's level; -1 if it is missing."""
    if (key := schema.key(what)) in LABEL_ORDER:
        return np.asarray(getattr(cohort, key))
    place = [v.name for v in schema.variables].index(what)
    known = cohort.observed[:, 0, place] & np.isfinite(cohort.values[:, 0, place])
    low = schema.variables[place].bounds[0]
    return np.where(known, cohort.values[:, 0, place] - low, -1).round().astype(np.int64)


def _of_labels(schema: Schema, group: Ints, site: Ints) -> Parts:
    if schema.group is None:
        return Parts({}, {})
    name, levels = schema.group.name, schema.levels("group")
    named = [f"{name}={x}" for x in levels] if name else [f"group{i}" for i in range(len(levels))]
    members = {part: group == i for i, part in enumerate(named)}
    if len(schema.sites) > 1:
        for i, part in enumerate(named):
            for s, place in enumerate(schema.sites):
                members[f"{part}_site_{place}"] = (group == i) & (site == s)
    return Parts(members, {name or "group": tuple(named)})


def subgroup_scores(
    schema: Schema,
    predictions: Predictions,
    *,
    parts: Parts | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Score each part, the worst level of each group, and the gap between levels."""
    if parts is None:
        parts = _of_labels(schema, predictions.group, predictions.site)
    measures = {m: MEASURES[m](predictions) for m in ("auprc", "ece")}
    resampling: Any = {"bootstrap": bootstrap, "seed": seed}
    return part_scores(
        parts, measures, predictions.event, gaps=("auprc",), worst=("auprc",), **resampling
    )


def fairness_scores(
    predictions: Predictions, parts: Parts, *, bootstrap: int = 0, seed: int = 0
) -> list[Score]:
    """Who is missed, if a tenth of all patients get an alert; and how much groups differ."""
    missed = {"false_negatives": MEASURES["false_negatives"](predictions)}
    measures = {"ece": MEASURES["ece"](predictions)} | missed
    resampling: Any = {"bootstrap": bootstrap, "seed": seed}
    return part_scores(
        parts, measures, predictions.event, gaps=tuple(measures), shown=tuple(missed), **resampling
    )


def part_scores(
    parts: Parts,
    measures: dict[str, PartMeasure],
    events: Ints,
    *,
    gaps: Sequence[str],
    worst: Sequence[str] = (),
    shown: Sequence[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Score measures of each part. `events` says of each test patient whether there is something
    to learn from them: parts with few such patients are said to be too small."""
    counts = {name: int(events[members].sum()) for name, members in parts.members.items()}
    levels = [part for of_group in parts.groups.values() for part in of_group]
    others = [part for part in parts.members if part not in levels]
    ready = {
        what: {part: measure(members) for part, members in parts.members.items()}
        for what, measure in measures.items()
    }
    listed = tuple(measures) if shown is None else shown

    def statistic(weight: Floats) -> dict[str, float]:
        by = {w: {part: m(weight) for part, m in of.items()} for w, of in ready.items()}
        values: dict[str, float] = {}
        for group, of_group in parts.groups.items():
            values |= {f"{part}_{what}": by[what][part] for what in listed for part in of_group}
            for what in worst:
                values[f"worst_{group}_{what}"] = float(np.min([by[what][p] for p in of_group]))
            for what in gaps:
                every = [by[what][p] for p in of_group]
                values[f"{group}_gap_{what}"] = float(np.max(every) - np.min(every))
        return values | {f"{part}_{what}": by[what][part] for what in listed for part in others}

    notes = _notes(parts, counts)
    size = (len(events),)
    return scored(statistic, size, SUBGROUPS, bootstrap=bootstrap, seed=seed, notes=notes)


def _notes(parts: Parts, events: dict[str, int]) -> Callable[[str, float], str]:
    fewest = {
        group: min(events[part] for part in of_group) for group, of_group in parts.groups.items()
    }

    def note(metric: str, value: float) -> str:
        part = max((p for p in events if metric.startswith(f"{p}_")), key=len, default=None)
        group = metric.removeprefix("worst_")
        named = max((g for g in fewest if group.startswith(f"{g}_")), key=len, default="")
        count = events[part] if part else fewest.get(named, 0)
        if count == 0 and np.isnan(value):
            return "no events: no conclusion is possible"
        return too_few(count) if count < FEW_EVENTS else ""

    return note


def _precision(predictions: Predictions) -> PartMeasure:
    def of_part(members: Bools) -> Callable[[Floats], float]:
        ranking = Ranking(predictions.event[members], predictions.probability[members])
        return lambda weight: ranking.auprc(weight[members])

    return of_part


def _calibration(predictions: Predictions) -> PartMeasure:
    def of_part(members: Bools) -> Callable[[Floats], float]:
        event, probability = predictions.event[members], predictions.probability[members]
        return lambda weight: ece(event, probability, weight[members])

    return of_part


def _missed(predictions: Predictions) -> PartMeasure:
    ranking = ranked_of(predictions).ranking
    return lambda members: lambda weight: ranking.missed(weight, members, ALERTED)


# Of predictions. Those of numbers and times are in their own files: `mae` and `concordance`.
MEASURES: dict[str, Callable[[Predictions], PartMeasure]] = {
    "auprc": _precision,
    "ece": _calibration,
    "false_negatives": _missed,
}
_MISSED = (
    "The share of events without an alert, if the tenth of all patients with the highest predicted "
    "risk get one."
)
# Computed by `part_scores` from measures of parts.
SUBGROUPS = [
    Metric(
        "group<group>[_site_<site>]_auprc",
        "AUPRC in group <group>[ at site <site>]",
        "higher",
        "Average precision within a group, or within a group at one site if there are several.",
        part_scores,
        short="Group <group>[ at <site>] AUPRC",
        compare="its *base rate* row",
    ),
    Metric(
        "group<group>[_site_<site>]_ece",
        "calibration error in group <group>[ at site <site>]",
        "lower",
        "Expected calibration error within a group, or within a group at one site.",
        part_scores,
        short="Group <group>[ at <site>] ECE",
    ),
    Metric(
        "worst_group_auprc",
        "AUPRC in the worse group",
        "higher",
        "The lower average precision of the two groups.",
        part_scores,
        short="Worst-group AUPRC",
    ),
    Metric(
        "group_gap_auprc",
        "AUPRC, difference between the groups",
        "lower",
        "The absolute difference between the two groups' average precision.",
        part_scores,
        short="Group gap AUPRC",
    ),
    Metric(
        "<part>[_site_<site>]_auprc",
        "AUPRC, <part>[ at site <site>]",
        "higher",
        "The same in a part with a name: a level of a group (`sex=F`), or a protected combination "
        "(`sex=F&age=over 80`).",
        part_scores,
        compare="its *base rate* row",
    ),
    Metric(
        "<part>[_site_<site>]_ece",
        "calibration error, <part>[ at site <site>]",
        "lower",
        "The calibration error in a part with a name.",
        part_scores,
    ),
    Metric(
        "<part>[_site_<site>]_false_negatives",
        "events missed, <part>[ at site <site>]",
        "lower",
        _MISSED,
        part_scores,
        compare="0.9: alerts at random",
    ),
    Metric(
        "<part>[_site_<site>]_mae",
        "mean absolute error, <part>[ at site <site>]",
        "lower",
        "The mean absolute error of a number in a part, in the outcome's unit.",
        part_scores,
        limits=(0.0, np.inf),
        compare="its *base rate* row",
    ),
    Metric(
        "<part>[_site_<site>]_concordance",
        "concordance, <part>[ at site <site>]",
        "higher",
        "The concordance of a time to event among the patients of a part.",
        part_scores,
        compare="0.5: guessing",
    ),
    Metric(
        "worst_<group>_auprc",
        "AUPRC, worst of <group>",
        "higher",
        "The lowest average precision of a group's levels.",
        part_scores,
    ),
    *(
        Metric(
            f"<group>_gap_{what}",
            f"{said}, gap of <group>",
            "lower",
            f"The largest difference in {said} between two levels of a group.",
            part_scores,
            limits=(0.0, np.inf),
        )
        for what, said in (
            ("auprc", "AUPRC"),
            ("ece", "calibration error"),
            ("false_negatives", "events missed"),
            ("mae", "mean absolute error"),
            ("concordance", "concordance"),
        )
    ),
]
