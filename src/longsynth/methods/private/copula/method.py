"""copula-score: private marginals, a latent Gaussian over values, masks and gaps, shrunk toward a
factor fit, and drawn along the score path."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding import rows as encoding
from longsynth.methods.fact import Fact, by_column, weighted
from longsynth.methods.method import Stage
from longsynth.methods.private import lines
from longsynth.methods.private.copula.calibration import FEWEST, MOST, generator
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.reading import (
    correlations,
    first,
    lags_of,
    products,
    score_weights,
)
from longsynth.methods.private.copula.rows import left_rows, marginal_rows, seen_of
from longsynth.methods.private.copula.rules import (
    BLOCKS,
    EFFECTS,
    EVENT,
    EVENT_WEIGHT,
    GRID,
    LENGTHS,
    MARGINALS,
    PLACE_WEIGHT,
    SCORE,
    SHAPE_WEIGHTS,
    STRATA,
    Rules,
    shares,
    weights,
)
from longsynth.methods.private.copula.settings import settings
from longsynth.methods.work import MATRICES, Work
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.copula.channels import Channels, channel_number
from longsynth.sampling.copula.codes import Floats32
from longsynth.sampling.copula.effects import features, time_shapes
from longsynth.sampling.copula.lags import Lags
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints

FACTORS = 70  # numbers in memory for each of groups · m³, while the factors are searched for
PROJECTED, EXPLAINED, SEARCHED = 2e-8, 1e-8, 3e-5  # core-seconds of all rounds; measured


@dataclass(frozen=True)
class CopulaScore:
    choices: Choices = field(default_factory=Choices)

    name: ClassVar[str] = "copula-score"
    summary: ClassVar[str] = "private marginals, pooled lag moments, factor shrinkage, score path"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """Marginals first; then products of normal scores; then effects along what they show."""
        rules, channels = Rules.of(schema), channel_number(schema)
        width = sum(map(len, weights(schema, rules))) + len(schema.variables)
        shapes, places = len(time_shapes(schema.slots)), 2 * len(schema.sites)
        left = {"left": 2 + places, "left_squared": EVENT_WEIGHT**2 + PLACE_WEIGHT**2}
        size = Lags(schema.slots, channels).size
        found = (
            [
                lines.plain_sum(EVENT, "event, centred", 1, 1, 2),
                lines.strata(schema),
                *lines.lengths(schema),
                _ball(MARGINALS, "waves of values and gaps, and what is observed", width),
            ],
            [_ball(BLOCKS, "channel × channel by distance in time", size)],
            [
                _ball(SCORE, "severity over time by event", shapes, left=2, left_squared=1),
                _ball(EFFECTS, "channels over time by event and place", shapes * channels, **left),
            ],
        )
        share = shares(schema, self.choices.little, self.choices.much)
        return tuple(tuple((s, share[s.name]) for s in stage) for stage in found)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        names = {statistic.name for statistic, _ in stage}
        rules, seen = Rules.of(schema), seen_of(batch, schema)
        cell = encoding.strata(batch, schema)
        if MARGINALS in names:
            ones = np.ones((batch.patients, 1), np.int64)
            return {
                EVENT: Contribution(2 * schema.strata[cell, 2:] - 1, ones),
                STRATA: Contribution(encoding.one_hot(cell, len(schema.strata))),
                LENGTHS: lines.length_rows(batch, schema),
                MARGINALS: held(marginal_rows(seen, schema), rules.marginal_radius),
            }
        encoder = _encoder(so_far, self.choices)
        u = encoder.channels.of(seen)
        if BLOCKS in names:
            return {BLOCKS: held(lags_of(so_far).rows(u), rules.block_radius)}
        f, event = features(u), encoding.one_hot(schema.strata[cell, 2], 2)
        full = f.reshape(len(f), -1)
        return {
            SCORE: held(f @ encoder.score * SHAPE_WEIGHTS[: f.shape[1]], rules.score_radius, event),
            EFFECTS: held(full, rules.effect_radius, left_rows(schema, cell)),
        }

    def facts(self, schema: Schema) -> list[Fact]:
        """Also: everybody has one event and one place, and effects are summed over either."""
        shapes, places = len(time_shapes(schema.slots)), 2 * len(schema.sites)
        signs = {EVENT: weighted(np.array([1])), STRATA: weighted(1 - 2 * schema.strata[:, 2])}
        whole = np.repeat([PLACE_WEIGHT, -EVENT_WEIGHT], [2, places])
        summed = {EFFECTS: by_column(whole, shapes * channel_number(schema))}
        return [
            *lines.patient_facts(schema),
            Fact(f"'{EVENT}' and '{STRATA}' count the same events", signs),
            Fact(f"'{EFFECTS}' are the same over events and over places", summed),
        ]

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        rules = Rules.of(schema)
        unit = entry.sigma / per_unit(entry.statistic) / patients
        match entry.statistic.name:
            case "event":
                return f"±{unit * patients:.1f} patients with the event"
            case "marginals":
                return f"±{unit * rules.marginal_radius:.2g} of a wave's height in each mean wave"
            case "lag blocks":
                return f"±{unit * rules.block_radius:.2g} in each mean product of normal scores"
            case "severity":
                mean = unit * rules.score_radius
                return f"±{mean:.2g} deviations of the severity score, by event"
            case "effects":
                mean = unit * rules.effect_radius / EVENT_WEIGHT
                return f"±{mean:.2g} in each mean normal score, by event"
        return lines.blur(entry, schema, patients)

    def settings(self, schema: Schema) -> Mapping[str, str]:
        return settings(schema, self.choices)

    def work(self, schema: Schema, patients: int) -> Work:
        """The calibration, over and over: simulated patients, the factor fit over channels, and
        square matrices with a side of all channels in all slots."""
        channels, groups = channel_number(schema), len(Lags(schema.slots, 1).groups)
        side, fitted = schema.slots * channels, groups * channels**3
        strata, simulated = 4 * len(schema.sites), min(max(patients, FEWEST), MOST)
        return Work(
            MATRICES * side * (side + simulated + strata) + FACTORS * fitted,
            PROJECTED * side**3 + EXPLAINED * strata * side**2 + SEARCHED * fitted,
        )

    def model(self, bundle: Bundle) -> Model:
        return generator(bundle, self.choices)


class _Encoder(NamedTuple):
    """What a later pass needs of the earlier ones."""

    channels: Channels
    score: Floats  # (m,); empty before the lag blocks are known


# The last, and what for: a pass asks for it batch by batch, and an attack plays it again.
_KEPT: dict[bytes, tuple[tuple[Schema, int, Choices], _Encoder]] = {}
FEW = 4


def _encoder(so_far: Bundle, choices: Choices) -> _Encoder:
    released = b"".join(found.values.tobytes() for found in so_far.released.values())
    made_for = so_far.schema, so_far.patients, choices
    kept_for, found = _KEPT.get(released, (None, None))
    if found is None or kept_for != made_for:
        known, score = first(so_far), np.zeros(0)
        if BLOCKS in so_far.released:
            paired = products(so_far, known)
            blocks = correlations(paired, so_far, known, choices)
            score = score_weights(paired, blocks, lags_of(so_far), known)
        found = _Encoder(known.channels, score)
        for old in list(_KEPT)[: len(_KEPT) - FEW + 1]:
            _KEPT.pop(old, None)
        _KEPT[released] = made_for, found
    return found


def _ball(name: str, meaning: str, right: int, **left: Any) -> Statistic:
    """A sum of rows in the unit ball, by itself or by what stands on the left."""
    sides = {"left": 1, "left_squared": 1} | left
    return Statistic(name, meaning, "cross", right, GRID**2, grid=GRID, **sides)


def held(rows: Floats | Floats32, radius: float, left: Ints | None = None) -> Contribution:
    """Each row over its radius, and scaled back into the unit ball where it is longer."""
    right = encoding.hold(rows, GRID**2, GRID / radius)
    return Contribution(right, np.ones((len(rows), 1), np.int64) if left is None else left)
