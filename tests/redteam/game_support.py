"""A quick game, and a private method in two stages whose second pass uses the first."""

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from longsynth.audit.game.game import play
from longsynth.audit.game.report import GameReport
from longsynth.encoding import rows as encoding
from longsynth.methods.private import lines
from longsynth.plan import Plan
from longsynth.privacy.budget import Budget
from longsynth.privacy.curator import planned_ledger
from longsynth.privacy.sums import Contribution
from support import small_schema


def quick(plan: Plan, **wanted: Any) -> GameReport:
    """Few trials: exact sums, redrawn noise and measured spreads find most of what is wrong."""
    few: dict[str, Any] = {"trials": 40, "opendp_trials": 10, "tries": 0, "numbers": 30_000_000}
    return play(plan, **few | {"seed": 3} | wanted)


class TwoStages:
    """A histogram first; then values that are shifted by what the histogram said."""

    name: ClassVar[str] = "two stages"
    summary: ClassVar[str] = "for tests"

    def stages(self, schema: Any) -> Any:
        size, q = schema.width, lines.grid(schema)
        shifted = lines.plain_sum("shifted", "values moved by a release", size, size * q * q, q)
        return (((lines.strata(schema), Fraction(1, 4)),), ((shifted, Fraction(3, 4)),))

    def contributions(self, batch: Any, schema: Any, stage: Any, so_far: Any) -> Any:
        released = so_far.released
        if not released:
            cell = encoding.strata(batch, schema)
            return {"strata": Contribution(encoding.one_hot(cell, len(schema.strata)))}
        counts = released["strata"].values // released["strata"].entry.statistic.lift
        sign = np.where(np.resize(counts, schema.width) % 2 == 0, 1.0, -1.0)  # any function of it
        q = lines.grid(schema)
        z = encoding.encoded_values(batch, schema) * sign * q
        ones = np.ones((batch.patients, 1), np.int64)
        return {"shifted": Contribution(encoding.hold(z, schema.width * q * q), ones)}

    def blur(self, entry: Any, schema: Any, patients: int) -> str:
        return ""

    def model(self, bundle: Any) -> Any:
        raise AssertionError("a game draws no patients")


def two_stage_plan(epsilon: float = 4.0) -> Plan:
    method, schema = TwoStages(), small_schema().resolved(100)
    stages = method.stages(schema)
    budget = Budget(epsilon, 1e-5, "zcdp")
    ledger = planned_ledger([line for stage in stages for line in stage], budget, 100)
    return Plan(schema, method, stages, ledger)
