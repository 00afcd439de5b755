"""Ledger: what each release costs, in exact fractions. It only grows and never over-spends."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log, sqrt

from longsynth.privacy.budget import Budget
from longsynth.privacy.errors import OverBudget, Refused
from longsynth.privacy.noise import OPENDP, Integers
from longsynth.privacy.statistic import Statistic

# eq:adjacency
ADJACENCY = "one patient's complete record is replaced; the number of patients is public"
LARGEST_GAMMA, LARGEST_A = 1e-9, 4e-7  # what the reserves in `Budget` pay for (section 7)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: a statistic, its sensitivity, the noise on it and what that costs."""

    statistic: Statistic
    share: Fraction
    rho: Fraction | None  # ρ charged; None: released without noise, NOT PRIVATE
    sigma: float  # σ, in integers after the lift
    noise: str


@dataclass(frozen=True, slots=True)
class Released:
    """Integers that have left, and the line that paid for them."""

    values: Integers = field(repr=False)  # (dimension,)
    entry: Entry


def price(statistic: Statistic, share: Fraction, budget: Budget) -> Entry:
    """Return the line for this share of the budget: the least σ with Δ²/2σ² ≤ ρ (eq:zcdp)."""
    if share <= 0:
        unfit = f"the share of '{statistic.name}' is {share}."
        raise Refused("statistic-unusable", unfit, "Give it a share above zero.")
    rho = share * budget.rho
    sigma = sqrt(statistic.sensitivity_squared / (2 * rho)) * (1 + 2.0**-40)
    if statistic.sensitivity_squared > 2 * rho * Fraction(sigma) ** 2:
        raise AssertionError("the noise scale was rounded the wrong way")
    return Entry(statistic, share, rho, sigma, OPENDP)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The account of one fit. `charge` returns a longer one; nothing takes a line away."""

    budget: Budget | None  # None: no promise is made
    patients: int
    entries: tuple[Entry, ...] = ()

    @property
    def private(self) -> bool:
        return self.budget is not None and all(e.rho is not None for e in self.entries)

    @property
    def spent(self) -> Fraction:
        return sum((e.rho for e in self.entries if e.rho is not None), Fraction(0))

    @property
    def noise(self) -> str:
        """The one kind of noise of all lines, or the first that differs from OpenDP's."""
        return next((e.noise for e in self.entries if e.noise != OPENDP), OPENDP)

    def charge(self, entry: Entry) -> "Ledger":
        name = f"'{entry.statistic.name}'"
        if any(e.statistic.name == entry.statistic.name for e in self.entries):
            raise Refused("not-as-planned", f"{name} was released before.", "Release it once.")
        if entry.rho is not None:
            if self.budget is None:
                raise Refused("not-as-planned", f"{name} has no budget.", "Plan with an epsilon.")
            left = self.budget.rho - self.spent
            if entry.rho > left:
                costs = f"{name} costs ρ={float(entry.rho):.6g}, but only {float(left):.6g}"
                whole = f"{costs} of {float(self.budget.rho):.6g} is left. It was not released."
                raise OverBudget("over-budget", whole, "Lower its share, or raise epsilon.")
        return replace(self, entries=(*self.entries, entry))

    def require_fine_noise(self) -> None:
        """Refuse exact Gaussian accounting where discrete noise is too coarse for its reserve."""
        if self.budget is None or self.budget.accounting != "gaussian" or not self.entries:
            return
        mu, t = sqrt(2 * self.budget.rho), sqrt(2 * log(2e6 / self.budget.delta))
        finest = min(e.sigma for e in self.entries)
        gamma = (2 * t * mu + mu * mu) / (24 * finest**2)
        a = sum(e.statistic.dimension / (24 * e.sigma**2) for e in self.entries)
        if gamma > LARGEST_GAMMA * (1 - 1e-9) or a > LARGEST_A * (1 - 1e-9):
            coarse = "the noise is too coarse for accounting 'gaussian'."
            raise Refused("noise-too-coarse", coarse, "Use 'zcdp', or a smaller epsilon.")
