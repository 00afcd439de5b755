"""Conditions on patients: `age >= 65`, `sex = F`. Conditions on the site, the first group and the
primary outcome are exact, by their strata; all others work by rejection. Protected combinations of
static variables are kept more often than other patients. All of this is post-processing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longsynth.sampling.model import Synthetic
from longsynth.schema.conditions import Condition, NotUnderstood, parsed
from longsynth.schema.schema import LABEL_ORDER, Schema
from longsynth.system.arrays import Bools, Floats
from longsynth.system.errors import Code, Refused

Where = Mapping[str, str] | Sequence[str]
MOST_LIFT = 20.0  # times that a protected combination is kept more often than others


def as_texts(where: Where | None) -> list[str]:
    """Return conditions as they are written: name, sign and value."""
    if where is None:
        return []
    if isinstance(where, Mapping):
        return [f"{name} = {level}" for name, level in where.items()]
    return [where] if isinstance(where, str) else list(where)


def conditions(schema: Schema, where: Where | None) -> list[Condition]:
    static = [v for v in schema.variables if v.static]
    try:
        return [parsed(text, schema, static) for text in as_texts(where)]
    except NotUnderstood as error:
        raise Refused(Code.CONDITION_UNKNOWN, error.problem, error.remedy) from None


def allowed_strata(schema: Schema, wanted: Sequence[Condition]) -> Bools:
    """(S,): the strata that meet all conditions on labels."""
    allowed = np.ones(len(schema.strata), bool)
    for condition in wanted:
        if condition.on_label:
            column = schema.strata[:, LABEL_ORDER.index(condition.key)]
            allowed &= condition.met_by(column.astype(np.float64))
    return allowed


def met(schema: Schema, made: Synthetic, wanted: Sequence[Condition]) -> Bools:
    """(n,): who meets all conditions. A value that is missing meets none."""
    names, meets = [v.name for v in schema.variables], np.ones(made.patients, bool)
    for condition in wanted:
        if condition.on_label:
            meets &= condition.met_by(getattr(made, condition.key).astype(np.float64))
        else:
            place = names.index(condition.key)
            meets &= made.observed[:, 0, place] & condition.met_by(made.values[:, 0, place])
    return meets


@dataclass(frozen=True, slots=True)
class Floors:
    """How many times more often protected combinations of static variables are kept."""

    rules: tuple[tuple[Condition, ...], ...]
    lifts: tuple[float, ...]

    def kept(self, schema: Schema, made: Synthetic) -> Floats:
        """(n,): the chance to keep each patient, at most 1. Weights are divided by it."""
        lift = np.ones(made.patients)
        for rule, factor in zip(self.rules, self.lifts, strict=True):
            lift = np.where(met(schema, made, rule), np.maximum(lift, factor), lift)
        return np.asarray(lift / max((1.0, *self.lifts)))


def floors(schema: Schema, some: Synthetic) -> Floors | None:
    """Return what lifts each protected combination that names a static variable to the schema's
    floor, as eq:fair lifts a stratum, from generated patients. None if there is nothing to lift."""
    rules, lifts = [], []
    for rule in schema.protected or ():
        wanted = tuple(conditions(schema, rule))
        if all(condition.on_label for condition in wanted):
            continue
        share = max(float(met(schema, some, wanted).mean()), 1 / some.patients)
        lift = min(schema.resolved_constants.event_floor / share, MOST_LIFT)
        if lift > 1:
            rules.append(wanted)
            lifts.append(lift)
    return Floors(tuple(rules), tuple(lifts)) if rules else None
