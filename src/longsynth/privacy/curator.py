"""Curator: the only way out. Two doors, `release` and `disclose`, both easy to search for."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import sqrt

from longsynth.privacy.budget import Budget
from longsynth.privacy.errors import Refused
from longsynth.privacy.ledger import Entry, Ledger, Released, price
from longsynth.privacy.noise import NOT_PRIVATE, Integers, NoiseSource, OpenDPNoise, label
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums, require_exact


def planned_ledger(
    lines: Iterable[tuple[Statistic, Fraction]], budget: Budget, patients: int
) -> Ledger:
    """Return the whole ledger before any patient is read, or refuse it whole."""
    if patients < 1:
        raise Refused("no-patients", f"the number of patients is {patients}.", "Give 1 or more.")
    ledger = Ledger(budget, patients)
    for statistic, share in lines:
        ledger = ledger.charge(price(statistic, share, budget))
        require_exact(statistic, patients)
    ledger.require_fine_noise()
    return ledger


class Curator:
    """Keeps the account of one fit. A plan that costs too much is refused before anything runs."""

    def __init__(self, planned: Ledger, noise: NoiseSource | None = None) -> None:
        self._planned = {entry.statistic: entry for entry in planned.entries}
        self._noise = OpenDPNoise() if noise is None else noise
        self.ledger = Ledger(planned.budget, planned.patients)

    def release(self, sums: Sums) -> Released:
        """Return the noised sums. The ledger is charged before any noise is drawn."""
        statistic = sums.statistic
        if sums.rows != self.ledger.patients:
            covers = f"'{statistic.name}' covers {sums.rows} of {self.ledger.patients} patients."
            raise Refused("not-as-planned", covers, "Count every patient exactly once.")
        entry = self._planned.get(statistic)
        if entry is None or entry.rho is None:
            unplanned = f"'{statistic.name}' is not in the plan."
            raise Refused("not-as-planned", unplanned, "Release only what was planned.")
        rho, entry = entry.rho, replace(entry, noise=label(self._noise))
        self.ledger = self.ledger.charge(entry)
        noised = self._noise.add(
            sums.total * statistic.lift,
            sigma=entry.sigma,
            sensitivity=sqrt(statistic.sensitivity_squared) * (1 + 2.0**-50),  # not below Δ
            rho=float(rho) * (1 - 2.0**-50),  # not above ρ
        )
        return Released(noised, entry)

    def disclose(self, name: str, meaning: str, values: Integers) -> Released:
        """Let raw facts about patients out, for a method that makes no promise: NOT PRIVATE."""
        statistic = Statistic(name, meaning, "raw", right=len(values))
        entry = Entry(statistic, Fraction(0), None, 0.0, NOT_PRIVATE)
        self.ledger = self.ledger.charge(entry)
        return Released(values, entry)
