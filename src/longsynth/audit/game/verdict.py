"""The verdict: sentences about what contradicts the claim. None means that the claim stood."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import sqrt

from longsynth.audit.game.report import BUNDLE, Row
from longsynth.audit.game.scene import squared_length
from longsynth.audit.game.search import Worst
from longsynth.audit.game.spread import Spread
from longsynth.plan import Plan
from longsynth.privacy.budget import epsilon_of

FALSE_ALARM = 1e-4  # chance that a whole table fails though every claim is true
TIGHT = 0.95  # of μ, reached by a pair: then μ̂ must show it
LEAST = 0.9  # of μ, on a tight pair
FAR = 4.75  # standard errors below what a tight pair reaches: not by chance, in any of the rows


def exact_findings(plan: Plan, worst: Worst) -> Iterator[str]:
    """What needs no trial: integers that the real fit handed to its noise source."""
    budget = plan.ledger.budget
    if budget is not None:
        spent = epsilon_of(plan.ledger.spent, budget.delta, budget.accounting)
        if spent > budget.epsilon * (1 + 1e-9):
            yield (
                f"the ledger's own lines add up to ε = {spent:.6g} under "
                f"'{budget.accounting}', above the promised {budget.epsilon:g}"
            )
    for line, entry in enumerate(plan.ledger.entries):
        name, rho = entry.statistic.name, entry.rho or Fraction(0)
        pairs = (worst.lines[line], worst.bundle)
        moved = max(squared_length(pair.difference(line)) for pair in pairs)
        if moved > entry.statistic.sensitivity_squared:
            yield (
                f"'{name}': one patient moves the exact sums by "
                f"{sqrt(moved / entry.statistic.sensitivity_squared):.4g} times the claimed "
                "sensitivity"
            )
        given = min(pair.given_one[line].sigma for pair in pairs)
        if given <= 0 or moved > 2 * rho * Fraction(given) ** 2:
            reached = sqrt(moved) / given if given > 0 else float("inf")
            yield (
                f"'{name}': one patient moves the sums by {reached:.4g} σ of the noise that the "
                f"fit asks for, where the claim allows μ = {sqrt(2 * rho):.4g}"
            )


def row_findings(row: Row) -> Iterator[str]:
    where = f"'{row.line}'" if row.line != BUNDLE else f"the {BUNDLE}"
    how = f"{row.trials:,} trials a side, {row.played}, {row.noise} noise"
    if row.mu_surely > row.mu_claimed:
        yield (
            f"{where}: an attacker reached μ̂ = {row.mu:.4g} ± {row.mu_error:.2g}, surely above "
            f"the claimed {row.mu_claimed:.4g} ({how})"
        )
    if row.epsilon_surely > row.epsilon_claimed:
        yield (
            f"{where}: counted errors show ε of at least {row.epsilon_surely:.4g}, above the "
            f"claimed {row.epsilon_claimed:.4g} ({how})"
        )
    # With enough trials the second condition follows from the first.
    expected = row.attained * row.mu_claimed
    if row.tight and row.mu < LEAST * row.mu_claimed and expected - row.mu > FAR * row.mu_error:
        yield (
            f"{where}: μ̂ = {row.mu:.4g} ± {row.mu_error:.2g} is below .9 of the claimed "
            f"{row.mu_claimed:.4g} on a tight pair: the noise is too large, or the auditor is "
            f"blind ({how})"
        )


def spread_findings(spreads: Sequence[Spread]) -> Iterator[str]:
    for spread in spreads:
        if spread.chance < FALSE_ALARM / (4 * len(spreads)):
            yield (
                f"'{spread.line}': its noise has {spread.measured:.4g} ± {spread.error:.1g} times "
                f"the claimed σ, from {spread.lowest:.3g} to {spread.highest:.3g} in single "
                f"numbers ({spread.fits:,} fits, {spread.noise} noise)"
            )
