"""The model of `copula-score`, from its bundle alone: the sampler whose own patients, counted in
the same way, give the released sums.

Clipping, missing values and rounding bias what is released. They bias a simulation alike: each
round simulates patients from the model so far, counts them as real ones were counted, and subtracts
the difference between the result and what the formulas expect from the releases. Thresholds and
maps are set so that simulated patients, on average, are observed as often and show the values that
the marginals say. The simulation's seed is public.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.bundle import Bundle
from longsynth.encoding.record import one_hot, strata
from longsynth.encoding.scaling import as_stated
from longsynth.methods.copula_score.balanced import Balanced
from longsynth.methods.copula_score.cells import Floats32, Marginal
from longsynth.methods.copula_score.channels import (
    Coded,
    Coding,
    bounds_scaling,
    channel_number,
)
from longsynth.methods.copula_score.courses import has_hint
from longsynth.methods.copula_score.effects import (
    ALONG,
    NOT_ALONG,
    EffectInputs,
    Effects,
    EffectSums,
    expected,
    posterior_effects,
    usage_of,
)
from longsynth.methods.copula_score.factors import Blocks
from longsynth.methods.copula_score.features import shape_features
from longsynth.methods.copula_score.latent import (
    RANKS,
    Drawing,
    Evened,
    FullLength,
    Latent,
    LatentGaps,
    LatentLengths,
    Map,
    Thresholds,
    Values,
    synthesis,
    within,
)
from longsynth.methods.copula_score.reading import (
    FirstPass,
    Products,
    correlations,
    effect_inputs,
    effect_sums,
    first_pass,
    lags_of,
    length_marginal,
    released_products,
    score_weights,
)
from longsynth.methods.copula_score.rows import WaveTables, left_rows, places
from longsynth.methods.copula_score.settings import (
    EVENT_WEIGHT,
    FEWEST,
    MOST,
    PLACE_WEIGHT,
    SHAPE_WEIGHTS,
    Settings,
    Sizes,
)
from longsynth.sampling.model import Model, Synthetic
from longsynth.sampling.score import Draws, ScorePath, Start, independent, noise_levels
from longsynth.sampling.strata import Lengths
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints

KNOTS = 400  # of a map from latent numbers to ranks
TOO_FEW = 10  # latent numbers for a map of their own: then that of a normal variable
SEED = 1  # the same for everyone: the model is a function of the bundle


@dataclass(frozen=True)
class Readings:
    """The releases, less their known bias."""

    target: FirstPass  # marginals that a generated cohort shall have
    products: Products
    sums: EffectSums


class Counted(NamedTuple):
    """Simulated patients, and how they are counted."""

    patients: Synthetic
    coded: Coded
    waves: WaveTables


def copula_model(bundle: Bundle, settings: Settings) -> Model:
    """Return the sampler for a bundle."""
    known, coding = first_pass(bundle), Coding(bundle.schema)
    waves, paired = WaveTables(bundle.schema), released_products(bundle, known)
    read = Readings(known, paired, effect_sums(bundle, known.channels.number))
    blocks = correlations(paired, bundle, known, settings)
    score = score_weights(paired, blocks, lags_of(bundle), known)  # as the third pass used it
    stratum = in_proportion(known.mass, int(np.clip(bundle.patients, FEWEST, MOST)))
    start = _start(bundle.schema, stratum, settings)
    released, seen = read, None
    event = one_hot(bundle.schema.strata[stratum, 2], len(known.shares)).astype(np.float64)
    for turn in range(settings.rounds + 1):
        blocks = correlations(read.products, bundle, known, settings, blocks)
        inputs = effect_inputs(bundle, known, paired, blocks, score, seen)
        fitted = posterior_effects(
            read.sums, inputs, ALONG if settings.along_severity else NOT_ALONG
        )
        events, slots = bundle.schema.strata[:, 2], bundle.schema.slots
        fitted = fitted.possible(known.mass, events, places(bundle.schema), known.shares, slots)
        means = fitted.means(events, places(bundle.schema), known.shares, slots)
        model, shared = assembled(
            bundle, read.target, blocks.correlations, means, stratum, start, settings
        )
        if turn < settings.rounds:
            simulated = simulated_patients(model, stratum, shared)
            counted = Counted(simulated, coding.of(simulated), waves)
            seen = known.channels.seen(counted.coded, event)
            here = replace(inputs, usage=usage_of(seen))  # sums move from where the round ended
            read = _calibrated(released, bundle, known, counted, blocks, fitted, here)
    return evened(model, shared) if settings.balanced else model


def _start(schema: Schema, stratum: Ints, settings: Settings) -> Start:
    """The numbers that simulated patients begin with, drawn once: they are the same each round."""
    if not settings.balanced:
        return independent
    width = schema.slots * channel_number(schema)
    return Balanced(schema.strata[:, 2]).numbers(stratum, width, _rng())


def in_proportion(mass: Floats, patients: int) -> Ints:
    """Strata of so many patients, without chance."""
    reached = np.cumsum(mass) / mass.sum()
    places = np.searchsorted(reached, (np.arange(patients) + 0.5) / patients)
    return np.minimum(places, len(mass) - 1)


def _calibrated(
    released: Readings,
    bundle: Bundle,
    known: FirstPass,
    counted: Counted,
    blocks: Blocks,
    fitted: Effects,
    inputs: EffectInputs,
) -> Readings:
    """Count simulated patients as real ones were, and subtract what differs from the formulas."""
    schema, sizes, lags = bundle.schema, Sizes.of(bundle.schema), lags_of(bundle)
    sums, waves = released.sums, counted.waves.rows(counted.coded)
    target = first_pass(bundle, (_clipped(waves, sizes.marginal_radius) - waves).mean(axis=0))

    u = known.channels.of(counted.coded)
    products = lags.clipped_blocks(u, sizes.block_radius)
    formula = released.products.gain * np.tensordot(lags.membership, blocks.correlations, 1)
    unbiased = replace(
        released.products, released=released.products.released - (products - formula)
    )

    f = shape_features(u)
    left = left_rows(schema, strata(counted.patients, schema)) / len(f)
    events = len(known.shares)
    event = one_hot(counted.patients.event, events) / len(f)
    shapes, m = f.shape[1:]
    full = left.T @ _clipped(f.reshape(len(f), -1), sizes.effect_radius)
    by_shape = SHAPE_WEIGHTS[:shapes]
    line = event.T @ _clipped(f @ inputs.score * by_shape, sizes.score_radius) / by_shape
    by_event, by_score, by_place = expected(fitted, inputs)
    return Readings(
        target,
        unbiased,
        replace(
            sums,
            by_event=sums.by_event
            - full[:events].reshape(events, shapes, m) / EVENT_WEIGHT
            + by_event,
            score_by_event=sums.score_by_event - line + by_score,
            by_place=sums.by_place
            - full[events:].reshape(-1, shapes, m)[:, 0] / PLACE_WEIGHT
            + by_place,
        ),
    )


def _clipped(rows: Floats | Floats32, radius: float) -> Floats:
    rows = np.asarray(rows, np.float64)  # to be summed over many patients
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(norms, 1e-12)))


def assembled(
    bundle: Bundle,
    known: FirstPass,
    correlations: Floats,
    means: Floats,
    stratum: Ints,
    start: Start,
    settings: Settings,
) -> tuple[Model, Drawing]:
    """Return the sampler; patients of these strata are drawn to set its thresholds and maps, from
    what they begin with. What they share is returned too."""
    schema, constants = bundle.schema, bundle.schema.resolved_constants
    steady = has_hint(schema, known.channels.number)
    scaling, variables = bounds_scaling(schema), len(schema.variables)
    spectrum = within(correlations, means, known.mass, steady, variables)
    latent = Latent(
        ScorePath(
            means=means.reshape(len(means), -1),
            spectrum=spectrum,
            levels=noise_levels(constants.steps, float(spectrum.values.max())),
            scaling=scaling,
            start=Balanced(schema.strata[:, 2]) if settings.balanced else independent,
        ),
        schema.slots,
    )
    rng = _rng()
    shared = replace(latent, path=replace(latent.path, start=start))(stratum, rng)
    lengths = _lengths(known, shared, schema.strata[:, 2], schema.slots)
    length = lengths.draw(shared, rng)
    used = np.arange(schema.slots) < length[:, None]
    static = np.array(schema.layout.static)
    marginals = known.channels.marginals
    cuts = np.empty(variables)
    for v in range(variables):
        marks = shared.latent[:, :, variables + v]
        chosen = marks[:, 0] if static[v] else marks[used]
        cuts[v] = np.quantile(chosen, 1 - known.channels.rates[v]) if len(chosen) else 0.0
    masks = Thresholds(cuts, schema.layout, constants.least_observations)
    observed = masks.draw(shared, length, rng)
    gap = shared.latent[:, :, 2 * variables]
    model = Model(
        schema=schema,
        strata=synthesis(
            known.mass,
            schema.strata,
            schema.protected_strata,
            constants.event_floor,
            settings.balance,
        ),
        lengths=lengths,
        values=Values(
            tuple(
                _map(shared.latent[:, :, v][observed[:, :, v]], marginals[v])
                for v in range(variables)
            ),
            scaling,
            has_hint(schema, variables, "static"),
            has_hint(schema, variables, "slow"),
        ),
        masks=masks,
        gaps=LatentGaps(
            2 * variables,
            _map(gap[:, 0], marginals[-2]),
            _map(gap[:, 1:][used[:, 1:]], marginals[-1]),
            scaling,
        ),
        fingerprint=bundle.fingerprint,
        shared=latent,
    )
    return model, shared


def evened(model: Model, shared: Drawing) -> Model:
    """Return the same sampler, with the spread of small samples evened; drawings of patients who
    have the population's shares show what it should be."""
    law = np.quantile(shared.latent, RANKS, axis=(0, 1)).T.astype(np.float64)
    return replace(model, shared=Evened(model.shared, law, model.strata.weight))


