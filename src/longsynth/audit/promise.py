"""Promise: how far a budget lets any attacker get, in the numbers that attacks are told in.

A ρ-zCDP release keeps (ε, δ) for every δ at once, and a group of k patients k²ρ. So a bound is the
best of many pairs, the promised one among them. docs/metrics.md derives both bounds.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from longsynth.privacy.budget import Budget, epsilon_of

CELLS = 1000  # of an area
DELTAS = tuple(10.0**-k for k in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 8))


@dataclass(frozen=True, slots=True)
class Promise:
    """Pairs (e^ε, δ), all of which hold for one patient or for a group of so many."""

    pairs: tuple[tuple[float, float], ...]

    def most(self, rate: float) -> float:
        """The largest chance of anything that has this chance without the patients."""
        ways = ((g * rate + d, 1 - (1 - rate - d) / g) for g, d in self.pairs)
        return min(1.0, *(bound for both in ways for bound in both))

    @property
    def between_people(self) -> float:
        """The largest AUROC at telling a member from an outsider by one release."""
        return min((growth + delta) / (1 + growth) for growth, delta in self.pairs)

    @property
    def between_fits(self) -> float:
        """The largest AUROC at telling releases with the patients from releases without them:
        the area below `most`, from above, as the curve is concave."""
        middles = (np.arange(CELLS) + 0.5) / CELLS
        return float(np.mean([self.most(float(rate)) for rate in middles]))


def promise(budget: Budget, copies: int = 1) -> Promise:
    """Return what a budget means for a group; for one patient the promised pair is part of it."""
    rho = budget.rho * copies**2
    pairs = [(epsilon_of(rho, delta, "zcdp"), delta) for delta in DELTAS]
    if copies == 1:
        pairs.append((budget.epsilon, budget.delta))
    return Promise(tuple((exp(min(epsilon, 700.0)), delta) for epsilon, delta in pairs))
