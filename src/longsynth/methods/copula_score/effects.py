"""Effects: how an event, a site or a group moves the channels, in smooth shapes over time.

The releases are sums of channels on three polynomials of time, by event and by site and group, and
the same sums of one number, the severity score of the factor fit. What moves the factor moves all
channels along its loadings, so the prior of an effect is wide in that direction. In all other
directions it is narrow where patients are alike: there a small error of an effect would make events
distinguishable that are not. We average over both widths, weighted by how well each explains the
releases.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from longsynth.methods.copula_score.features import time_shapes
from longsynth.system.arrays import Floats, Ints

ALONG = (0.6, 1.2, 2.4)  # prior deviations of an event's effect along the loadings, averaged over
NOT_ALONG = (0.02,)  # severity moves with an event no more than a single channel may
APART = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # and apart from them, beside how patients differ
ASIDE = np.array([1.0, 0.05])  # of the variance: what is not severity moves less with an event
# An outcome comes after the record, so its effect grows over time. The prior slope, relative to the
# level, lies between a constant effect (0) and one that begins at zero (1 / √3).
GROWTH, GROWTH_SD, BEND_SD = 0.29, 0.2, 0.1
TREND_SD = 0.3  # prior of the trend over time
MOST = 0.9  # of a channel's variance between patients: however strong the effects, they differ
PLACES = (0.02, 0.05, 0.1, 0.2, 0.4)  # prior deviations by site and group, averaged over


@dataclass(frozen=True)
class Effects:
    trend: Floats  # (P, m)
    event: Floats  # (E - 1, P, m): each other level of the event less the first
    place: Floats  # (places, m): level of each, about zero

    def means(self, events: Ints, places: Ints, shares: Floats, slots: int) -> Floats:
        """(S, T, m): the latent mean of each stratum, from its event (S,), its places (S, places)
        and the shares of the events (E,)."""
        contrast = np.eye(len(shares))[events][:, 1:] - shares[1:]  # (S, E - 1)
        trend = np.vstack(
            [np.zeros_like(self.trend[:1]), self.trend[1:]]
        )  # no level: ranks have none
        shapes = trend + np.tensordot(contrast, self.event, 1)  # (S, P, m)
        over_time = np.einsum("spm,pt->stm", shapes, time_shapes(slots))
        return np.asarray(over_time + (places @ self.place)[:, None, :])

    def possible(
        self, mass: Floats, events: Ints, places: Ints, shares: Floats, slots: int
    ) -> "Effects":
        """The same, but no channel differs more between strata of these masses (S,) than MOST
        between patients. What an event determines has no largest effect: each round would add to
        it, and take what it adds from all other correlations."""
        over_time = self.means(events, places, shares, slots)
        explained = np.tensordot(mass, (over_time**2).mean(axis=1), 1)
        scale = np.sqrt(np.minimum(1.0, MOST / np.maximum(explained, 1e-12)))
        return Effects(self.trend * scale, self.event * scale, self.place * scale)


@dataclass(frozen=True)
class EffectSums:
    """Released means over patients, and the deviation of their noise."""

    by_event: Floats  # (E, P, m)
    by_place: Floats  # (places, m): level only
    noise: float
    place_noise: float
    score_by_event: Floats  # (E, P)
    score_noise: Floats  # (P,)


@dataclass(frozen=True)
class EffectInputs:
    """What the sums are read with: all of it follows from earlier lines."""

    gains: Floats  # (m,): channel per unit of its latent mean
    loadings: Floats  # (m, 2): on severity, and on what else masks and gaps share
    score: Floats  # (m,): weights of the severity score
    usage: Floats  # (E, m, P, P): shape × shape over the slots where it is seen, by event
    event_shares: Floats  # (E,)
    place_shares: Floats  # (places,)
    moving: Floats  # (m,): 1, or 0 for a static channel
    spread: Floats  # (P, m, m): of one patient's features, which differ by chance beside all noise
    latent_spread: Floats  # (P, m, m): the same of latent features, before cells hide a part
    patients: int  # N


def usage_of(seen: Floats) -> Floats:
    """From the part of a channel's gain in each slot (E, T, m) to shape × shape (E, m, P, P)."""
    shapes = time_shapes(seen.shape[1])
    return np.asarray(np.einsum("pt,ytm,qt->ympq", shapes, seen, shapes) / seen.shape[1])


def design(inputs: EffectInputs) -> tuple[Floats, Floats]:
    """Return the linear maps from (trend, event) (E·P·m,) to sums by event, and to scores."""
    shares = inputs.event_shares
    contrast = np.eye(len(shares))[:, 1:] - shares[1:]  # (E, E - 1)
    m, shapes = inputs.usage.shape[1:3]
    rows = []
    for y in range(len(shares)):
        here = shares[y] * inputs.usage[y] * inputs.gains[:, None, None]  # (m, P, P)
        map_ = np.einsum("apq,ab->paqb", here, np.eye(m)).reshape(shapes * m, shapes * m)
        rows.append(np.hstack([map_, *(c * map_ for c in contrast[y])]))
    full = np.vstack(rows)
    return full, np.kron(np.eye(len(shares) * shapes), inputs.score) @ full


