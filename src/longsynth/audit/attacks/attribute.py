"""Attribute: can someone who knows the rest of a record read a sensitive part off its nearest
synthetic neighbour, and better for members than for others?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longsynth.audit.attacks.membership import Scale, nearest, records
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.view import categorical, columns_of
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats

NO_LEVELS = "the event only: the schema has no variable with levels"
OF_POPULATION = "mostly what anyone could learn from the population: see the advantage"


@dataclass(frozen=True, slots=True)
class _Secret:
    """A yes-or-no attribute, and the columns of a record that reveal it."""

    name: str
    column: int
    above: float
    hidden: list[int]

    def of(self, points: Floats) -> Bools:
        return np.asarray(points[:, self.column] > self.above)


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
    or, if levels have no order, is mostly at the control's most common level.

    Only `attribute_advantage`, members minus control patients, is about membership: a guess that
    works on outsiders too rests on what holds for everyone. Values without a suffix are the mean
    over the attributes.
    """
    members, outsiders, generated = (records(schema, c) for c in (train, control, synthetic))
    secrets = _secrets(schema, outsiders)
    hits = {secret.name: _hits(secret, members, outsiders, generated) for secret in secrets}
    return scored(
        _statistic(hits),
        (train.patients, control.patients),
        ATTRIBUTE,
        bootstrap=bootstrap,
        seed=seed,
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


def _median(values: Floats) -> float:
    """The median, or the value below it if nobody lies above: a secret needs two answers."""
    median = float(np.median(values))
    below = values[values < median]
    return float(below.max()) if len(below) and not (values > median).any() else median


def _hits(
    secret: _Secret, members: Floats, outsiders: Floats, generated: Floats
) -> tuple[Floats, Floats, Floats]:
    """Right or wrong for members, for control patients, and for a majority guess on members."""
    scale = Scale(outsiders)
    known = [np.delete(scale(points), secret.hidden, axis=1) for points in (members, outsiders)]
    among, answers = np.delete(scale(generated), secret.hidden, axis=1), secret.of(generated)
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
        values = _named("", member, outsider, guess)
        for name, rates in by_name.items():
            values |= _named(f"_{name}", *rates)
        return values

    return statistic


def _named(suffix: str, member: float, outsider: float, guess: float) -> dict[str, float]:
    return {
        f"attribute_accuracy{suffix}": member,
        f"attribute_accuracy_control{suffix}": outsider,
        f"attribute_baseline{suffix}": guess,
        f"attribute_advantage{suffix}": member - outsider,
    }


def _note(metric: str, attributes: int) -> str:
    if metric == "attribute_accuracy":
        return OF_POPULATION if attributes > 1 else NO_LEVELS
    return ""


# Computed from the schema, the training, control and synthetic cohorts.
ATTRIBUTE = [
    Metric(
        "attribute_accuracy[_<attribute>]",
        "attribute guessed, fitted patients[: <attribute>]",
        "none",
        "A hidden attribute is read off the nearest synthetic record: the event, and whether the "
        "first variable with levels is above its median (nominal: mostly at its most common "
        "level). Without a suffix: the mean over the attributes.",
        attribute_scores,
        short="Attribute inferred, members[: <attribute>]",
        compare="`attribute_accuracy_control` and `attribute_baseline`",
    ),
    Metric(
        "attribute_accuracy_control[_<attribute>]",
        "· control: outsiders[: <attribute>]",
        "none",
        "The same for outsiders.",
        attribute_scores,
        short="Attribute inferred, non-members[: <attribute>]",
    ),
    Metric(
        "attribute_baseline[_<attribute>]",
        "· baseline: majority guess[: <attribute>]",
        "none",
        "The accuracy of always guessing the majority's answer.",
        attribute_scores,
        short="Attribute, majority class[: <attribute>]",
    ),
    Metric(
        "attribute_advantage[_<attribute>]",
        "attribute, fitted minus outsiders[: <attribute>]",
        "zero",
        "Members minus outsiders: the part due to having been in the cohort.",
        attribute_scores,
        short="Attribute advantage[: <attribute>]",
        limits=(-1.0, 1.0),
    ),
]
