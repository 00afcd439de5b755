"""The verdict: the trials of each test become μ̂ and bounds on ε, and sentences say what contradicts
the claim. No sentence means that nothing does. `GameReport` holds all of it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import Any, Literal

from longsynth.audit.game.neighbours import Pair, WorstPairs, squared_length
from longsynth.audit.game.trials import counted_epsilon, gaussian_epsilon, separation
from longsynth.plan import Plan
from longsynth.privacy.budget import epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.system.arrays import Floats, sizes_only

ERROR = 0.03  # of μ: the largest standard error of a μ̂ that is relied on
SHOWN = 0.05  # bounds are shown at a confidence of one minus this
FALSE_ALARM = 1e-4  # chance that a whole table fails though every claim is true
TIGHT = 0.95  # of μ, reached by a pair: then μ̂ must show it
LEAST = 0.9  # of μ, on a tight pair
FAR = 4.75  # standard errors below what a tight pair reaches: not by chance, in any of the rows
BUNDLE = "whole bundle"  # stands in a row's `line` where all lines are played together

Played = Literal["noise redrawn", "real fits"]


@dataclass(frozen=True, slots=True)
class GameRow:
    """One test, played many times."""

    line: str
    pair: str  # the line's own worst pair, or the bundle's
    played: Played
    noise: str
    trials: int  # per side
    mu_claimed: float  # μ = √(2ρ)
    attained: float  # share of μ that the pair reaches, if the noise is as claimed
    tight: bool  # near enough to 1 that a smaller μ̂ is a finding
    mu: float  # μ̂, measured
    mu_error: float  # one standard error
    enough: bool  # trials for that error to be at most .03 μ
    epsilon_claimed: float
    epsilon_gaussian: float  # at least this, at 95 %, if the statistic is normal
    epsilon_counted: float  # at least this, at 95 %, by Clopper-Pearson: assumes nothing
    mu_surely: float  # μ is at least this, at the confidence of a verdict
    epsilon_surely: float  # ε likewise, counted


@dataclass(frozen=True, slots=True)
class MeasuredNoise:
    """The noise on one line as it was drawn, in units of the claimed σ. The auditor knows the exact
    sums, so every number's noise can be measured."""

    line: str
    noise: str
    fits: int
    numbers: int
    measured: float  # of all numbers together; 1 is as claimed
    error: float  # one standard error
    lowest: float  # of a single number
    highest: float
    chance: float  # of a value as far from 1, in all or in one number, if the claim is true


