"""The distinguishing game: an auditor who knows everything but which of two cohorts was fitted.

Two cohorts differ in one patient. One of them goes through the real `fit`, and from the release the
auditor says which one. Differential privacy limits how often anyone can be right, so an auditor who
is right more often has disproved the claim. Our auditor knows the sums and the noise, and plays the
likelihood-ratio test, which no other test beats.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from threadpoolctl import threadpool_limits

from longsynth.audit.game.neighbours import NoiseBypassed, Pair, WorstPairs, worst_pairs
from longsynth.audit.game.trials import (
    FAST,
    FitTrials,
    changed_numbers,
    draw_pieces,
    fit_pieces,
    standard_error,
    trials_for,
)
from longsynth.audit.game.verdict import (
    GameReport,
    GameRow,
    MeasuredNoise,
    Sides,
    claimed_mu,
    error_wanted,
    exact_findings,
    measured_noise,
    noise_findings,
    row_findings,
    rows_of,
)
from longsynth.plan import Plan
from longsynth.privacy.noise import OPENDP
from longsynth.system.errors import Code, Refused
from longsynth.system.workers import Piece, Watch, work_through

LEAST_TRIALS = 10  # per side; with fewer no limit means anything
FEWEST = 1000  # trials per side where noise is redrawn, however many numbers that takes


class Fits(NamedTuple):
    """Real fits per side: with fast noise, and with OpenDP's own."""

    fast: int
    opendp: int


ONE_PASS, SEVERAL_PASSES = Fits(20_000, 200), Fits(200, 50)  # later passes wait for the noise
OWN, SHARED = "its own", "the bundle's"  # whose worst pair a row is played on


class Drawing(NamedTuple):
    """A test that redraws the noise on what a real fit handed to its noise source."""

    lines: tuple[int, ...]
    pair: Pair
    trials: int


def play(
    plan: Plan,
    *,
    trials: int | None = None,
    opendp_trials: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    tries: int = 400,
    numbers: int = 1_000_000_000,
    watch: Watch = lambda done, total: None,
) -> GameReport:
    """Play against the claim of a plan and report what was reached, per line and for all lines.

    `trials` real fits per side use fast noise and `seed`; `opendp_trials` use OpenDP's own noise,
    which takes none. Each line is also played on its own worst pair, with as many fast draws as
    its μ needs, at least `trials` and at most `numbers` numbers. `tries` is how long the search for
    a pair goes on.
    """
    usual = ONE_PASS if len(plan.stages) == 1 else SEVERAL_PASSES
    trials = usual.fast if trials is None else trials
    opendp_trials = usual.opendp if opendp_trials is None else opendp_trials
    if min(trials, opendp_trials) < LEAST_TRIALS:
        raise Refused(
            Code.TOO_FEW_TRIALS,
            f"with fewer than {LEAST_TRIALS} trials per side, the game's limits mean nothing.",
            f"Ask for at least {LEAST_TRIALS} trials per side with either noise.",
        )
    for_search, for_fits, for_draws = SeedSequence(seed).spawn(3)
    with threadpool_limits(limits=1):  # short products: a second thread only waits
        try:
            worst = worst_pairs(plan, np.random.default_rng(for_search), tries=tries)
        except NoiseBypassed as finding:
            return _report(plan, seed, findings=[str(finding)])
        sources = {OPENDP: (opendp_trials, None), FAST: (trials, for_fits)}
        pieces: list[list[list[Piece[Any]]]]  # for each test, those of either side
        pieces = [fit_pieces(worst.plan, worst.bundle, *source) for source in sources.values()]
        drawings = list(_drawings(worst, trials, numbers))
        for d in drawings:
            changed = changed_numbers(plan, d.pair, d.lines)
            pieces.append(draw_pieces(changed, d.trials, for_draws))
        every = [piece for both in pieces for side in both for piece in side]
        results = iter(work_through(every, jobs if jobs > 1 else 0, watch))
        played = [[list(islice(results, len(side))) for side in both] for both in pieces]

    findings = list(exact_findings(plan, worst))
    sides: list[Sides] = []
    spreads: list[MeasuredNoise] = []
    for noise, both in zip(sources, played, strict=False):
        one, other = map(FitTrials.joined, both)
        if refusal := one.refused or other.refused:
            findings.append(f"no {noise} noise was drawn: {refusal}")
            continue
        sides += _sides_of_fits(worst, noise, one, other)
        spreads += _spreads(plan, noise, one, other)
    for drawing, both in zip(drawings, played[len(sources) :], strict=True):
        ratios = map(np.concatenate, both)
        sides.append(Sides(drawing.lines, drawing.pair, OWN, "noise redrawn", FAST, *ratios))
    tests = rows_of(plan, sides)
    findings += [sentence for row in tests for sentence in row_findings(row)]
    findings += noise_findings(spreads)
    return _report(plan, seed, tests, spreads, findings)


def _drawings(worst: WorstPairs, trials: int, numbers: int) -> Iterator[Drawing]:
    """Each line on its own pair; the bundle too where the real fits are too few for its μ."""
    every = tuple(range(len(worst.lines)))
    for line in every:
        yield _drawing(worst, worst.lines[line], (line,), trials, numbers)
    mu = claimed_mu(worst.plan.ledger, every)
    wanted = error_wanted(worst.bundle.attained(worst.plan, every)) * mu
    if standard_error(mu, trials) > wanted and len(every) > 1:
        yield _drawing(worst, worst.bundle, every, trials, numbers)


def _drawing(
    worst: WorstPairs, pair: Pair, lines: tuple[int, ...], trials: int, numbers: int
) -> Drawing:
    mu = claimed_mu(worst.plan.ledger, lines)
    wanted = trials_for(mu, error_wanted(pair.attained(worst.plan, lines)) * mu)
    each = sum(int(np.count_nonzero(pair.difference(line))) for line in lines)
    most = max(numbers // max(2 * each, 1), FEWEST)
    return Drawing(lines, pair, min(max(wanted, trials), most))


def _sides_of_fits(
    worst: WorstPairs, noise: str, one: FitTrials, other: FitTrials
) -> Iterator[Sides]:
    """Real fits play every line and the bundle at once, on the pair that is worst for all."""
    every = tuple(range(len(worst.lines)))
    tests = [(line,) for line in every] + ([every] if len(every) > 1 else [])
    for lines in tests:
        ratios = (side.statistics[:, list(lines)].sum(axis=1) for side in (one, other))
        whose = OWN if lines == every else SHARED
        yield Sides(lines, worst.bundle, whose, "real fits", noise, *ratios)


def _spreads(plan: Plan, noise: str, one: FitTrials, other: FitTrials) -> Iterator[MeasuredNoise]:
    fits = len(one.statistics) + len(other.statistics)
    for entry, first, second in zip(plan.ledger.entries, one.squares, other.squares, strict=True):
        yield measured_noise(entry.statistic.name, noise, first + second, fits)


def _report(
    plan: Plan,
    seed: int,
    tests: Sequence[GameRow] = (),
    spreads: Sequence[MeasuredNoise] = (),
    findings: Sequence[str] = (),
) -> GameReport:
    budget = plan.ledger.budget
    if budget is None:
        raise TypeError("a plan without a budget makes no claim to attack")
    return GameReport(
        method=plan.method.name,
        patients=plan.ledger.patients,
        epsilon=budget.epsilon,
        delta=budget.delta,
        accounting=budget.accounting,
        seed=seed,
        rows=tuple(tests),
        spreads=tuple(spreads),
        failures=tuple(findings),
    )
