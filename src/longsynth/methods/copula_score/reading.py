"""Reading: what the releases say, pass by pass. Anyone who has a bundle can repeat it."""

from dataclasses import dataclass

import numpy as np

from longsynth.bundle import Bundle
from longsynth.methods.copula_score.cells import THIN, Cells, Marginal, marginal
from longsynth.methods.copula_score.channels import (
    LEAST_RATE,
    Channels,
    channel_number,
    measures_of,
    still_channels,
)
from longsynth.methods.copula_score.courses import has_hint
from longsynth.methods.copula_score.effects import EffectInputs, EffectSums, usage_of
from longsynth.methods.copula_score.factors import Blocks, FactorModel, shrunk_blocks
from longsynth.methods.copula_score.features import Lags, time_shapes
from longsynth.methods.copula_score.latent import event_share, masses
from longsynth.methods.copula_score.rows import places
from longsynth.methods.copula_score.settings import (
    BLOCKS,
    EFFECTS,
    EVENT,
    EVENT_WEIGHT,
    MARGINALS,
    PLACE_WEIGHT,
    SCORE,
    SHAPE_WEIGHTS,
    Settings,
    Sizes,
    measure_weights,
)
from longsynth.sampling.auxiliary import STRATA, noise_in_mean, released_lengths
from longsynth.sampling.strata import AllSlots, Lengths
from longsynth.system.arrays import Bools, Floats

RATES = 1001  # that are weighed against each other


@dataclass(frozen=True)
class FirstPass:
    """Who the patients are, how long their records, and each measure by itself."""

    shares: Floats  # (E,): of the events
    mass: Floats  # (S,)
    lengths: Lengths | AllSlots
    channels: Channels


@dataclass(frozen=True)
class Products:
    """The second pass before any shrinkage: mean products by group of distances."""

    released: Floats  # (groups, m, m)
    gain: Floats  # (groups, m, m): product per unit of latent correlation
    noise: Floats  # (m, m)


def first_pass(bundle: Bundle, clipped_off: Floats | float = 0.0) -> FirstPass:
    """Read the first pass, less the bias that clipping is known to have put on its marginals."""
    schema, sizes = bundle.schema, Sizes.of(bundle.schema)
    shares = event_shares(bundle)
    mass = masses(shares, bundle.mean(STRATA), noise_in_mean(bundle, STRATA), schema)
    lengths = released_lengths(bundle)
    used = mass @ lengths.in_use  # (T,)

    row, noise = bundle.mean(MARGINALS)[0], noise_in_mean(bundle, MARGINALS)
    row, noise = row * sizes.marginal_radius - clipped_off, noise * sizes.marginal_radius
    static, variables = np.array(schema.layout.static), len(schema.variables)
    waves, marks = row[:-variables], row[-variables:]
    present = np.where(static, 1.0, used.mean())
    per_rate = 2 * sizes.mark_weight * np.maximum(present, 0.05)
    rates = observed_rates(marks / per_rate + 0.5, noise / per_rate)
    shown = [*(present * rates), used[0], used[1:].mean() if schema.slots > 1 else used[0]]
    marginals, start = [], 0
    for cells, weight, part in zip(
        measures_of(schema), measure_weights(schema, sizes), shown, strict=True
    ):
        end = start + len(weight)
        scale = weight * max(part, 0.5 * LEAST_RATE)
        marginals.append(marginal(cells, waves[start:end] / scale, noise / scale))
        start = end
    length = None
    if isinstance(lengths, Lengths):
        length = length_marginal(shares @ lengths.chances)
    return FirstPass(shares, mass, lengths, Channels(tuple(marginals), rates, static, length))


def event_shares(bundle: Bundle) -> Floats:
    """(E,): of each level of the event."""
    if EVENT not in bundle.released:
        return np.ones(1)
    noise = noise_in_mean(bundle, EVENT)
    others = [event_share(released + 0.5, noise) for released in bundle.mean(EVENT)[0]]
    first = max(1 - sum(others), LEAST_RATE)
    shares = np.array([first, *others])
    return np.asarray(shares / shares.sum())


def observed_rates(released: Floats, noise: Floats) -> Floats:
    """(V,): posterior means, under a flat prior. Taken at face value, noise could say
    "always", and a model trained on the data would take one missing cell for very unusual."""
    rates = np.linspace(LEAST_RATE, 1 - LEAST_RATE, RATES)
    fit = -(((released[:, None] - rates) / np.maximum(noise, 1 / RATES)[:, None]) ** 2) / 2
    weight = np.exp(fit - fit.max(axis=1, keepdims=True))
    return np.asarray(weight @ rates / weight.sum(axis=1))


