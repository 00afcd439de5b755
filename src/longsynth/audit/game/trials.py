"""Trials: one side of the game many times, by real fits or by drawing the noise of a line again;
and from trials to numbers: how far apart two sides lie, and the least ε that this shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, exp, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from longsynth.audit.game.neighbours import NoiseRequest, Pair, noise_requests
from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.system.arrays import Floats, Ints, sizes_only
from longsynth.system.workers import Piece

FAST = "fast"  # how a report names `FastNoise`
FITS, OPENDP_FITS = 500, 10  # in one piece of work
NUMBERS = 30_000_000  # drawn in one piece of work
BLOCK = 400_000  # numbers drawn at a time, so that they stay in the cache
THRESHOLDS = 400  # tried on the first half of the trials
CAUTIOUS = 1e-3  # alpha of that choice: a threshold that a few lucky trials favour is not taken


class FastNoise:
    """Rounded normals with a seed, for many trials; only ever in memory, for the auditor. At the σ
    of a ledger, 2¹⁶ and above, one number differs from OpenDP's discrete Gaussian by less than
    1e-10 in total variation."""

    def __init__(self, seed: SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)

    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        normal = self._rng.standard_normal(len(sums))
        normal *= sigma
        noised = np.rint(normal, out=normal).astype(np.int64)
        noised += sums
        return noised


@dataclass(frozen=True, slots=True)
class RatioTest:
    """The likelihood-ratio test of one line: two known sums, normal noise of the claimed σ."""

    weights: Floats  # (sums - sums')/σ², one per number
    half: float  # |sums - sums'|²/2σ²

    __repr__ = sizes_only

    @classmethod
    def of(cls, one: NoiseRequest, other: NoiseRequest, sigma: float) -> "RatioTest":
        difference = (one.sums - other.sums).astype(np.float64)
        return cls(difference / sigma**2, float(difference @ difference) / (2 * sigma**2))

    def statistic(self, noise: Floats, side: int) -> Floats:
        """The log likelihood ratio of released numbers, given as the noise on this side's sums."""
        centre = self.half if side == 0 else -self.half
        return np.asarray(noise @ self.weights + centre)


@dataclass(frozen=True, slots=True)
class FitTrials:
    statistics: Floats  # (fits, lines): log likelihood ratios
    squares: tuple[Floats, ...]  # per line: squared noise in claimed σ², summed over the fits
    refused: str = ""  # why OpenDP drew no noise

    __repr__ = sizes_only

    @classmethod
    def joined(cls, parts: Sequence["FitTrials"]) -> "FitTrials":
        squares = zip(*(part.squares for part in parts), strict=True)
        return cls(
            np.concatenate([part.statistics for part in parts]),
            tuple(np.sum(line, axis=0) for line in squares),
            next((part.refused for part in parts if part.refused), ""),
        )


def play_fits(plan: Plan, pair: Pair, side: int, fits: int, seed: SeedSequence | None) -> FitTrials:
    """Run `fit` many times on one side, 0 or 1, and test what it released. Without a seed, the
    noise is OpenDP's own, as in a release."""
    cohort = pair.one if side == 0 else pair.other
    entries = plan.ledger.entries
    source = None if seed is None else FastNoise(seed)
    statistics = np.zeros((fits, len(entries)))
    squares = tuple(np.zeros(entry.statistic.dimension) for entry in entries)
    known = _known(plan, pair, side, None) if len(plan.stages) == 1 else None
    for trial in range(fits):
        try:
            bundle = fit(cohort, plan, noise=source)
        except AssertionError as refusal:
            return FitTrials(statistics[:0], squares, str(refusal))
        outputs = [released.values for released in bundle.released.values()]
        # A later stage depends on what was released before it: take its sums given that.
        sums, tests = known or _known(plan, pair, side, outputs)
        for line, entry in enumerate(entries):
            noise = (outputs[line] - sums[line]).astype(np.float64)
            statistics[trial, line] = tests[line].statistic(noise, side)
            squares[line][:] += np.square(noise / entry.sigma)
    return FitTrials(statistics, squares)