def simulated_patients(model: Model, stratum: Ints, shared: Drawing | None = None) -> Synthetic:
    """Return patients of these strata, to be counted as real ones were."""
    rng = _rng()
    shared = shared or model.shared(stratum, rng)
    length = model.lengths.draw(shared, rng)
    values = model.values.draw(shared, rng)
    observed = model.masks.draw(shared, length, rng)
    gaps = as_stated(model.gaps.draw(shared, rng), model.schema)
    site, group, event = model.schema.strata[stratum].T
    weight = model.strata.weight[stratum]
    return Synthetic(values, observed, gaps, length, group, event, site, weight, model.fingerprint)


def _lengths(
    known: FirstPass, shared: Drawing, events: Ints, slots: int
) -> LatentLengths | FullLength:
    if not isinstance(known.lengths, Lengths):
        return FullLength(slots)
    latent, event = shared.latent[:, 0, -1], events[shared.stratum]
    maps = (
        _map(latent[event == y], length_marginal(chances))
        for y, chances in enumerate(known.lengths.chances)
    )
    return LatentLengths(tuple(maps), events, slots)


def _map(latent: Draws, marginal: Marginal) -> Map:
    enough = len(latent) >= TOO_FEW
    numbers = latent.astype(np.float64) if enough else np.linspace(-2.0, 2.0, TOO_FEW)
    ranks = (np.arange(KNOTS) + 0.5) / KNOTS
    ordered = np.sort(numbers)  # faster than searching for so many quantiles
    knots = np.interp(ranks * (len(ordered) - 1), np.arange(len(ordered)), ordered)
    return Map(knots, ranks, marginal)


def _rng() -> Generator:
    return Generator(SFC64(SeedSequence(SEED)))