def length_marginal(chances: Floats) -> Marginal:
    """A distribution (T + 1,) over lengths."""
    kept = np.maximum(chances, THIN)
    return Marginal(Cells(levels=len(chances)), kept / kept.sum())


def lags_of(bundle: Bundle) -> Lags:
    schema, m = bundle.schema, channel_number(bundle.schema)
    still = still_channels(schema) | has_hint(schema, m, "static")
    return Lags(schema.slots, m, tuple(np.flatnonzero(still).tolist()))


def released_products(bundle: Bundle, known: FirstPass) -> Products:
    sizes, lags = Sizes.of(bundle.schema), lags_of(bundle)
    released = lags.blocks(bundle.mean(BLOCKS)[0] * sizes.block_radius)
    noise = lags.noise(noise_in_mean(bundle, BLOCKS) * sizes.block_radius)
    rates, m = known.channels.rates, lags.channels
    variables = len(rates)
    used = known.mass @ known.lengths.in_use
    pairs = np.array([used[lag:].mean() for lag in range(lags.slots)])
    in_use = np.maximum(lags.membership @ pairs, 0.02)
    early = np.array([used[: lags.slots - lag].mean() for lag in range(lags.slots)])
    either = np.maximum(lags.membership @ (pairs + early) / 2, 0.02)
    static = known.channels.is_static
    gain = np.empty_like(released)
    for g in range(len(released)):
        marks = released[g, variables : 2 * variables, variables : 2 * variables] / in_use[g]
        doubt = noise[variables : 2 * variables, variables : 2 * variables] / in_use[g]
        stands_out = np.maximum(1 - (2 * doubt / np.maximum(np.abs(marks), 1e-12)) ** 2, 0.0)
        apart = np.outer(rates, rates)
        both = np.clip(apart + marks * stands_out, 0.3 * apart, np.minimum(rates[:, None], rates))
        np.fill_diagonal(both, np.where(static[:variables] | (g == 0), rates, np.diag(both)))
        shown = np.ones((m, m))
        shown[:variables, :] = rates[:, None]
        shown[:, :variables] = rates
        shown[:variables, :variables] = both
        one_static, both_static = static[:, None] | static, static[:, None] & static
        has = np.where(both_static, 1.0, np.where(one_static, either[g], in_use[g]))
        gain[g] = has * shown * np.outer(known.channels.gains, known.channels.gains)
    return Products(released, np.maximum(gain, 1e-4), noise)


def correlations(
    products: Products,
    bundle: Bundle,
    known: FirstPass,
    settings: Settings,
    before: Blocks | None = None,
) -> Blocks:
    """Return shrunk correlations. `before` says how much they differ by chance between cohorts,
    and where to begin."""
    lags = lags_of(bundle)
    still = np.isin(np.arange(lags.channels), lags.still)
    slow = has_hint(bundle.schema, lags.channels, "slow")
    model = FactorModel(lags, len(known.channels.rates), still, slow)
    released, variance = products.released / products.gain, (products.noise / products.gain) ** 2
    if before is None:
        first_look = shrunk_blocks(released, np.sqrt(variance), model)
        return correlations(products, bundle, known, settings, first_look)
    pairs = np.array([(lags.slots - lag) * (1 if lag == 0 else 2) for lag in range(lags.slots)])
    r = before.correlations
    own = np.diagonal(r, axis1=1, axis2=2)
    chance = np.tensordot(pairs / lags.slots**2, own[:, :, None] * own[:, None, :] + r**2, 1)
    shown = products.gain / np.outer(known.channels.gains, known.channels.gains)
    variance = variance + np.maximum(chance, 0.0) / np.maximum(shown, 0.05) / bundle.patients
    if not settings.marks_in_copula:
        marks = np.zeros(lags.channels, bool)
        marks[len(known.channels.rates) : 2 * len(known.channels.rates)] = True
        released = np.where(marks[:, None] == marks, released, 0.0)
    return shrunk_blocks(
        released,
        np.sqrt(variance),
        model,
        before.parameters,
        toward_factors=settings.toward_factors,
    )


