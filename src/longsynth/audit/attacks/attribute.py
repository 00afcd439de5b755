"""Attribute: can someone who knows the rest of a record read a sensitive part off its nearest
synthetic neighbour, and better for those trained on than for others?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longsynth.audit.attacks.fingerprint import Scale, nearest, records
from longsynth.audit.comparisons.levels import categorical
from longsynth.audit.intervals import scored
from longsynth.audit.score import Better, Score
from longsynth.audit.summaries import columns_of
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats

NO_LEVELS = "the event only: the schema has no variable with levels"
OF_POPULATION = "mostly what anyone could learn from the population: see the advantage"


@dataclass(frozen=True, slots=True)
class _Secret:
    """A yes-or-no attribute, and which columns of a record give it away."""

    name: str
    column: int
    above: float
    hidden: list[int]

    def of(self, found: Floats) -> Bools:
        return np.asarray(found[:, self.column] > self.above)


def attribute_scores(
    schema: Schema,
    train: Trajectories,
    control: Trajectories,
    synthetic: Trajectories,
    *,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Guess the event, and whether the first variable with levels runs above the control's median,
    or is mostly at the control's commonest level where levels have no order.

    Only `attribute_advantage`, members minus control patients, is about membership: a guess that
    works on outsiders too rests on what holds for everyone. Values without a suffix are the mean
    over the attributes.
    """
    members, outsiders, drawn = (records(schema, c) for c in (train, control, synthetic))
    secrets = _secrets(schema, outsiders)
    hits = {secret.name: _hits(secret, members, outsiders, drawn) for secret in secrets}
    return scored(
        _statistic(hits),
        (train.patients, control.patients),
        _better,
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda metric: (-1.0 if "advantage" in metric else 0.0, 1.0),
        notes=lambda metric, _: _note(metric, len(secrets)),
    )


def _secrets(schema: Schema, outsiders: Floats) -> list[_Secret]:
    event = outsiders.shape[1] - 1  # records end with the event
    secrets = [_Secret("event", event, 0.5, [event])]
    for v in categorical(schema)[:1]:
        columns, variable = columns_of(schema, v), schema.variables[v]
        hidden = list(range(columns.start, columns.stop))
        if variable.kind == "nominal":  # shares of its levels stand first
            column = hidden[int(outsiders[:, hidden[: variable.channels]].sum(axis=0).argmax())]
            above = 0.5
        else:  # its mean, or what it is
            column = hidden[0]
            above = _median(outsiders[:, column])
        secrets.append(_Secret(variable.name, column, above, hidden))
    return secrets


def _median(found: Floats) -> float:
    """The median, or the value below it where nobody lies above: a secret needs two answers."""
    median = float(np.median(found))
    below = found[found < median]
    return float(below.max()) if len(below) and not (found > median).any() else median


def _hits(
    secret: _Secret, members: Floats, outsiders: Floats, drawn: Floats
) -> tuple[Floats, Floats, Floats]:
    """Right or wrong for members, for control patients, and for a majority guess on members."""
    scale = Scale(outsiders)
    known = [np.delete(scale(found), secret.hidden, axis=1) for found in (members, outsiders)]
    among, answers = np.delete(scale(drawn), secret.hidden, axis=1), secret.of(drawn)
    right = [
        answers[nearest(asked, among)[1][:, 0]] == secret.of(truth)
        for asked, truth in zip(known, (members, outsiders), strict=True)
    ]
    majority = secret.of(outsiders).mean() > 0.5
    return (
        right[0].astype(np.float64),
        right[1].astype(np.float64),
        (secret.of(members) == majority).astype(np.float64),
    )


def _statistic(
    hits: dict[str, tuple[Floats, Floats, Floats]],
) -> Callable[[Floats, Floats], dict[str, float]]:
    def statistic(member_weight: Floats, control_weight: Floats) -> dict[str, float]:
        by_name = {
            name: (
                float(np.average(member, weights=member_weight)),
                float(np.average(outsider, weights=control_weight)),
                float(np.average(guess, weights=member_weight)),
            )
            for name, (member, outsider, guess) in hits.items()
        }
        member, outsider, guess = (float(x) for x in np.mean(list(by_name.values()), axis=0))
        found = _named("", member, outsider, guess)
        for name, rates in by_name.items():
            found |= _named(f"_{name}", *rates)
        return found

    return statistic


def _named(suffix: str, member: float, outsider: float, guess: float) -> dict[str, float]:
    return {
        f"attribute_accuracy{suffix}": member,
        f"attribute_accuracy_control{suffix}": outsider,
        f"attribute_baseline{suffix}": guess,
        f"attribute_advantage{suffix}": member - outsider,
    }


def _better(metric: str) -> Better:
    return "zero" if "advantage" in metric else "none"


def _note(metric: str, attributes: int) -> str:
    if metric == "attribute_accuracy":
        return OF_POPULATION if attributes > 1 else NO_LEVELS
    return ""
