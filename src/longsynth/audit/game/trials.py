"""Trials: one side of the game many times, by real fits or by drawing the noise of a line again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.random import SeedSequence

from longsynth.audit.game.neighbours import NoiseRequest, Pair, noise_requests
from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.system.arrays import Floats, sizes_only

FAST = "fast"  # how a report names `FastNoise`
FITS, OPENDP_FITS = 500, 10  # in one piece of work
NUMBERS = 30_000_000  # drawn in one piece of work
BLOCK = 400_000  # numbers drawn at a time, so that they stay in the cache


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
class FitWork:
    """Some real fits of one side."""

    plan: Plan
    pair: Pair
    side: int  # 0: the first cohort
    fits: int
    seed: SeedSequence | None  # None: OpenDP's own noise, as in a release

    __repr__ = sizes_only


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


def play_fits(work: FitWork) -> FitTrials:
    """Run `fit` many times and test what it released."""
    plan, side = work.plan, work.side
    cohort = work.pair.one if side == 0 else work.pair.other
    entries = plan.ledger.entries
    source = None if work.seed is None else FastNoise(work.seed)
    statistics = np.zeros((work.fits, len(entries)))
    squares = tuple(np.zeros(entry.statistic.dimension) for entry in entries)
    known = _known(work, None) if len(plan.stages) == 1 else None
    for trial in range(work.fits):
        try:
            bundle = fit(cohort, plan, noise=source)
        except AssertionError as refusal:
            return FitTrials(statistics[:0], squares, str(refusal))
        outputs = [released.values for released in bundle.released.values()]
        # A later stage depends on what was released before it: take its sums given that.
        sums, tests = known or _known(work, outputs)
        for line, entry in enumerate(entries):
            noise = (outputs[line] - sums[line]).astype(np.float64)
            statistics[trial, line] = tests[line].statistic(noise, side)
            squares[line][:] += np.square(noise / entry.sigma)
    return FitTrials(statistics, squares)


def _known(
    work: FitWork, outputs: Sequence[Integers] | None
) -> tuple[list[Integers], list[RatioTest]]:
    """The exact sums of the side that is played, and the tests between the two sides."""
    sides = [noise_requests(c, work.plan, outputs) for c in (work.pair.one, work.pair.other)]
    tests = [
        RatioTest.of(one, other, entry.sigma)
        for one, other, entry in zip(*sides, work.plan.ledger.entries, strict=True)
    ]
    return [request.sums for request in sides[work.side]], tests


@dataclass(frozen=True, slots=True)
class ChangedNumbers:
    """The numbers of one line that a pair changes."""

    sums: tuple[Integers, Integers]  # of either side
    sigma: float  # that the fit gave to its noise source
    test: RatioTest

    __repr__ = sizes_only


@dataclass(frozen=True, slots=True)
class DrawWork:
    """Fast noise on what a real fit handed to its noise source, drawn again for every trial."""

    lines: tuple[ChangedNumbers, ...]
    side: int
    trials: int
    seed: SeedSequence

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


def play_draws(work: DrawWork) -> Floats:
    """Return the log likelihood ratio of every trial."""
    source = FastNoise(work.seed)
    ratios = np.zeros(work.trials)
    for line in work.lines:
        sums = line.sums[work.side]
        at_once = max(BLOCK // max(len(sums), 1), 1)
        for start in range(0, work.trials, at_once):
            trials = min(at_once, work.trials - start)
            repeated = np.tile(sums, trials)
            noised = source.add(repeated, sigma=line.sigma, sensitivity=0.0, rho=0.0)
            noise = (noised - repeated).astype(np.float64).reshape(trials, len(sums))
            ratios[start : start + trials] += line.test.statistic(noise, work.side)
    return ratios


def fit_work(plan: Plan, pair: Pair, trials: int, seeds: SeedSequence | None) -> Iterator[FitWork]:
    """Cut the real fits of both sides into pieces, each with a seed of its own."""
    most = OPENDP_FITS if seeds is None else FITS
    for side in (0, 1):
        for fits in _pieces(trials, most):
            yield FitWork(plan, pair, side, fits, None if seeds is None else seeds.spawn(1)[0])


def draw_work(
    lines: tuple[ChangedNumbers, ...], trials: int, seeds: SeedSequence
) -> Iterator[DrawWork]:
    numbers = max(sum(len(line.sums[0]) for line in lines), 1)
    for side in (0, 1):
        for part in _pieces(trials, max(NUMBERS // numbers, 1)):
            yield DrawWork(lines, side, part, seeds.spawn(1)[0])


def _pieces(trials: int, most: int) -> list[int]:
    number = ceil(trials / most)
    return [trials // number + (piece < trials % number) for piece in range(number)]