def score_weights(products: Products, blocks: Blocks, lags: Lags, known: FirstPass) -> Floats:
    """(m,): channels by how much they tell of severity; a patient's mean score has deviation 1."""
    lengthless = np.arange(lags.channels) < 2 * len(known.channels.rates) + 1
    pairs = np.array([(lags.slots - lag) * (1 if lag == 0 else 2) for lag in range(lags.slots)])
    gain = products.gain[lags.membership.argmax(axis=0)]
    spread = np.tensordot(pairs / lags.slots**2, gain * blocks.fitted, 1)
    severity = blocks.loadings[:, 0]
    weight = np.where(lengthless, severity / (1.1 - severity**2), 0.0)
    return np.asarray(weight / np.sqrt(np.maximum(weight @ spread @ weight, 1e-24)))


def effect_sums(bundle: Bundle, m: int) -> EffectSums:
    sizes, shapes = Sizes.of(bundle.schema), len(time_shapes(bundle.schema.slots))
    full, events = bundle.mean(EFFECTS) * sizes.effect_radius, len(bundle.schema.levels("event"))
    by_shape = SHAPE_WEIGHTS[:shapes]
    return EffectSums(
        by_event=full[:events].reshape(events, shapes, m) / EVENT_WEIGHT,
        by_place=full[events:].reshape(-1, shapes, m)[:, 0] / PLACE_WEIGHT,
        noise=noise_in_mean(bundle, EFFECTS) * sizes.effect_radius / EVENT_WEIGHT,
        place_noise=noise_in_mean(bundle, EFFECTS) * sizes.effect_radius / PLACE_WEIGHT,
        score_by_event=bundle.mean(SCORE) * sizes.score_radius / by_shape,
        score_noise=noise_in_mean(bundle, SCORE) * sizes.score_radius / by_shape,
    )


def effect_inputs(
    bundle: Bundle,
    known: FirstPass,
    products: Products,
    blocks: Blocks,
    score: Floats,
    seen: Floats | None = None,
) -> EffectInputs:
    """`seen` (E, T, m) is how much of each channel's gain simulated patients have in each slot;
    before there are any, all events are observed alike."""
    schema = bundle.schema
    gains = known.channels.gains.copy()
    if known.channels.length:
        gains[-1] = 0.0  # each event has its own distribution of lengths: nothing is left to move
    seen = _seen_alike(bundle, known) if seen is None else seen
    return EffectInputs(
        gains=gains,
        loadings=blocks.loadings * (gains > 0)[:, None],
        score=score,
        usage=usage_of(seen),
        event_shares=known.shares,
        place_shares=known.mass @ places(schema),
        moving=_moving(known.channels.is_static, has_hint(schema, len(gains)), blocks),
        spread=_by_shape(
            products.gain[lags_of(bundle).membership.argmax(axis=0)] * blocks.correlations
        ),
        latent_spread=_by_shape(blocks.correlations),
        patients=bundle.patients,
    )


def _seen_alike(bundle: Bundle, known: FirstPass) -> Floats:
    """(E, T, m): slots in use by event, and values as often observed as in all patients."""
    in_use, strata = known.lengths.in_use, bundle.schema.strata
    of_event = (strata[:, 2] == np.arange(len(known.shares))[:, None]) * known.mass
    used = of_event @ in_use / np.maximum(of_event.sum(axis=1), 1e-9)[:, None]
    seen = np.where(known.channels.is_static, 1.0, used[:, :, None])
    seen[:, :, : len(known.channels.rates)] *= known.channels.rates
    return seen


def _moving(static: Bools, hinted: Bools, blocks: Blocks) -> Floats:
    """(m,): how far a channel may move over a record. What hardly moves in one patient hardly moves
    in all of them."""
    last = np.diagonal(blocks.correlations[-1])
    return np.where(static, 0.0, np.where(hinted, np.sqrt(np.clip(2 * (1 - last), 0, 1)), 1.0))


def _by_shape(covariance: Floats) -> Floats:
    """(T, m, m) by distance to (P, m, m): covariance of a patient's features on each shape."""
    slots = len(covariance)
    lag = np.abs(np.arange(slots)[:, None] - np.arange(slots))
    weights_by_lag = [np.bincount(lag.ravel(), np.outer(p, p).ravel()) for p in time_shapes(slots)]
    by_shape = [np.tensordot(w / slots**2, covariance, 1) for w in weights_by_lag]
    return np.stack([_positive(matrix) for matrix in by_shape])


def _positive(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 1e-6)) @ vectors.T)
