"""Trials: one side of the game many times, by real fits or by drawing the noise of a line anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.random import SeedSequence

from longsynth.audit.game.fast_noise import FastNoise
from longsynth.audit.game.scene import Given, given_by
from longsynth.audit.game.search import Pair
from longsynth.fit import fit
from longsynth.plan import Plan
from longsynth.privacy.noise import Integers
from longsynth.system.arrays import Floats

FITS, OPENDP_FITS = 500, 10  # in one piece of work
NUMBERS = 30_000_000  # drawn in one piece of work
BLOCK = 400_000  # numbers drawn at a time, so that they stay in the cache


@dataclass(frozen=True, slots=True)
class RatioTest:
    """The likelihood-ratio test of one line: two known sums, normal noise of the claimed σ."""

    weights: Floats  # (sums - sums')/σ², a number each
    half: float  # |sums - sums'|²/2σ²

    @classmethod
    def of(cls, one: Given, other: Given, sigma: float) -> "RatioTest":
        difference = (one.sums - other.sums).astype(np.float64)
        return cls(difference / sigma**2, float(difference @ difference) / (2 * sigma**2))

    def statistic(self, noise: Floats, side: int) -> Floats:
        """The log likelihood ratio of released numbers, given as what was added to own sums."""
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


@dataclass(frozen=True, slots=True)
class FitTrials:
    statistics: Floats  # (fits, lines): log likelihood ratios
    squares: tuple[Floats, ...]  # a line each: squared noise in claimed σ², summed over the fits
    refused: str = ""  # OpenDP would not draw

    @classmethod
    def joined(cls, parts: Sequence["FitTrials"]) -> "FitTrials":
        squares = zip(*(part.squares for part in parts), strict=True)
        return cls(
            np.concatenate([part.statistics for part in parts]),
            tuple(np.sum(line, axis=0) for line in squares),
            next((part.refused for part in parts if part.refused), ""),
        )


def play_fits(work: FitWork) -> FitTrials:
    """Run `fit` again and again and test what it released."""
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
    sides = [given_by(c, work.plan, outputs) for c in (work.pair.one, work.pair.other)]
    tests = [
        RatioTest.of(one, other, entry.sigma)
        for one, other, entry in zip(*sides, work.plan.ledger.entries, strict=True)
    ]
    return [given.sums for given in sides[work.side]], tests


@dataclass(frozen=True, slots=True)
class Drawn:
    """The numbers of one line that a pair changes."""

    sums: tuple[Integers, Integers]  # of either side
    sigma: float  # that the fit gave to its noise source
    test: RatioTest


@dataclass(frozen=True, slots=True)
class DrawWork:
    """Fast noise on what a real fit handed to its noise source, drawn anew for every trial."""

    lines: tuple[Drawn, ...]
    side: int
    trials: int
    seed: SeedSequence


def drawn_lines(plan: Plan, pair: Pair, lines: Sequence[int]) -> tuple[Drawn, ...]:
    found = []
    for line in lines:
        one, other = pair.given_one[line], pair.given_other[line]
        changed = np.flatnonzero(one.sums != other.sums)
        both = Given(one.sums[changed], one.sigma), Given(other.sums[changed], other.sigma)
        test = RatioTest.of(*both, plan.ledger.entries[line].sigma)
        found.append(Drawn((both[0].sums, both[1].sums), one.sigma, test))
    return tuple(found)


def play_draws(work: DrawWork) -> Floats:
    """Return the log likelihood ratio of every trial."""
    source = FastNoise(work.seed)
    found = np.zeros(work.trials)
    for line in work.lines:
        sums = line.sums[work.side]
        at_once = max(BLOCK // max(len(sums), 1), 1)
        for start in range(0, work.trials, at_once):
            trials = min(at_once, work.trials - start)
            repeated = np.tile(sums, trials)
            noised = source.add(repeated, sigma=line.sigma, sensitivity=0.0, rho=0.0)
            noise = (noised - repeated).astype(np.float64).reshape(trials, len(sums))
            found[start : start + trials] += line.test.statistic(noise, work.side)
    return found


def fit_work(plan: Plan, pair: Pair, trials: int, seeds: SeedSequence | None) -> Iterator[FitWork]:
    """Cut the real fits of both sides into pieces; every piece has a seed of its own."""
    most = OPENDP_FITS if seeds is None else FITS
    for side in (0, 1):
        for fits in _pieces(trials, most):
            yield FitWork(plan, pair, side, fits, None if seeds is None else seeds.spawn(1)[0])


def draw_work(lines: tuple[Drawn, ...], trials: int, seeds: SeedSequence) -> Iterator[DrawWork]:
    numbers = max(sum(len(line.sums[0]) for line in lines), 1)
    for side in (0, 1):
        for part in _pieces(trials, max(NUMBERS // numbers, 1)):
            yield DrawWork(lines, side, part, seeds.spawn(1)[0])


def _pieces(trials: int, most: int) -> list[int]:
    number = ceil(trials / most)
    return [trials // number + (piece < trials % number) for piece in range(number)]
