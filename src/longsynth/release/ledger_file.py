"""ledger.json: the account in plain numbers for people and in exact ones for those who check."""

from math import sqrt
from typing import Any

from longsynth.bundle import per_unit
from longsynth.privacy.budget import ACCOUNTINGS, Budget, epsilon_of
from longsynth.privacy.ledger import ADJACENCY, Entry, Ledger


def natural(entry: Entry) -> dict[str, float | str]:
    """A line in the statistic's own units: sums over patients."""
    scale = per_unit(entry.statistic)
    return {
        "statistic": entry.statistic.name,
        "sensitivity": sqrt(entry.statistic.sensitivity_squared) / scale,
        "sigma": entry.sigma / scale,
        "rho": float(entry.rho or 0),
        "share": float(entry.share),
    }


def plan_json(method: str, ledger: Ledger) -> dict[str, Any]:
    """What `longsynth plan --json` prints."""
    budget = promised(ledger)
    return {
        "method": method,
        "patients": ledger.patients,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "accounting": budget.accounting,
        "total_rho": float(ledger.spent),
        "entries": [natural(entry) for entry in ledger.entries],
    }


def ledger_json(method: str, ledger: Ledger) -> dict[str, Any]:
    """The plan's figures, and beside them everything that a check needs exactly."""
    budget = promised(ledger)
    entries = [
        natural(entry)
        | {
            "meaning": entry.statistic.meaning,
            "kind": entry.statistic.kind,
            "numbers": entry.statistic.dimension,
            "noise": entry.noise,
            "exact": {
                "sensitivity_squared": str(entry.statistic.sensitivity_squared),
                "sigma": entry.sigma,
                "rho": str(entry.rho),
                "share": str(entry.share),
                "integers_per_unit": per_unit(entry.statistic),
            },
        }
        for entry in ledger.entries
    ]
    epsilons = {a: epsilon_of(ledger.spent, budget.delta, a) for a in ACCOUNTINGS}
    return plan_json(method, ledger) | {
        "format": 1,
        "adjacency": ADJACENCY,
        "noise": ledger.noise,
        "exact_total_rho": str(ledger.spent),
        "epsilon_under": epsilons,
        "entries": entries,
    }


def promised(ledger: Ledger) -> Budget:
    if ledger.budget is None:
        raise TypeError("a ledger without a budget makes no promise to state")
    return ledger.budget
