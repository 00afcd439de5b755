"""A quick game, and a private method in two stages whose second pass uses the first."""

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from longsynth.audit.game import play
from longsynth.audit.game.verdict import GameReport
from longsynth.encoding.rows import Encoded, Encoder, clip, encoded_values
from longsynth.encoding.scaling import grid_of
from longsynth.methods import lines
from longsynth.methods.method import Line, PrivateMethod
from longsynth.plan import Plan, plan_of
from longsynth.privacy.budget import Budget
from longsynth.privacy.sums import Contribution
from support import small_schema


def quick(plan: Plan, **wanted: Any) -> GameReport:
    """Few trials: exact sums, redrawn noise and measured spreads find most of what is wrong."""
    few: dict[str, Any] = {"trials": 40, "opendp_trials": 10, "tries": 0, "numbers": 30_000_000}
    return play(plan, **few | {"seed": 3} | wanted)


def in_units(sd: float, patients: int) -> str:
    return f"±{sd / patients:.2g} in each mean"


class TwoStages(PrivateMethod):
    """A histogram first; then values that are shifted by what the histogram said."""

    name: ClassVar[str] = "two stages"
    summary: ClassVar[str] = "for tests"

    def stages(self, schema: Any) -> Any:
        size, q = schema.width, grid_of(schema)
        shifted = lines.sum_of("shifted", "values moved by a release", size, size * q * q, q)
        return (
            (lines.strata(schema, {"strata": Fraction(1, 4)}),),
            (Line(shifted, Fraction(3, 4), shifted_rows, in_units),),
        )

    def encoder(self, schema: Any, so_far: Any) -> Any:
        return Shifting(schema, so_far)

    def model(self, bundle: Any) -> Any:
        raise AssertionError("a game draws no patients")


class Shifting(Encoder):
    def __init__(self, schema: Any, so_far: Any) -> None:
        super().__init__(schema)
        self.sign = np.ones(schema.width)
        if so_far.released:
            released = so_far.released["strata"]
            counts = released.values // released.entry.statistic.lift
            even = np.resize(counts, schema.width) % 2 == 0  # any function of it
            self.sign = np.where(even, 1.0, -1.0)


def shifted_rows(encoded: Encoded) -> Contribution:
    q, width = encoded.encoder.grid, encoded.schema.width
    z = encoded_values(encoded.batch, encoded.encoder, encoded.observed)
    return Contribution(clip(z * encoded.encoder.sign * q, width * q * q), encoded.ones)


def two_stage_plan(epsilon: float = 4.0) -> Plan:
    return plan_of(TwoStages(), small_schema(), 100, Budget(epsilon, 1e-5, "zcdp"))