def _known(
    plan: Plan, pair: Pair, side: int, outputs: Sequence[Integers] | None
) -> tuple[list[Integers], list[RatioTest]]:
    """The exact sums of the side that is played, and the tests between the two sides."""
    sides = [noise_requests(c, plan, outputs) for c in (pair.one, pair.other)]
    tests = [
        RatioTest.of(one, other, entry.sigma)
        for one, other, entry in zip(*sides, plan.ledger.entries, strict=True)
    ]
    return [request.sums for request in sides[side]], tests


@dataclass(frozen=True, slots=True)
class ChangedNumbers:
    """The numbers of one line that a pair changes."""

    sums: tuple[Integers, Integers]  # of either side
    sigma: float  # that the fit gave to its noise source
    test: RatioTest

    __repr__ = sizes_only


def changed_numbers(plan: Plan, pair: Pair, lines: Sequence[int]) -> tuple[ChangedNumbers, ...]:
    numbers = []
    for line in lines:
        one, other = pair.requests_one[line], pair.requests_other[line]
        changed = np.flatnonzero(one.sums != other.sums)
        first, second = (NoiseRequest(side.sums[changed], side.sigma) for side in (one, other))
        test = RatioTest.of(first, second, plan.ledger.entries[line].sigma)
        numbers.append(ChangedNumbers((first.sums, second.sums), one.sigma, test))
    return tuple(numbers)


def play_draws(
    lines: tuple[ChangedNumbers, ...], side: int, trials: int, seed: SeedSequence
) -> Floats:
    """Draw fast noise again for every trial, on what a real fit handed to its noise source. Return
    the log likelihood ratios."""
    source = FastNoise(seed)
    ratios = np.zeros(trials)
    for line in lines:
        sums = line.sums[side]
        at_once = max(BLOCK // max(len(sums), 1), 1)
        for start in range(0, trials, at_once):
            some = min(at_once, trials - start)
            repeated = np.tile(sums, some)
            noised = source.add(repeated, sigma=line.sigma, sensitivity=0.0, rho=0.0)
            noise = (noised - repeated).astype(np.float64).reshape(some, len(sums))
            ratios[start : start + some] += line.test.statistic(noise, side)
    return ratios


def fit_pieces(
    plan: Plan, pair: Pair, trials: int, seeds: SeedSequence | None
) -> list[list[Piece[FitTrials]]]:
    """Cut the real fits of each side into pieces, each with a seed of its own."""
    sizes = _sizes(trials, OPENDP_FITS if seeds is None else FITS)
    return [
        [partial(play_fits, plan, pair, side, n, seeds and seeds.spawn(1)[0]) for n in sizes]
        for side in (0, 1)
    ]


def draw_pieces(
    lines: tuple[ChangedNumbers, ...], trials: int, seeds: SeedSequence
) -> list[list[Piece[Floats]]]:
    numbers = max(sum(len(line.sums[0]) for line in lines), 1)
    sizes = _sizes(trials, max(NUMBERS // numbers, 1))
    return [
        [partial(play_draws, lines, side, n, seeds.spawn(1)[0]) for n in sizes] for side in (0, 1)
    ]


def _sizes(trials: int, most: int) -> list[int]:
    number = ceil(trials / most)
    return [trials // number + (piece < trials % number) for piece in range(number)]


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


def _above(statistic: Floats, thresholds: Floats) -> Ints:
    return len(statistic) - np.searchsorted(np.sort(statistic), thresholds, side="right")


def _clopper_pearson_low(successes: Ints, trials: int, alpha: float) -> Floats:
    """The lower limit of a probability, at confidence 1 - alpha."""
    from scipy.special import betaincinv

    some = np.maximum(successes, 1)
    return np.where(successes > 0, betaincinv(some, trials - some + 1, alpha), 0.0)
