"""From trials to numbers: how far apart two sides lie, and the least ε that this shows."""

from math import exp, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longsynth.system.arrays import Floats

THRESHOLDS = 400  # tried on the first half of the trials
CAUTIOUS = 1e-3  # alpha of that choice: a threshold that a few lucky trials favour is not taken


class Separation(NamedTuple):
    """μ̂: the distance of two sides in standard deviations."""

    mu: float
    error: float  # one standard error
    trials: int  # a side

    def at_least(self, alpha: float) -> float:
        """The lower confidence limit at 1 - alpha: the μ that is just so far below μ̂, in standard
        errors of its own, as Student's law allows."""
        from scipy.special import stdtrit

        if not np.isfinite(self.mu):
            return self.mu
        k = float(stdtrit(2 * self.trials - 2, alpha)) ** 2 / self.trials
        if k >= 4:  # far too few trials to say anything
            return 0.0
        a, c = 1 - k / 4, self.mu**2 - 2 * k
        return max((self.mu - sqrt(self.mu**2 - a * c)) / a, 0.0)


def standard_error(mu: float, trials: int) -> float:
    """Of a difference of means in pooled standard deviations, the same number on both sides."""
    return sqrt((2 + mu * mu / 4) / trials)


def trials_for(mu: float, error: float) -> int:
    """How many trials a side bring the standard error down to this."""
    return int((2 + mu * mu / 4) / error**2) + 1


def separation(one: Floats, other: Floats) -> Separation:
    """Return μ̂ of a statistic that is larger under `one`."""
    trials = len(one)
    apart = float(one.mean() - other.mean())
    spread = sqrt((float(one.var(ddof=1)) + float(other.var(ddof=1))) / 2) if trials > 1 else inf
    mu = apart / spread if spread > 0 else (inf if apart > 0 else 0.0)
    return Separation(mu, standard_error(mu, trials) if mu < inf else 0.0, trials)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the ε at δ of two normal laws that lie μ apart: what such an attacker shows.

    Exact for normal noise (docs/privacy.md, equation 5); solved from below.
    """
    from scipy.special import log_ndtr

    if not np.isfinite(mu):
        return inf
    if mu <= 0:
        return 0.0

    def left_over(epsilon: float) -> float:
        first, second = log_ndtr([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
        return exp(first) - exp(min(epsilon + second, 0.0))

    low, high = 0.0, mu * mu / 2 + 40 * mu
    if left_over(low) <= delta:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if left_over(middle) > delta else (low, middle)
    return low


def counted_epsilon(
    one: Floats, other: Floats, delta: float, alphas: tuple[float, ...]
) -> tuple[float, ...]:
    """Return lower bounds on ε, each valid with probability 1 - alpha, whatever the noise is.

    A threshold and a side are chosen on one half of the trials. On the other half the two error
    rates are counted, each with a Clopper-Pearson limit at alpha/2.
    """
    half = len(one) // 2
    if half == 0:
        return tuple(0.0 for _ in alphas)
    pooled = np.concatenate([one[:half], other[:half]])
    thresholds = np.unique(np.quantile(pooled, np.linspace(0, 1, THRESHOLDS)))
    tried = [
        _bounds(one[:half], other[:half], thresholds, upper, delta, CAUTIOUS)
        for upper in (False, True)
    ]
    upper, best = divmod(int(np.argmax(tried)), len(thresholds))
    rest = one[half:], other[half:], thresholds[best : best + 1], bool(upper), delta
    return tuple(max(float(_bounds(*rest, alpha)[0]), 0.0) for alpha in alphas)


def _bounds(
    one: Floats, other: Floats, thresholds: Floats, upper: bool, delta: float, alpha: float
) -> Floats:
    """log((hits - δ)/alarms), hits from below and alarms from above, for each threshold."""
    if upper:  # "one" is said above the threshold
        hits, alarms = _above(one, thresholds), _above(other, thresholds)
    else:  # "other" is said at or below it
        hits, alarms = (len(s) - _above(s, thresholds) for s in (other, one))
    low = _clopper_pearson_low(hits, len(one), alpha / 2)
    high = 1 - _clopper_pearson_low(len(one) - alarms, len(one), alpha / 2)
    return np.log(np.maximum(low - delta, 1e-300)) - np.log(high)


def _above(statistic: Floats, thresholds: Floats) -> NDArray[np.int64]:
    return len(statistic) - np.searchsorted(np.sort(statistic), thresholds, side="right")


def _clopper_pearson_low(successes: NDArray[np.int64], trials: int, alpha: float) -> Floats:
    """The lower limit of a probability, at confidence 1 - alpha."""
    from scipy.special import betaincinv

    some = np.maximum(successes, 1)
    return np.where(successes > 0, betaincinv(some, trials - some + 1, alpha), 0.0)
