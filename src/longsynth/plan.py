"""Plan: the whole ledger before any patient is read. It needs the schema and N, and no data."""

from dataclasses import dataclass
from math import sqrt

from longsynth.bundle import Bundle
from longsynth.methods import DEFAULT
from longsynth.methods.method import PrivateMethod, Stage
from longsynth.methods.registry import private_method
from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting, Budget
from longsynth.privacy.curator import planned_ledger
from longsynth.privacy.ledger import Ledger
from longsynth.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fit will release, in passes, and what each release will cost."""

    schema: Schema
    method: PrivateMethod
    stages: tuple[Stage, ...]
    ledger: Ledger  # every line priced, no noise drawn yet

    @property
    def by_hand(self) -> dict[str, float | str]:
        """The constants that someone set by hand, instead of the rules."""
        return Bundle(self.method.name, self.schema, self.ledger, {}).by_hand


def plan(
    schema: Schema,
    patients: int,
    *,
    epsilon: float,
    delta: float,
    method: str = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTING,
) -> Plan:
    """Return the plan for N patients, or refuse it whole."""
    budget = Budget(float(epsilon), float(delta), accounting)
    return plan_of(private_method(method), schema, patients, budget)


def plan_of(method: PrivateMethod, schema: Schema, patients: int, budget: Budget) -> Plan:
    """The same, for a method that need not be in the registry."""
    resolved = schema.resolved(patients, sqrt(2 * budget.rho))
    stages = method.stages(resolved)
    lines = [(line.statistic, line.share) for stage in stages for line in stage]
    return Plan(resolved, method, stages, planned_ledger(lines, budget, patients))
