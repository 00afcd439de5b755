"""Rows: the trials of one test become μ̂, bounds on ε, and the claim beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from longsynth.audit.game.bounds import (
    counted_epsilon,
    gaussian_epsilon,
    separation,
)
from longsynth.audit.game.report import BUNDLE, Played, Row
from longsynth.audit.game.search import Pair
from longsynth.audit.game.verdict import FALSE_ALARM, FAR, LEAST, TIGHT
from longsynth.plan import Plan
from longsynth.privacy.budget import epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.system.arrays import Floats

ERROR = 0.03  # of μ: the largest standard error of a μ̂ that is relied on
SHOWN = 0.05  # bounds are shown at a confidence of one minus this


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of one test: log likelihood ratios, larger where `one` was fitted."""

    lines: tuple[int, ...]  # that it reads
    pair: Pair
    whose: str  # worst pair
    played: Played
    noise: str
    one: Floats  # (trials,)
    other: Floats


def claimed_rho(ledger: Ledger, lines: Sequence[int]) -> Fraction:
    return sum((ledger.entries[line].rho or Fraction(0) for line in lines), Fraction(0))


def claimed_mu(ledger: Ledger, lines: Sequence[int]) -> float:
    return sqrt(2 * claimed_rho(ledger, lines))


def error_wanted(attained: float) -> float:
    """The standard error, as a share of μ, at which chance takes no tight pair below .9 μ."""
    return min(ERROR, (attained - LEAST) / FAR) if attained >= TIGHT else ERROR


def rows_of(plan: Plan, played: Sequence[Sides]) -> list[Row]:
    """Return a row a test. What a verdict rests on holds for all rows together."""
    alpha = FALSE_ALARM / (4 * max(len(played), 1))  # two bounds a row: half of all false alarms
    return [_row(plan, sides, alpha) for sides in played]


def _row(plan: Plan, sides: Sides, alpha: float) -> Row:
    ledger = plan.ledger
    if ledger.budget is None:
        raise TypeError("a ledger without a budget makes no claim to attack")
    delta, whole = ledger.budget.delta, len(sides.lines) == len(ledger.entries)
    mu, attained = claimed_mu(ledger, sides.lines), sides.pair.attained(plan, sides.lines)
    found = separation(sides.one, sides.other)
    counted, surely = counted_epsilon(sides.one, sides.other, delta, (SHOWN, alpha))
    rho = claimed_rho(ledger, sides.lines)
    return Row(
        line=BUNDLE if whole else ledger.entries[sides.lines[0]].statistic.name,
        pair=sides.whose,
        played=sides.played,
        noise=sides.noise,
        trials=found.trials,
        mu_claimed=mu,
        attained=attained,
        tight=attained >= TIGHT,
        mu=found.mu,
        mu_error=found.error,
        enough=found.error <= ERROR * mu,
        epsilon_claimed=ledger.budget.epsilon
        if whole
        else epsilon_of(rho, delta, ledger.budget.accounting),
        epsilon_gaussian=gaussian_epsilon(found.at_least(SHOWN), delta),
        epsilon_counted=counted,
        mu_surely=found.at_least(alpha),
        epsilon_surely=surely,
    )
