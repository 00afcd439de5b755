"""Plan: the whole ledger before any patient is read. It needs the schema and N, and no data."""

from dataclasses import dataclass
from math import sqrt

from longsynth.bundle import Bundle, ledger_table
from longsynth.methods import DEFAULT
from longsynth.methods.method import PrivateMethod, Stage
from longsynth.methods.registry import private_method
from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting, Budget
from longsynth.privacy.curator import planned_ledger
from longsynth.privacy.ledger import Ledger
from longsynth.schema.schema import Schema
from longsynth.system.errors import checked


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
        return self._empty.by_hand

    @property
    def _empty(self) -> Bundle:
        return Bundle(self.method.name, self.schema, self.ledger, {})

    def __repr__(self) -> str:
        return repr(self._empty).replace("Bundle", "Plan", 1)

    def _repr_html_(self) -> str:
        lines = (line for stage in self.stages for line in stage)
        entries = zip(lines, self.ledger.entries, strict=True)
        noise = (line.noise_meaning(entry, self.ledger.patients) for line, entry in entries)
        return ledger_table(repr(self), self.ledger, noise)


@checked(
    schema="Call load_schema(path) first.",
    patients="Give their number: it is public. A cohort has it as .patients.",
)
def plan(
    schema: Schema,
    patients: int,
    *,
    epsilon: float,
    delta: float,
    method: str = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTING,
) -> Plan:
    """Return the plan for N patients, or refuse it whole.

    >>> import longsynth
    >>> longsynth.plan(longsynth.simulated_schema(), 720, epsilon=4, delta=1e-5)
    Plan(copula-score, 720 patients, ε = 4, δ = 1e-05, 875 numbers in 6 lines)
    """
    budget = Budget(float(epsilon), float(delta), accounting)
    return plan_of(private_method(method), schema, patients, budget)


def plan_of(method: PrivateMethod, schema: Schema, patients: int, budget: Budget) -> Plan:
    """The same, for a method that need not be in the registry."""
    resolved = schema.resolved(patients, sqrt(2 * budget.rho))
    stages = method.stages(resolved)
    lines = [(line.statistic, line.share) for stage in stages for line in stage]
    return Plan(resolved, method, stages, planned_ledger(lines, budget, patients))