def expected(effects: Effects, inputs: EffectInputs) -> tuple[Floats, Floats, Floats]:
    """Return what the effects imply: sums by event (E, P, m), scores (E, P), levels by place."""
    (shapes, m), events = effects.trend.shape, len(inputs.event_shares)
    full, score = design(inputs)
    both = np.concatenate([effects.trend.ravel(), effects.event.ravel()])
    by_place = inputs.place_shares[:, None] * _level_usage(inputs) * inputs.gains * effects.place
    sums = (full @ both).reshape(events, shapes, m)
    return sums, (score @ both).reshape(events, shapes), by_place


def posterior_effects(
    sums: EffectSums, inputs: EffectInputs, widths: tuple[float, ...] = ALONG
) -> Effects:
    """Return the posterior mean, averaged over these widths along the loadings."""
    from scipy.linalg import block_diag, solve_triangular  # here, to keep planning fast

    events, shapes, m = sums.by_event.shape
    full, score = design(inputs)
    released = np.concatenate([sums.by_event.ravel(), sums.score_by_event.ravel()])
    noise = np.concatenate([np.full(len(full), sums.noise), np.tile(sums.score_noise, events)])
    maps = np.vstack([full, score])
    doubt = np.diag(noise**2) + _by_chance(inputs)
    moves = np.ones((shapes, m))
    moves[1:] = inputs.moving
    moves = moves * (inputs.gains > 0)
    trend_sd = (TREND_SD * moves).ravel()
    along_loadings = (inputs.loadings * ASIDE) @ inputs.loadings.T
    over_time = np.kron(_shape_prior()[:shapes, :shapes], along_loadings)
    both_move = np.outer(moves.ravel(), moves.ravel())
    size = shapes * m
    nothing = np.zeros((size, size))
    prior = (  # of trends; of effects along the loadings, and apart from them, of width one
        np.diag(np.concatenate([trend_sd**2, np.zeros((events - 1) * size)])),
        block_diag(nothing, *[over_time * both_move] * (events - 1)),
        block_diag(nothing, *[block_diag(*inputs.latent_spread) * both_move] * (events - 1)),
    )
    with_sums = np.stack([part @ maps.T for part in prior])  # covariances, (3, parameters, sums)
    of_sums = maps @ with_sums
    means, evidence = [], []
    for along, apart in product(widths, APART):  # the narrower, the likelier: by its root
        weight = np.array([1.0, along**2, apart**2])
        lower = np.linalg.cholesky(np.tensordot(weight, of_sums, 1) + doubt)
        half = solve_triangular(lower, released, lower=True)
        evidence.append(-(half @ half) / 2 - np.log(np.diag(lower)).sum() - np.log(apart) / 2)
        whole = solve_triangular(lower, half, lower=True, trans=1)
        means.append(weight @ (with_sums @ whole))
    trend, *event = _averaged(means, evidence).reshape(events, shapes, m)
    return Effects(trend, np.reshape(event, (events - 1, shapes, m)), _places(sums, inputs))


def _averaged(values: list[Floats], evidence: list[float]) -> Floats:
    weight = np.exp(np.array(evidence) - max(evidence))
    return np.asarray(np.tensordot(weight / weight.sum(), np.array(values), 1))


def _shape_prior() -> Floats:
    """(P, P): covariance of level, slope and bend of an effect whose level has deviation one."""
    parts = np.array([[1.0, 0.0, 0.0], [GROWTH, GROWTH_SD, 0.0], [0.0, 0.0, BEND_SD]])
    return np.asarray(parts @ parts.T)


def _by_chance(inputs: EffectInputs) -> Floats:
    """Covariance of the sums by event and scores over another draw of as many patients."""
    (shapes, m), events = inputs.spread.shape[:2], len(inputs.event_shares)
    blocks = np.zeros((events * shapes * m, events * shapes * m))
    for y, share in enumerate(inputs.event_shares):
        for p in range(shapes):
            here = slice((y * shapes + p) * m, (y * shapes + p + 1) * m)
            blocks[here, here] = share * inputs.spread[p] / inputs.patients
    both = np.vstack([np.eye(len(blocks)), np.kron(np.eye(events * shapes), inputs.score)])
    return np.asarray(both @ blocks @ both.T)


def _level_usage(inputs: EffectInputs) -> Floats:
    """(m,): slots that a channel has, of all."""
    return np.asarray(inputs.event_shares @ inputs.usage[:, :, 0, 0])


def _places(sums: EffectSums, inputs: EffectInputs) -> Floats:
    """Levels of sites and groups, shrunk one by one; they are about zero in the population."""
    gain = inputs.place_shares[:, None] * _level_usage(inputs) * inputs.gains
    chance = inputs.place_shares[:, None] * np.diag(inputs.spread[0]) / inputs.patients
    levels, evidence = [], []
    for width in PLACES:
        variance = (width * gain) ** 2 + sums.place_noise**2 + chance
        evidence.append(-(sums.by_place**2 / variance + np.log(variance)).sum() / 2)
        levels.append(width**2 * gain * sums.by_place / variance)
    places = _averaged(levels, evidence)
    shares = inputs.place_shares / inputs.place_shares.sum()
    return np.asarray(places - shares @ places)
