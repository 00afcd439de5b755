"""Factors: all correlations as a function of two factors, one severity behind the values and one
behind masks and gaps; and how far released blocks may depart from it, given their known noise."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from longsynth.methods.copula_score.courses import slow_memory
from longsynth.methods.copula_score.features import Lags
from longsynth.system.arrays import Bools, Floats, Ints

VALUE_SD, MARK_SD, REST_SD = 0.8, 0.1, 0.4  # priors of loadings, on the scale of atanh
OWN_SD = 0.6  # and of what a channel keeps of itself, beside others of its kind
SLACK = 0.05  # what a factor may miss without being pulled
MOST_TAU = 0.3  # largest deviation of a correlation from the factors', in one block type
EVALUATIONS = 40  # of the misfit, at most
STEP = 1e-6  # of differences in the few parameters of time


class Parameters(NamedTuple):
    """Parameters on their natural scales. Of a pair, the first belongs to the values' factor."""

    loading: Floats  # (m,), -1 to 1
    own: Floats  # (m,): of what no factor explains, what the next slot still shows
    lasting: Floats  # (2,): the part of a factor that does not fade
    fading: Floats  # (2,): what is left of the rest after a slot
    decay: Floats  # (2,): the same of what a channel keeps of itself
    across: float  # between the two factors