@dataclass(frozen=True, slots=True)
class GameReport:
    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: str
    seed: int
    rows: tuple[GameRow, ...]
    spreads: tuple[MeasuredNoise, ...]
    failures: tuple[str, ...]  # sentences; none if nothing contradicts the claim

    @property
    def holds(self) -> bool:
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Plain values. Infinite values, as without noise, are null."""
        content = asdict(self) | {"holds": self.holds}
        content["rows"] = [_finite(row) for row in content["rows"]]
        return content | {"failures": list(self.failures)}


def read_report(content: dict[str, Any]) -> GameReport:
    """Return the report that `as_json` wrote."""
    fields = {name: content[name] for name in GameReport.__slots__}
    fields["rows"] = tuple(GameRow(**_infinite(row)) for row in content["rows"])
    fields["spreads"] = tuple(MeasuredNoise(**line) for line in content["spreads"])
    return GameReport(**fields | {"failures": tuple(content["failures"])})


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()}


def _infinite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: inf if v is None else v for k, v in row.items()}


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

    __repr__ = sizes_only


def claimed_rho(ledger: Ledger, lines: Sequence[int]) -> Fraction:
    return sum((ledger.entries[line].rho or Fraction(0) for line in lines), Fraction(0))


def claimed_mu(ledger: Ledger, lines: Sequence[int]) -> float:
    return sqrt(2 * claimed_rho(ledger, lines))


def error_wanted(attained: float) -> float:
    """The standard error, as a share of μ, at which chance takes no tight pair below .9 μ."""
    return min(ERROR, (attained - LEAST) / FAR) if attained >= TIGHT else ERROR


def rows_of(plan: Plan, played: Sequence[Sides]) -> list[GameRow]:
    """Return one row per test. The bounds behind a verdict hold for all rows together."""
    alpha = FALSE_ALARM / (4 * max(len(played), 1))  # two bounds per row: half of all false alarms
    return [_row(plan, sides, alpha) for sides in played]


def _row(plan: Plan, sides: Sides, alpha: float) -> GameRow:
    ledger = plan.ledger
    if ledger.budget is None:
        raise TypeError("a ledger without a budget makes no claim to attack")
    delta, whole = ledger.budget.delta, len(sides.lines) == len(ledger.entries)
    mu, attained = claimed_mu(ledger, sides.lines), sides.pair.attained(plan, sides.lines)
    measured = separation(sides.one, sides.other)
    counted, surely = counted_epsilon(sides.one, sides.other, delta, (SHOWN, alpha))
    rho = claimed_rho(ledger, sides.lines)
    return GameRow(
        line=BUNDLE if whole else ledger.entries[sides.lines[0]].statistic.name,
        pair=sides.whose,
        played=sides.played,
        noise=sides.noise,
        trials=measured.trials,
        mu_claimed=mu,
        attained=attained,
        tight=attained >= TIGHT,
        mu=measured.mu,
        mu_error=measured.error,
        enough=measured.error <= ERROR * mu,
        epsilon_claimed=ledger.budget.epsilon
        if whole
        else epsilon_of(rho, delta, ledger.budget.accounting),
        epsilon_gaussian=gaussian_epsilon(measured.at_least(SHOWN), delta),
        epsilon_counted=counted,
        mu_surely=measured.at_least(alpha),
        epsilon_surely=surely,
    )


def measured_noise(line: str, noise: str, squares: Floats, fits: int) -> MeasuredNoise:
    """Measure noise from its squares summed over some fits, one sum per number, in claimed σ²."""
    from scipy.special import chdtr, chdtrc

    numbers = len(squares)
    together = float(squares.sum())
    whole = 2 * min(chdtr(fits * numbers, together), chdtrc(fits * numbers, together))
    single = 2 * numbers * min(chdtr(fits, squares.min()), chdtrc(fits, squares.max()))
    return MeasuredNoise(
        line=line,
        noise=noise,
        fits=fits,
        numbers=numbers,
        measured=sqrt(together / (fits * numbers)),
        error=1 / sqrt(2 * fits * numbers),
        lowest=sqrt(float(squares.min()) / fits),
        highest=sqrt(float(squares.max()) / fits),
        chance=min(2 * min(float(whole), float(single)), 1.0),
    )


def exact_findings(plan: Plan, worst: WorstPairs) -> Iterator[str]:
    """What needs no trial: integers that the real fit handed to its noise source."""
    budget = plan.ledger.budget
    if budget is not None:
        spent = epsilon_of(plan.ledger.spent, budget.delta, budget.accounting)
        if spent > budget.epsilon * (1 + 1e-9):
            yield (
                f"the ledger's own lines add up to ε = {spent:.6g} under "
                f"'{budget.accounting}', above the claimed {budget.epsilon:g}"
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
        sigma = min(pair.requests_one[line].sigma for pair in pairs)
        if sigma <= 0 or moved > 2 * rho * Fraction(sigma) ** 2:
            reached = sqrt(moved) / sigma if sigma > 0 else inf
            yield (
                f"'{name}': one patient moves the sums by {reached:.4g} σ of the noise that the "
                f"fit asks for, where the claim allows μ = {sqrt(2 * rho):.4g}"
            )


def row_findings(row: GameRow) -> Iterator[str]:
    where = f"'{row.line}'" if row.line != BUNDLE else f"the {BUNDLE}"
    how = f"{row.trials:,} trials per side, {row.played}, {row.noise} noise"
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


def noise_findings(lines: Sequence[MeasuredNoise]) -> Iterator[str]:
    for line in lines:
        if line.chance < FALSE_ALARM / (4 * len(lines)):
            yield (
                f"'{line.line}': its noise has {line.measured:.4g} ± {line.error:.1g} times "
                f"the claimed σ, from {line.lowest:.3g} to {line.highest:.3g} in single "
                f"numbers ({line.fits:,} fits, {line.noise} noise)"
            )
