"""The lines of `copula-score`, in four passes: marginals first; then products of normal scores;
then effects along what they show; then where the event departs from all this."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding.record import one_hot
from longsynth.encoding.rows import Encoded, Encoder, clip
from longsynth.methods import lines
from longsynth.methods.copula_score.cells import Floats32, mean_noise
from longsynth.methods.copula_score.channels import (
    Channels,
    Coded,
    Coding,
    bounds_scaling,
    channel_number,
    measures_of,
)
from longsynth.methods.copula_score.features import Lags, shape_features, time_shapes
from longsynth.methods.copula_score.labelled import label_base_of
from longsynth.methods.copula_score.labels import LabelBase, label_width
from longsynth.methods.copula_score.reading import (
    correlations,
    first_pass,
    lags_of,
    released_products,
    score_weights,
)
from longsynth.methods.copula_score.rows import WaveTables, left_rows, places
from longsynth.methods.copula_score.settings import (
    BLOCKS,
    EFFECTS,
    EVENT,
    EVENT_WEIGHT,
    GRID,
    LABELS,
    MARGINALS,
    PLACE_WEIGHT,
    SCORE,
    SHAPE_WEIGHTS,
    Settings,
    Sizes,
    measure_weights,
    shares_of,
)
from longsynth.methods.fact import Fact, by_column, weighted
from longsynth.methods.method import Line, Stage
from longsynth.methods.words import means_in_units
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Rows
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import STRATA
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats


def copula_stages(schema: Schema, settings: Settings) -> tuple[Stage, ...]:
    sizes, shares = Sizes.of(schema), lines.with_optional_lines(shares_of(schema, settings), schema)
    stages: tuple[Stage, ...] = (
        (
            *_events(schema, shares),
            lines.strata(schema, shares),
            *lines.ends(schema, shares),
            _marginals(schema, sizes, shares[MARGINALS]),
        ),
        (_blocks(schema, sizes, shares[BLOCKS]),),
        (_score(schema, sizes, shares[SCORE]), _effects(schema, sizes, shares[EFFECTS])),
    )
    return (*stages, (_labels(schema, sizes, shares[LABELS]),)) if LABELS in shares else stages


class CopulaEncoder(Encoder):
    """What a pass needs of the schema and of the passes before it."""

    def __init__(self, schema: Schema, so_far: Bundle, settings: Settings) -> None:
        super().__init__(schema)
        self.sizes, self.coding = Sizes.of(schema), Coding(schema)
        self.waves, self.lags = WaveTables(schema), lags_of(so_far)
        self.channels: Channels | None = None  # known after the first pass
        self.score: Floats = np.zeros(0)  # (m,): known after the second
        if MARGINALS in so_far.released:
            known = first_pass(so_far)
            self.channels = known.channels
            if BLOCKS in so_far.released:
                products = released_products(so_far, known)
                blocks = correlations(products, so_far, known, settings)
                self.score = score_weights(products, blocks, self.lags, known)
        self.labels: LabelBase | None = None  # known after the third
        if EFFECTS in so_far.released:
            self.labels = label_base_of(so_far, settings)

    def __call__(self, batch: Cohort) -> "CopulaEncoded":
        return CopulaEncoded(batch, self)


class CopulaEncoded(Encoded):
    encoder: CopulaEncoder

    @cached_property
    def coded(self) -> Coded:
        return self.encoder.coding.of(self.batch)

    @cached_property
    def channels(self) -> Floats32:
        """u (n, T, m)"""
        assert self.encoder.channels is not None, "lines of later passes need the first"
        return self.encoder.channels.of(self.coded)

    @cached_property
    def features(self) -> Floats32:
        """(n, P, m)"""
        return shape_features(self.channels)


def _events(schema: Schema, shares: Mapping[str, Fraction]) -> list[Line]:
    """How many patients have the event, for each level but the first; no line without levels."""
    others = len(schema.levels("event")) - 1
    if not others:
        return []
    summed = lines.sum_of(EVENT, "event, centred", others, others, 2)
    return [Line(summed, shares[EVENT], _event_rows, _event_noise)]


def _event_rows(encoded: CopulaEncoded) -> Contribution:
    levels = one_hot(encoded.event, len(encoded.schema.levels("event")))
    return Contribution(2 * levels[:, 1:] - 1, encoded.ones)


def _event_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients with the event"


def _marginals(schema: Schema, sizes: Sizes, share: Fraction) -> Line:
    width = sum(map(len, measure_weights(schema, sizes))) + len(schema.variables)
    summed = _ball(MARGINALS, "waves of values and gaps, and what is observed", width)
    return Line(summed, share, _marginal_rows, partial(_marginals_noise, schema, sizes))


def _marginal_rows(encoded: CopulaEncoded) -> Contribution:
    rows = encoded.encoder.waves.rows(encoded.coded)
    return clipped(rows, encoded.encoder.sizes.marginal_radius, encoded.ones)


def _marginals_noise(schema: Schema, sizes: Sizes, sd: float, patients: int) -> str:
    """Waves are averaged over all slots, whether or not something was measured there."""
    noise, weights = sd / patients * sizes.marginal_radius, measure_weights(schema, sizes)
    of_variables = zip(schema.variables, measures_of(schema), weights, strict=False)
    means = np.array([mean_noise(cells, noise / w) for _, cells, w in of_variables])
    words = means_in_units(schema, bounds_scaling(schema), means)
    return f"{words}, if they are measured in all slots; twice that if in half of them"


def _blocks(schema: Schema, sizes: Sizes, share: Fraction) -> Line:
    size = Lags(schema.slots, channel_number(schema)).size
    summed = _ball(BLOCKS, "channel × channel by distance in time", size)
    unit = sizes.block_radius * sqrt(0.5)  # a pair stands for both its orders
    words = "in each correlation, if both are measured in all slots"
    return Line(summed, share, _block_rows, partial(_noise, unit, words))


def _block_rows(encoded: CopulaEncoded) -> Contribution:
    rows = encoded.encoder.lags.rows(encoded.channels)
    return clipped(rows, encoded.encoder.sizes.block_radius, encoded.ones)


def _score(schema: Schema, sizes: Sizes, share: Fraction) -> Line:
    shapes = len(time_shapes(schema.slots))
    left = {"left": len(schema.levels("event")), "left_squared": 1}
    summed = _ball(SCORE, "severity over time by event", shapes, **left)
    words = "of a standard deviation in the severity"
    return Line(summed, share, _score_rows, partial(_noise_by_event, sizes.score_radius, words))


def _score_rows(encoded: CopulaEncoded) -> Contribution:
    f, encoder = encoded.features, encoded.encoder
    rows = f @ encoder.score * SHAPE_WEIGHTS[: f.shape[1]]
    return clipped(
        rows,
        encoder.sizes.score_radius,
        one_hot(encoded.event, len(encoded.schema.levels("event"))),
    )


def _effects(schema: Schema, sizes: Sizes, share: Fraction) -> Line:
    width, counted = len(time_shapes(schema.slots)) * channel_number(schema), places(schema)
    squared = EVENT_WEIGHT**2 + PLACE_WEIGHT**2 * int(counted[0].sum())
    left = {"left": len(schema.levels("event")) + counted.shape[1], "left_squared": squared}
    summed = _ball(EFFECTS, "channels over time by event and place", width, **left)
    unit, words = sizes.effect_radius / EVENT_WEIGHT, "of a standard deviation in each variable"
    return Line(summed, share, _effect_rows, partial(_noise_by_event, unit, words))


def _effect_rows(encoded: CopulaEncoded) -> Contribution:
    rows = encoded.features.reshape(encoded.batch.patients, -1)
    left = left_rows(encoded.schema, encoded.stratum)
    return clipped(rows, encoded.encoder.sizes.effect_radius, left)


def _labels(schema: Schema, sizes: Sizes, share: Fraction) -> Line:
    width = label_width(schema)
    summed = _ball(LABELS, "events less expected events, by summaries of the record", width)
    unit = sizes.label_radius(width)
    words = "in the log odds of the event per standard deviation of a summary"
    return Line(summed, share, _label_rows, partial(_label_noise, unit, words))


def _label_rows(encoded: CopulaEncoded) -> Contribution:
    encoder, base = encoded.encoder, encoded.encoder.labels
    assert base is not None, "labels need the first three passes"
    summaries = base.summaries.of(encoded.channels, encoded.coded.length, encoded.stratum)
    rows = base.rows(summaries, encoded.event)
    return clipped(rows, encoder.sizes.label_radius(rows.shape[1]), encoded.ones)


def _label_noise(unit: float, words: str, sd: float, patients: int) -> str:
    """Log odds move a mean residual by p (1 − p)."""
    mean = sd / patients * unit
    return (
        f"±{mean / 0.25:.2g} {words} if half the patients have the event, "
        f"±{mean / 0.09:.2g} if a tenth"
    )


def _noise(unit: float, words: str, sd: float, patients: int) -> str:
    return f"±{sd / patients * unit:.2g} {words}"


def _noise_by_event(unit: float, words: str, sd: float, patients: int) -> str:
    """A sum over the patients with an event says less about each, the rarer the event is."""
    mean = sd / patients * unit
    return (
        f"±{2 * mean:.2g} {words} if half the patients have the event, ±{10 * mean:.2g} if a tenth"
    )


def _ball(name: str, meaning: str, right: int, **left: Any) -> Statistic:
    """A sum of rows in the unit ball, by itself or with a left side."""
    sides = {"left": 1, "left_squared": 1} | left
    return Statistic(name, meaning, "cross", right, GRID**2, grid=GRID, **sides)


def clipped(rows: Floats | Floats32, radius: float, left: Rows) -> Contribution:
    """Each row divided by its radius, and clipped to the unit ball."""
    return Contribution(clip(rows, GRID**2, GRID / radius), left)


def copula_facts(schema: Schema) -> list[Fact]:
    """Also: everybody has one event and one place of each kind, and effects are summed over all."""
    shapes, counted, facts = len(time_shapes(schema.slots)), places(schema), []
    event, levels = lines.event_of_cells(schema), len(schema.levels("event"))
    for level in range(1, levels):
        signs = np.where(event < 0, 0, np.where(event == level, -1, 1))
        same = {EVENT: weighted(np.eye(levels - 1, dtype=np.int64)[level - 1])}
        same |= {STRATA: weighted(signs)}
        facts.append(Fact(f"'{EVENT}' and '{STRATA}' count the same events", same))
    kinds, sides = int(counted[0].sum()), [levels, counted.shape[1]]
    whole = np.repeat([kinds * PLACE_WEIGHT, -EVENT_WEIGHT], sides)
    summed = {EFFECTS: by_column(whole, shapes * channel_number(schema))}
    return [
        *lines.patient_facts(schema),
        *facts,
        Fact(f"'{EFFECTS}' are the same over events and over places", summed),
    ]
