"""Calibration: the generator whose own patients, counted the same way, give the released sums.

Clipping, missing values and rounding bend what is released. They bend a simulation alike: each
round draws patients from the model so far, counts them as real ones were counted, and takes the
difference between the result and what the formulas expect off the releases. Post-processing:
the simulation's seed is public, and the bundle is all it sees.
"""

from dataclasses import dataclass, replace

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding import rows as encoding
from longsynth.methods.private.copula.assembly import assembled, drawn, evened
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.reading import (
    First,
    Products,
    correlations,
    effect_sums,
    first,
    lags_of,
    products,
    score_weights,
    setting,
)
from longsynth.methods.private.copula.rows import left_rows, marginal_rows, seen_of
from longsynth.methods.private.copula.rules import EVENT_WEIGHT, PLACE_WEIGHT, SHAPE_WEIGHTS, Rules
from longsynth.reading.records import Cohort
from longsynth.sampling.copula.codes import Floats32
from longsynth.sampling.copula.effects import (
    ALONG,
    NOT_ALONG,
    Effects,
    EffectSums,
    Setting,
    effects,
    expected,
    features,
)
from longsynth.sampling.copula.factor import Blocks
from longsynth.sampling.model import Model
from longsynth.system.arrays import Floats, Ints

FEWEST, MOST = 4_000, 20_000  # simulated patients


@dataclass(frozen=True)
class Readings:
    """The releases, less what is known to have bent them."""

    target: First  # marginals that a generated cohort shall have
    products: Products
    sums: EffectSums


def generator(bundle: Bundle, choices: Choices) -> Model:
    """Return the sampler for a bundle."""
    known = first(bundle)
    paired = products(bundle, known)
    read = Readings(known, paired, effect_sums(bundle, known.channels.number))
    blocks = correlations(paired, bundle, known, choices)
    score = score_weights(paired, blocks, lags_of(bundle), known)  # as the third pass used it
    stratum = in_proportion(known.mass, int(np.clip(bundle.patients, FEWEST, MOST)))
    released = read
    for turn in range(choices.rounds + 1):
        blocks = correlations(read.products, bundle, known, choices, blocks)
        seen_with = setting(bundle, known, paired, blocks, score)
        found = effects(read.sums, seen_with, ALONG if choices.along_severity else NOT_ALONG)
        means = found.means(bundle.schema.strata, known.share, bundle.schema.slots)
        model = assembled(bundle, read.target, blocks.correlations, means, stratum, choices)
        if turn < choices.rounds:
            cohort = drawn(model, stratum)
            read = _unbent(released, bundle, known, cohort, blocks, found, seen_with)
    return evened(model, stratum) if choices.balanced else model


def in_proportion(mass: Floats, patients: int) -> Ints:
    """Strata of so many patients, without chance."""
    reached = np.cumsum(mass) / mass.sum()
    places = np.searchsorted(reached, (np.arange(patients) + 0.5) / patients)
    return np.minimum(places, len(mass) - 1)


def _unbent(
    released: Readings,
    bundle: Bundle,
    known: First,
    cohort: Cohort,
    blocks: Blocks,
    found: Effects,
    seen_with: Setting,
) -> Readings:
    """Count a generated cohort as the real one was, and take off what differs from the formulas."""
    schema, rules, lags = bundle.schema, Rules.of(bundle.schema), lags_of(bundle)
    seen, sums = seen_of(cohort, schema), released.sums
    waves = marginal_rows(seen, schema)
    target = first(bundle, (_clipped(waves, rules.marginal_radius) - waves).mean(axis=0))

    u = known.channels.of(seen)
    counted = lags.blocks(_clipped(lags.rows(u), rules.block_radius).mean(axis=0))
    formula = released.products.gain * np.tensordot(lags.membership, blocks.correlations, 1)
    unbent = replace(released.products, seen=released.products.seen - (counted - formula))

    f = features(u)
    left = left_rows(schema, encoding.strata(cohort, schema)) / len(f)
    event = encoding.one_hot(cohort.event, 2) / len(f)
    shapes, m = f.shape[1:]
    full = left.T @ _clipped(f.reshape(len(f), -1), rules.effect_radius)
    by_shape = SHAPE_WEIGHTS[:shapes]
    line = event.T @ _clipped(f @ seen_with.score * by_shape, rules.score_radius) / by_shape
    by_event, by_score, by_place = expected(found, seen_with)
    return Readings(
        target,
        unbent,
        replace(
            sums,
            by_event=sums.by_event - full[:2].reshape(2, shapes, m) / EVENT_WEIGHT + by_event,
            score_by_event=sums.score_by_event - line + by_score,
            by_place=sums.by_place
            - full[2:].reshape(-1, shapes, m)[:, 0] / PLACE_WEIGHT
            + by_place,
        ),
    )


def _clipped(rows: Floats | Floats32, radius: float) -> Floats:
    rows = np.asarray(rows, np.float64)  # to be summed over many patients
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(norms, 1e-12)))