@dataclass(frozen=True)
class FactorModel:
    """Correlations as a function of parameters; holds what is public about the channels."""

    lags: Lags
    values: int  # V: the first channels; the rest belong to the second factor
    static: Bools  # (m,): the same in every slot
    slow: Bools  # (m,): known to change little from slot to slot

    @property
    def size(self) -> int:
        """Number of parameters."""
        return 2 * self.lags.channels + 7

    @cached_property
    def second(self) -> Ints:
        """(m,): which factor a channel belongs to."""
        return (np.arange(self.lags.channels) >= self.values).astype(np.int64)

    @cached_property
    def kind(self) -> Ints:
        """(m,): the factor, or 2 for a static channel."""
        return np.where(self.static, 2, self.second)

    def parts(self, parameters: Floats) -> Parameters:
        m = self.lags.channels
        rest = parameters[2 * m :]
        return Parameters(
            np.tanh(parameters[:m]),
            _chance(parameters[m : 2 * m]),
            _chance(rest[:2]),
            _chance(rest[2:4]),
            _chance(rest[4:6]),
            float(np.tanh(rest[6])),
        )

    def loadings(self, parameters: Floats) -> Floats:
        """(m, 2): masks and gaps follow severity as far as their factor correlates with that of
        the values."""
        p, value = self.parts(parameters), self.second == 0
        aside = np.sqrt(1 - p.across**2) * p.loading
        return np.stack(
            [
                np.where(value, p.loading, p.across * p.loading),
                np.where(value, 0.0, aside),
            ],
            axis=1,
        )

    def expected(self, parameters: Floats) -> Floats:
        """(T, m, m): loading × loading × how long a factor lasts; along the diagonal, what a
        channel keeps of itself besides."""
        return self._correlations(self.parts(parameters), np.eye(self.lags.slots))

    def pooled(self, parameters: Floats) -> Floats:
        """(groups, m, m): the same, averaged over the distances of each group."""
        return self._correlations(self.parts(parameters), self.lags.membership)

    def slopes(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Of `pooled`, off what is known to be one: along the loading of its first channel
        (groups, m, m), along what a channel keeps of itself (groups, m), on the diagonal, and along
        the few parameters of time (7, groups, m, m). It depends on no others."""
        p, m = self.parts(parameters), self.lags.channels
        channel, weight = np.arange(m), self.lags.membership
        lasting, keeping = self._over_time(p, weight)
        link, loading, room = self._link(p), p.loading, 1 - p.loading**2
        product, rest = np.outer(loading, loading), keeping[:, self.second]  # (groups, m)
        pair = link * lasting[:, self.kind[:, None], self.kind]
        first = pair * loading * room[:, None]
        own = 2 * loading * room * p.own * rest
        first[:, channel, channel] = 2 * first[:, channel, channel] - own
        over_time = np.empty((7, *pair.shape))
        for k in range(6):
            ahead, behind = parameters.copy(), parameters.copy()
            ahead[2 * m + k] += STEP
            behind[2 * m + k] -= STEP
            more, less = (self._over_time(self.parts(at), weight) for at in (ahead, behind))
            lasts, keeps = ((a - b) / (2 * STEP) for a, b in zip(more, less, strict=True))
            over_time[k] = product * link * lasts[:, self.kind[:, None], self.kind]
            over_time[k][:, channel, channel] += room * p.own * keeps[:, self.second]
        unlike = (self.second[:, None] != self.second) * (1 - p.across**2)
        over_time[6] = product * unlike * lasting[:, self.kind[:, None], self.kind]
        return first, room * p.own * (1 - p.own) * rest, over_time

    def normal(self, parameters: Floats, apart: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return J'WJ and J'W · apart, where J is the slope of `pooled` and W the weights of its
        entries (groups, m, m), symmetric. An entry depends on few parameters, so this takes a
        fraction of the time of J itself."""
        m, (first, own, over_time) = self.lags.channels, self.slopes(parameters)
        channel, loadings, owns, times = np.arange(m), slice(m), slice(m, 2 * m), slice(2 * m, None)
        on_diagonal = weight[:, channel, channel]
        once = np.triu(weight)  # each pair of channels stands twice
        product, pull = np.zeros((self.size, self.size)), np.zeros(self.size)

        product[loadings, loadings] = (weight * first * first.transpose(0, 2, 1)).sum(axis=0)
        product[channel, channel] = (weight * first**2).sum(axis=(0, 2))
        product[m + channel, m + channel] = (on_diagonal * own**2).sum(axis=0)
        product[m + channel, channel] = (on_diagonal * own * first[:, channel, channel]).sum(axis=0)
        product[times, loadings] = np.einsum("gab,kgab->ka", weight * first, over_time)
        product[times, owns] = np.einsum(
            "ga,kga->ka", on_diagonal * own, over_time[:, :, channel, channel]
        )
        flat = over_time.reshape(len(over_time), -1)
        product[times, times] = (flat * once.ravel()) @ flat.T
        lower = np.tril(product)
        product = lower + lower.T - np.diag(np.diag(product))

        pull[loadings] = (weight * first * apart).sum(axis=(0, 2))
        pull[owns] = (on_diagonal * own * apart[:, channel, channel]).sum(axis=0)
        pull[times] = flat @ (once * apart).ravel()
        return product, pull

    def prior(self, parameters: Floats) -> Floats:
        """Loadings of values are free; those of marks are alike, and so is what channels of one
        kind keep of themselves. Linear, but for a constant."""
        m, v = self.lags.channels, self.values
        loading, own, rest = parameters[:m], parameters[m : 2 * m], parameters[2 * m :]
        marks = loading[v : 2 * v]
        alike = np.concatenate([own[:v] - own[:v].mean(), own[v:] - own[v:].mean()])
        return np.concatenate(
            [
                loading[:v] / VALUE_SD,
                (marks - marks.mean()) / MARK_SD,
                [marks.mean() / VALUE_SD],
                loading[2 * v :] / REST_SD,
                alike / OWN_SD,
                own / 3,
                (rest - 1) / 1.5,
            ]
        )

    @cached_property
    def prior_slope(self) -> Floats:
        """(numbers, parameters)"""
        nothing = self.prior(np.zeros(self.size))
        return np.stack([self.prior(one) - nothing for one in np.eye(self.size)], axis=1)

    def _correlations(self, p: Parameters, weight: Floats) -> Floats:
        lasting, keeping = self._over_time(p, weight)
        channel = np.arange(self.lags.channels)
        product = np.outer(p.loading, p.loading) * self._link(p)
        every = product * lasting[:, self.kind[:, None], self.kind]
        every[:, channel, channel] += (1 - p.loading**2) * p.own * keeping[:, self.second]
        every[:, self.static, self.static] = 1.0
        every[0][channel, channel] = 1.0
        return np.asarray(every)

    def _link(self, p: Parameters) -> Floats:
        return np.where(self.second[:, None] == self.second, 1.0, p.across)

    def _over_time(self, p: Parameters, weight: Floats) -> tuple[Floats, Floats]:
        """How much two kinds of channels share (·, 3, 3), and what a channel keeps of itself
        (·, 2), averaged over distances with these weights (·, T). What is static always lasts."""
        lag = np.arange(self.lags.slots)[:, None]
        last = p.lasting + (1 - p.lasting) * p.fading**lag  # (T, 2)
        root = np.sqrt(last)
        shared = np.ones((self.lags.slots, 3, 3))
        shared[:, :2, :2] = root[:, :, None] * root[:, None, :]
        keeping = p.decay ** np.maximum(lag - 1, 0)
        return np.tensordot(weight, shared, 1), weight @ keeping


def _chance(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


@dataclass(frozen=True)
class Blocks:
    """Correlations of latent channels by distance."""

    parameters: Floats  # of the factor model
    loadings: Floats  # (m, 2): on severity, and on what else masks and gaps share
    fitted: Floats  # (T, m, m): of the factors alone
    correlations: Floats  # (T, m, m)


def shrunk_blocks(
    released: Floats,
    noise: Floats,
    model: FactorModel,
    start: Floats | None = None,
    *,
    toward_factors: bool = True,
) -> Blocks:
    """Return correlations (T, m, m) from noisy ones by group, (groups, m, m) each; the search for
    the factors begins at `start`. Without `toward_factors`, they shrink toward zero."""
    from scipy.linalg import solve_triangular  # here, to keep planning fast
    from scipy.optimize import least_squares

    lags, m = model.lags, model.lags.channels
    known = np.zeros(released.shape, bool)
    known[0] = np.eye(m, dtype=bool)
    known[:, np.diag_indices(m)[0], np.diag_indices(m)[1]] |= model.static | model.slow
    upper = np.triu(np.ones((m, m), bool)) & ~known
    weight = np.where(known, 0.0, 1 / (noise**2 + SLACK**2))

    @lru_cache(maxsize=1)  # the search asks for one, then for the other
    def turned(at: bytes) -> tuple[Floats, Floats]:
        """The misfit and its slope, turned so that all numbers but one for each parameter and the
        last are zero, and left out: the search is the same, and takes much less time."""
        parameters = np.frombuffer(at)
        apart, prior = released - model.pooled(parameters), model.prior(parameters)
        product, pull = model.normal(parameters, apart, weight)
        product += model.prior_slope.T @ model.prior_slope
        lower = np.linalg.cholesky(product)
        first = solve_triangular(lower, model.prior_slope.T @ prior - pull, lower=True)
        whole = float((np.triu(weight) * apart**2).sum() + prior @ prior)
        last = np.sqrt(max(whole - float(first @ first), 0.0))
        return np.append(first, last), np.vstack([lower.T, np.zeros(model.size)])

    def misfit(parameters: Floats) -> Floats:
        return turned(parameters.tobytes())[0]

    def slope(parameters: Floats) -> Floats:
        return turned(parameters.tobytes())[1]

    first = _first_guess(released, model) if start is None else start
    fit = least_squares(misfit, first, jac=slope, method="trf", max_nfev=EVALUATIONS)
    fitted = model.expected(fit.x)
    for j in np.flatnonzero(model.slow):
        fitted[:, j, j] = slow_memory(released[:, j, j], noise[:, j, j], lags)
    middle = fitted if toward_factors else np.zeros_like(fitted)
    apart = released - np.tensordot(lags.membership, middle, 1)
    kept = np.where(known, 0.0, _kept(apart, noise, upper, model))
    correlations = np.clip(middle + lags.spread(kept), -0.99, 0.99)
    correlations[0][np.diag_indices(m)] = 1.0
    steady = np.flatnonzero(model.static | model.slow)
    correlations[:, steady, steady] = fitted[:, steady, steady]
    return Blocks(fit.x, model.loadings(fit.x), fitted, correlations)


def _first_guess(released: Floats, model: FactorModel) -> Floats:
    """Start from the leading direction of the shortest lags, so that signs are right."""
    start = np.zeros(model.size)
    short = released[: min(2, len(released))].mean(axis=0)
    for factor in (0, 1):
        part = np.flatnonzero(model.second == factor)
        block = np.clip(short[np.ix_(part, part)], -0.9, 0.9)
        np.fill_diagonal(block, np.abs(block - np.diag(np.diag(block))).max(axis=1, initial=0.1))
        values, vectors = np.linalg.eigh(block)
        first = vectors[:, -1] * np.sqrt(max(values[-1], 0.01))
        start[part] = np.arctanh(np.clip(first, -0.8, 0.8))
    return start


def _kept(apart: Floats, noise: Floats, upper: Bools, model: FactorModel) -> Floats:
    """The part of the deviations that stands out from the noise, by group and type of block."""
    kept = np.zeros_like(apart)
    second = model.second == 1
    diagonal = np.eye(model.lags.channels, dtype=bool)
    types = [
        (second[:, None] == a) & (second == b) & ~diagonal
        | ((second[:, None] == b) & (second == a) & ~diagonal)
        for a, b in ((False, False), (False, True), (True, True))
    ] + [diagonal & ~second, diagonal & second]
    variance = noise**2
    for g in range(len(apart)):
        for of_type in types:
            chosen = of_type & upper[g]
            if not chosen.any():
                continue
            d, v = apart[g][chosen], variance[g][chosen]
            weight = 1 / (v + 0.02) ** 2
            tau = np.clip((weight * (d**2 - v)).sum() / weight.sum(), 0.0, MOST_TAU**2)
            kept[g] = np.where(of_type, tau / (tau + variance[g]) * apart[g], kept[g])
    return kept
