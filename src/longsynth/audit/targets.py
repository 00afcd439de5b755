"""Targets: what an audit predicts of each outcome, for whom, and from what.

Predictors never contain an outcome, or what gives one away. The rule is public and the same for
real and synthetic patients: a model gets summaries of all measures, and no outcomes or groups.
If a record ends with a time to event, its length and its last readings reveal that time. Then every
outcome of the schema is predicted from the first slot and from static measures alone, as at a
landmark. A time to event is always predicted that way.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from longsynth.audit.view import PER_PATIENT, columns_of, feature_names, summaries, weights
from longsynth.schema.outcomes import Outcome
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

Task = Literal["classification", "regression", "survival"]
TASKS: dict[str, Task] = {
    "binary": "classification",
    "nominal": "classification",
    "ordinal": "regression",
    "continuous": "regression",
    "time_to_event": "survival",
}
SHARES = ("is", "share")  # of an unordered level, in the names of summaries


@dataclass(frozen=True, slots=True)
class Target:
    """An outcome or, if it has several levels or causes, one of them against all others."""

    name: str
    task: Task
    outcome: Outcome
    level: int = 1  # of the outcome's levels; meaningless for a number

    @property
    def primary(self) -> bool:
        return self.outcome.primary


def targets_of(schema: Schema) -> tuple[Target, ...]:
    """The primary outcome first. Two levels, or one cause beside censoring, are one target."""
    listed: list[Target] = []
    for outcome in schema.outcomes:
        task, levels = TASKS[outcome.kind], outcome.levels or ("0", "1")
        if task == "regression" or len(levels) == 2:
            listed.append(Target(outcome.name, task, outcome))
            continue
        first = 1 if task == "survival" else 0  # nobody predicts censoring
        listed += [
            Target(f"{outcome.name}: {levels[level]}", task, outcome, level)
            for level in range(first, len(levels))
        ]
    return tuple(listed)


class Actual(NamedTuple):
    """What happened to each patient, and of whom it is known."""

    value: Floats  # (n,): 0 or 1, a number, or a time
    known: Bools  # (n,)
    status: Ints  # (n,), of a time: how it ended

    def __repr__(self) -> str:
        return sizes_only(self)


class Patients:
    """A cohort as the audit's models see it. Summaries are computed once for all outcomes."""

    def __init__(self, schema: Schema, cohort: Trajectories) -> None:
        self.schema, self.cohort, self.weight = schema, cohort, weights(cohort)

    def __repr__(self) -> str:
        return f"Patients({self.cohort.patients:,})"

    def actual(self, target: Target) -> Actual:
        place, status = target.outcome.variable, self._status(target.outcome)
        everybody = np.ones(self.cohort.patients, bool)
        if target.task == "classification":
            code, known = self._level(place)
            return Actual((code == target.level).astype(np.float64), known, code)
        assert place is not None  # for mypy: only a label has none
        low, high = self.schema.variables[place].bounds
        raw = self.cohort.values[:, 0, place]
        known = self.cohort.observed[:, 0, place] & np.isfinite(raw)
        value = np.clip(np.where(known, raw, low), low, high)
        ended, sure = status if status else (np.zeros(len(raw), np.int64), everybody)
        return Actual(value, known & sure, np.where(raw > high, 0, ended))  # later: censored

    def _status(self, outcome: Outcome) -> tuple[Ints, Bools] | None:
        return self._level(outcome.status) if outcome.kind == "time_to_event" else None

    def _level(self, place: int | None) -> tuple[Ints, Bools]:
        """The position of each patient's level; of the label `event`, if there is no place."""
        if place is None:
            return np.asarray(self.cohort.event), np.ones(self.cohort.patients, bool)
        known = self.cohort.observed[:, 0, place] & np.isfinite(self.cohort.values[:, 0, place])
        return np.where(known, self.cohort.values[:, 0, place], 0).round().astype(np.int64), known

    def predictors(self, target: Target) -> Floats:
        """(n, features): of the whole record, or of its first slot."""
        return self._first if self._landmark(target) else self._whole

    def _landmark(self, target: Target) -> bool:
        ends = any(v.status and v.origin == "record" for v in self.schema.variables)
        return ends or target.task == "survival"

    @cached_property
    def _whole(self) -> Floats:
        every = summaries(self.schema, self.cohort)
        kept = _places(self.schema, first=False)
        return every if len(kept) == every.shape[1] else every[:, kept]

    @cached_property
    def _first(self) -> Floats:
        length = np.minimum(self.cohort.length, 1)
        cut = replace(self.cohort, length=length)  # type: ignore[type-var]
        return summaries(self.schema, cut)[:, _places(self.schema, first=True)]


def _places(schema: Schema, *, first: bool) -> list[int]:
    """Columns of `summaries` that describe measures; with `first`, one for each fact of a slot."""
    names, kept = feature_names(schema), list[int]()
    for v, variable in enumerate(schema.variables):
        if variable.role != "measure":
            continue
        levels = variable.levels or ()
        once = {"mean", "value", "missing", *(f"{w}_{x}" for w in SHARES for x in levels[1:])}
        for i in range(*columns_of(schema, v).indices(len(names))):
            if not first or names[i].removeprefix(f"{variable.name}_") in once:
                kept.append(i)
    return kept if first else [*kept, *range(len(names) - len(PER_PATIENT), len(names))]
