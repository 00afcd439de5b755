"""ledger.json: the account in plain numbers for people and in exact ones for `verify`."""

from dataclasses import asdict
from fractions import Fraction
from math import sqrt
from typing import Any

from longsynth.privacy.budget import ACCOUNTINGS, Budget, epsilon_of
from longsynth.privacy.ledger import ADJACENCY, Entry, Ledger
from longsynth.privacy.statistic import Statistic


def natural(entry: Entry) -> dict[str, float | str]:
    """A line in the statistic's own units: sums over patients."""
    scale = entry.statistic.unit * entry.statistic.lift
    return {
        "statistic": entry.statistic.name,
        "sensitivity": sqrt(entry.statistic.sensitivity_squared) / scale,
        "sigma": entry.sigma / scale,
        "rho": float(entry.rho) if entry.rho is not None else float("inf"),
        "share": float(entry.share),
    }


def plan_json(method: str, ledger: Ledger) -> dict[str, Any]:
    """What `longsynth plan --json` prints."""
    budget = _promised(ledger)
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
    budget = _promised(ledger)
    entries = [
        natural(entry)
        | {
            "meaning": entry.statistic.meaning,
            "numbers": entry.statistic.dimension,
            "noise": entry.noise,
            "exact": {
                "statistic": asdict(entry.statistic),
                "sensitivity_squared": str(entry.statistic.sensitivity_squared),
                "sigma": entry.sigma,
                "rho": str(entry.rho),
                "share": str(entry.share),
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


def read_ledger(content: dict[str, Any]) -> Ledger:
    """Return the ledger as its file states it; whether it adds up is for `verify` to say."""
    budget = Budget(content["epsilon"], content["delta"], content["accounting"])
    entries = tuple(
        Entry(
            statistic=Statistic(**line["exact"]["statistic"]),
            share=Fraction(line["exact"]["share"]),
            rho=Fraction(line["exact"]["rho"]),
            sigma=float(line["exact"]["sigma"]),
            noise=str(line["noise"]),
        )
        for line in content["entries"]
    )
    return Ledger(budget, int(content["patients"]), entries)


def _promised(ledger: Ledger) -> Budget:
    if ledger.budget is None:
        raise TypeError("a ledger without a budget makes no promise to state")
    return ledger.budget
