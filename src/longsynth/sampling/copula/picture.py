"""Picture: all correlations as a function of two factors: one severity behind the values, one
behind masks and gaps. Loadings, how long a factor lasts, and what a channel keeps of itself."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from longsynth.sampling.copula.lags import Lags
from longsynth.system.arrays import Bools, Floats, Ints

VALUE_SD, MARK_SD, REST_SD = 0.8, 0.1, 0.4  # priors of loadings, on the scale of atanh
OWN_SD = 0.6  # and of what a channel keeps of itself, beside others of its kind
STEP = 1e-6  # of differences in the few parameters of time


class Parts(NamedTuple):
    """Parameters on their natural scales. Of pairs, the first belongs to the values' factor."""

    loading: Floats  # (m,), -1 to 1
    own: Floats  # (m,): of what no factor explains, what the next slot still shows
    lasting: Floats  # (2,): the part of a factor that does not fade
    fading: Floats  # (2,): what is left of the rest after a slot
    decay: Floats  # (2,): the same of what a channel keeps of itself
    across: float  # between the two factors


@dataclass(frozen=True)
class Frame:
    """What is public about the channels."""

    lags: Lags
    values: int  # V: the first channels; the rest belong to the second factor
    static: Bools  # (m,)

    @property
    def size(self) -> int:
        """Parameters of a picture."""
        return 2 * self.lags.channels + 7

    @cached_property
    def second(self) -> Ints:
        """(m,): which factor a channel belongs to."""
        return (np.arange(self.lags.channels) >= self.values).astype(np.int64)

    @cached_property
    def kind(self) -> Ints:
        """(m,): the factor, or 2 for what is static."""
        return np.where(self.static, 2, self.second)

    def parts(self, parameters: Floats) -> Parts:
        m = self.lags.channels
        rest = parameters[2 * m :]
        return Parts(
            np.tanh(parameters[:m]),
            _chance(parameters[m : 2 * m]),
            _chance(rest[:2]),
            _chance(rest[2:4]),
            _chance(rest[4:6]),
            float(np.tanh(rest[6])),
        )

    def loadings(self, parameters: Floats) -> Floats:
        """(m, 2): masks and gaps follow severity as far as their factor goes along with that of
        the values."""
        found, value = self.parts(parameters), self.second == 0
        aside = np.sqrt(1 - found.across**2) * found.loading
        return np.stack(
            [
                np.where(value, found.loading, found.across * found.loading),
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

    def derivative(self, parameters: Floats) -> Floats:
        """(groups, m, m, parameters): of `pooled`, off what is known to be one."""
        found, m = self.parts(parameters), self.lags.channels
        groups, channel = len(self.lags.groups), np.arange(m)
        lasting, keeping = self._over_time(found, self.lags.membership)
        link, loading, room = self._link(found), found.loading, 1 - found.loading**2
        slope = np.zeros((groups, m, m, self.size))
        pair = link * lasting[:, self.kind[:, None], self.kind]
        slope[:, channel, :, channel] += (pair * loading * room[:, None]).transpose(1, 0, 2)
        slope[:, :, channel, channel] += pair * loading[:, None] * room
        unlike = (self.second[:, None] != self.second) * (1 - found.across**2)
        product = np.outer(loading, loading)
        slope[..., -1] = product * unlike * lasting[:, self.kind[:, None], self.kind]
        rest = keeping[:, self.second]  # (groups, m)
        slope[:, channel, channel, channel] -= 2 * loading * room * found.own * rest
        own_room = room * found.own * (1 - found.own)
        slope[:, channel, channel, m + channel] = own_room * rest
        for k in range(2 * m, 2 * m + 6):
            ahead, behind = parameters.copy(), parameters.copy()
            ahead[k] += STEP
            behind[k] -= STEP
            more, less = (
                self._over_time(self.parts(p), self.lags.membership) for p in (ahead, behind)
            )
            lasts, keeps = ((a - b) / (2 * STEP) for a, b in zip(more, less, strict=True))
            slope[..., k] = product * link * lasts[:, self.kind[:, None], self.kind]
            slope[:, channel, channel, k] += room * found.own * keeps[:, self.second]
        return slope

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

    def _correlations(self, found: Parts, weight: Floats) -> Floats:
        lasting, keeping = self._over_time(found, weight)
        channel = np.arange(self.lags.channels)
        product = np.outer(found.loading, found.loading) * self._link(found)
        every = product * lasting[:, self.kind[:, None], self.kind]
        every[:, channel, channel] += (1 - found.loading**2) * found.own * keeping[:, self.second]
        every[:, self.static, self.static] = 1.0
        every[0][channel, channel] = 1.0
        return np.asarray(every)

    def _link(self, found: Parts) -> Floats:
        return np.where(self.second[:, None] == self.second, 1.0, found.across)

    def _over_time(self, found: Parts, weight: Floats) -> tuple[Floats, Floats]:
        """How much two kinds of channels share (·, 3, 3), and what a channel keeps of itself
        (·, 2), averaged over distances with these weights (·, T). What is static always lasts."""
        lag = np.arange(self.lags.slots)[:, None]
        last = found.lasting + (1 - found.lasting) * found.fading**lag  # (T, 2)
        root = np.sqrt(last)
        shared = np.ones((self.lags.slots, 3, 3))
        shared[:, :2, :2] = root[:, :, None] * root[:, None, :]
        keeping = found.decay ** np.maximum(lag - 1, 0)
        return np.tensordot(weight, shared, 1), weight @ keeping


def _chance(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
