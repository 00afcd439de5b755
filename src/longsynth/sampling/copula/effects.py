"""Effects: how an event, a site or a group moves the channels, in smooth shapes over time.

What is released are sums of channels on three polynomials of time, by event and by site and
group, and the same of one number, the severity score of the factor fit. What moves the factor
moves all channels along its loadings, so the prior of an effect is wide in that direction. In all
others it is narrow where patients are alike: there a small error of an effect would tell events
apart that cannot be told. How wide both are is weighed by how well it explains the releases.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from longsynth.sampling.copula.codes import Floats32
from longsynth.system.arrays import Floats, Ints

SHAPES = 3
ALONG = (0.6, 1.2, 2.4)  # prior deviations of an event's effect along the loadings, averaged over
NOT_ALONG = (0.02,)  # severity moves with an event no more than a single channel may
APART = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # and apart from them, beside how patients differ
ASIDE = np.array([1.0, 0.05])  # of the variance: what is not severity moves less with an event
# An outcome comes after the record, so what goes with it grows. The slope of an effect, beside its
# level: in the middle between one that stays as it is (0) and one that begins at nothing (1 / √3).
GROWTH, GROWTH_SD, BEND_SD = 0.29, 0.2, 0.1
TREND_SD = 0.3  # prior of the course over time
PLACES = (0.02, 0.05, 0.1, 0.2, 0.4)  # prior deviations by site and group, averaged over


def time_shapes(slots: int) -> Floats:
    """(P, T): level, slope and bend, of mean square one."""
    x = np.linspace(0.0, 1.0, slots) if slots > 1 else np.array([0.5])
    found = np.stack([np.ones(slots), 2 * x - 1, 6 * x**2 - 6 * x + 1])[: min(SHAPES, slots)]
    return np.asarray(found / np.sqrt((found**2).mean(axis=1, keepdims=True)))


def features(u: Floats32) -> Floats32:
    """(n, T, m) to (n, P, m): the mean product with each shape."""
    slots = u.shape[1]
    means = (time_shapes(slots) / slots).astype(np.float32)
    return np.asarray(np.matmul(means, u))  # a product for each patient


@dataclass(frozen=True)
class Effects:
    trend: Floats  # (P, m)
    event: Floats  # (P, m): event less no event
    place: Floats  # (sites · groups, m): level of each, about zero

    def means(self, strata: Ints, event_share: float, slots: int) -> Floats:
        """(S, T, m): the latent mean of each stratum."""
        contrast = strata[:, 2] - event_share
        course = np.vstack(
            [np.zeros_like(self.trend[:1]), self.trend[1:]]
        )  # no level: ranks have none
        shapes = course + contrast[:, None, None] * self.event  # (S, P, m)
        place = self.place[strata[:, 0] * 2 + strata[:, 1]]
        over_time = np.einsum("spm,pt->stm", shapes, time_shapes(slots))
        return np.asarray(over_time + place[:, None, :])


@dataclass(frozen=True)
class EffectSums:
    """Released means over patients, and the deviation of their noise."""

    by_event: Floats  # (2, P, m)
    by_place: Floats  # (sites · groups, m): level only
    noise: float
    place_noise: float
    score_by_event: Floats  # (2, P)
    score_noise: Floats  # (P,)


@dataclass(frozen=True)
class Setting:
    """What the sums are read with."""

    gains: Floats  # (m,): channel per unit of its latent mean
    loadings: Floats  # (m, 2): on severity, and on what else masks and gaps share
    score: Floats  # (m,): weights of the severity score
    usage: Floats  # (2, m, P, P): shape × shape over the slots that a channel has, by event
    event_share: float
    place_shares: Floats  # (sites · groups,)
    moving: Floats  # (m,): 1, or 0 for what is static and has no course
    spread: Floats  # (P, m, m): of one patient's features, which differ by chance beside all noise
    latent_spread: Floats  # (P, m, m): the same of latent features, before cells hide a part
    patients: int  # N


def design(setting: Setting) -> tuple[Floats, Floats]:
    """Return the linear maps from (trend, event) (2·P·m,) to sums by event, and to scores."""
    shares = np.array([1 - setting.event_share, setting.event_share])
    contrast = np.array([-setting.event_share, 1 - setting.event_share])
    m, shapes = setting.usage.shape[1:3]
    rows = []
    for y in (0, 1):
        here = shares[y] * setting.usage[y] * setting.gains[:, None, None]  # (m, P, P)
        map_ = np.einsum("apq,ab->paqb", here, np.eye(m)).reshape(shapes * m, shapes * m)
        rows.append(np.hstack([map_, contrast[y] * map_]))
    full = np.vstack(rows)
    return full, np.kron(np.eye(2 * shapes), setting.score) @ full


def expected(found: Effects, setting: Setting) -> tuple[Floats, Floats, Floats]:
    """Return what the effects imply: sums by event (2, P, m), scores (2, P), levels by place."""
    shapes, m = found.trend.shape
    full, score = design(setting)
    both = np.concatenate([found.trend.ravel(), found.event.ravel()])
    by_place = setting.place_shares[:, None] * _level_usage(setting) * setting.gains * found.place
    return (full @ both).reshape(2, shapes, m), (score @ both).reshape(2, shapes), by_place


def effects(sums: EffectSums, setting: Setting, widths: tuple[float, ...] = ALONG) -> Effects:
    """Return the posterior mean, averaged over these widths along the loadings."""
    from scipy.linalg import block_diag  # here, so that planning need not wait for it

    shapes, m = sums.by_event.shape[1:]
    full, score = design(setting)
    seen = np.concatenate([sums.by_event.ravel(), sums.score_by_event.ravel()])
    noise = np.concatenate([np.full(len(full), sums.noise), np.tile(sums.score_noise, 2)])
    maps = np.vstack([full, score])
    doubt = np.diag(noise**2) + _by_chance(setting)
    moves = np.ones((shapes, m))
    moves[1:] = setting.moving
    moves = moves * (setting.gains > 0)
    trend_sd = (TREND_SD * moves).ravel()
    along_loadings = (setting.loadings * ASIDE) @ setting.loadings.T
    over_time = np.kron(_course()[:shapes, :shapes], along_loadings)
    both_move = np.outer(moves.ravel(), moves.ravel())
    prior = np.diag(np.concatenate([trend_sd**2, np.zeros(shapes * m)]))
    found, evidence = [], []
    for along, apart in product(widths, APART):  # the narrower, the likelier: by its root
        direction = along**2 * over_time
        own = apart**2 * block_diag(*setting.latent_spread)
        prior[shapes * m :, shapes * m :] = (direction + own) * both_move
        lower = np.linalg.cholesky(maps @ prior @ maps.T + doubt)
        half = np.linalg.solve(lower, seen)
        evidence.append(-(half @ half) / 2 - np.log(np.diag(lower)).sum() - np.log(apart) / 2)
        found.append(prior @ maps.T @ np.linalg.solve(lower.T, half))
    trend, event = _averaged(found, evidence).reshape(2, shapes, m)
    return Effects(trend, event, _places(sums, setting))


def _averaged(found: list[Floats], evidence: list[float]) -> Floats:
    weight = np.exp(np.array(evidence) - max(evidence))
    return np.asarray(np.tensordot(weight / weight.sum(), np.array(found), 1))


def _course() -> Floats:
    """(P, P): covariance of level, slope and bend of an effect whose level has deviation one."""
    parts = np.array([[1.0, 0.0, 0.0], [GROWTH, GROWTH_SD, 0.0], [0.0, 0.0, BEND_SD]])
    return np.asarray(parts @ parts.T)


def _by_chance(setting: Setting) -> Floats:
    """Covariance of the sums by event and scores over another draw of as many patients."""
    shapes, m = setting.spread.shape[:2]
    blocks = np.zeros((2 * shapes * m, 2 * shapes * m))
    for y, share in enumerate((1 - setting.event_share, setting.event_share)):
        for p in range(shapes):
            here = slice((y * shapes + p) * m, (y * shapes + p + 1) * m)
            blocks[here, here] = share * setting.spread[p] / setting.patients
    both = np.vstack([np.eye(len(blocks)), np.kron(np.eye(2 * shapes), setting.score)])
    return np.asarray(both @ blocks @ both.T)


def _level_usage(setting: Setting) -> Floats:
    """(m,): slots that a channel has, of all."""
    level = setting.usage[:, :, 0, 0]
    return np.asarray((1 - setting.event_share) * level[0] + setting.event_share * level[1])


def _places(sums: EffectSums, setting: Setting) -> Floats:
    """Levels of sites and groups, shrunk one by one; they are about zero in the population."""
    gain = setting.place_shares[:, None] * _level_usage(setting) * setting.gains
    chance = setting.place_shares[:, None] * np.diag(setting.spread[0]) / setting.patients
    levels, evidence = [], []
    for width in PLACES:
        variance = (width * gain) ** 2 + sums.place_noise**2 + chance
        evidence.append(-(sums.by_place**2 / variance + np.log(variance)).sum() / 2)
        levels.append(width**2 * gain * sums.by_place / variance)
    found = _averaged(levels, evidence)
    return np.asarray(found - setting.place_shares @ found)
