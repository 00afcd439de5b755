"""Subgroups: does what was learnt serve both groups, at every site?"""

from collections.abc import Callable

import numpy as np

from longsynth.audit.intervals import scored
from longsynth.audit.ranking import Ranking, ece
from longsynth.audit.score import Better, Score
from longsynth.audit.utility import FEW_EVENTS, Predictions, too_few
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats

GROUPS = ("group0", "group1")


def subgroup_scores(
    schema: Schema, predictions: Predictions, *, bootstrap: int = 0, seed: int = 0
) -> list[Score]:
    """Score each group, the worst one, their gap, and each group at each site.

    The average precision of guessing is the group's own event rate: two groups that differ in it
    differ in average precision even under equal skill.
    """
    parts = _parts(schema, predictions)
    events = {name: int(predictions.event[rows].sum()) for name, rows in parts.items()}
    return scored(
        _statistic(predictions, parts),
        (len(predictions.event),),
        _better,
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda _: (0.0, 1.0),
        notes=_notes(events),
    )


def _parts(schema: Schema, predictions: Predictions) -> dict[str, Bools]:
    parts = {name: predictions.group == g for g, name in enumerate(GROUPS)}
    if len(schema.sites) > 1:
        for g, name in enumerate(GROUPS):
            for s, site in enumerate(schema.sites):
                chosen = (predictions.group == g) & (predictions.site == s)
                parts[f"{name}_site_{site}"] = chosen
    return parts


def _statistic(
    predictions: Predictions, parts: dict[str, Bools]
) -> Callable[[Floats], dict[str, float]]:
    event, probability = predictions.event, predictions.probability
    ranking = Ranking(event, probability)

    def statistic(weight: Floats) -> dict[str, float]:
        auprc = {name: ranking.auprc(weight * rows) for name, rows in parts.items()}
        ece_ = {name: ece(event, probability, weight * rows) for name, rows in parts.items()}
        pair = [auprc[name] for name in GROUPS]
        return {
            **{f"{name}_auprc": auprc[name] for name in GROUPS},
            **{f"{name}_ece": ece_[name] for name in GROUPS},
            "worst_group_auprc": float(np.min(pair)),
            "group_gap_auprc": abs(pair[1] - pair[0]),
            **{f"{name}_auprc": value for name, value in auprc.items() if name not in GROUPS},
            **{f"{name}_ece": value for name, value in ece_.items() if name not in GROUPS},
        }

    return statistic


def _better(metric: str) -> Better:
    return "lower" if metric.endswith("_ece") or metric == "group_gap_auprc" else "higher"


def _notes(events: dict[str, int]) -> Callable[[str, float], str]:
    fewest = min(events[name] for name in GROUPS)

    def note(metric: str, value: float) -> str:
        part = metric.rpartition("_")[0]
        count = events.get(part, fewest)
        if count == 0 and np.isnan(value):
            return "no events: nothing can be said"
        return too_few(count) if count < FEW_EVENTS else ""

    return note
