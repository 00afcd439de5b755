"""What a fit needs of a machine, from public facts alone: known before any patient is read.

Rough, and rather too much than too little. `make bench` measures what it comes to.
"""

import os
import resource
from dataclasses import dataclass

from longsynth.errors import Refused
from longsynth.plan import Plan
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import STRIP
from longsynth.records import BATCH

PROGRAM = 300e6  # bytes: Python and its libraries, and what a reader holds
CELLS = 1 << 22  # that are in memory together at the most
COPIES = 4  # of their rows, and of a matrix of products
RELEASED = 120  # bytes of a number that is released, until it is written
PRODUCT, CELL, DRAW = 5e-11, 15e-9, 15e-6  # core-seconds each: SYRK, a cell on its way, noise


@dataclass(frozen=True, slots=True)
class Needs:
    memory: float  # bytes
    seconds: float  # of one core

    @property
    def sentence(self) -> str:
        return f"about {self.memory / 1e9:.1f} GB of memory and {_time(self.seconds)} of one core"


def needs_of(plan: Plan) -> Needs:
    """Return what the passes, the noise and the matrices of a plan come to."""
    patients, memory, seconds = plan.ledger.patients, PROGRAM, 0.0
    for stage in plan.stages:
        width = sum(s.right + s.left for s, _ in stage)
        together = width * min(patients, BATCH, CELLS // plan.schema.width + 1)
        products = sum(_products(s) for s, _ in stage)
        released = sum(s.dimension for s, _ in stage)
        held = 8 * COPIES * (together + products) + RELEASED * released
        memory = max(memory, PROGRAM + held)
        seconds += patients * (CELL * width + PRODUCT * products) + DRAW * released
    return Needs(memory, seconds)


def require_room(plan: Plan) -> None:
    """Refuse a fit that this machine has not the memory for, before it has cost anything."""
    needs, there = needs_of(plan), memory_of_machine()
    if needs.memory > there:
        raise Refused(
            f"this fit needs {needs.sentence}, and this machine has {there / 1e9:.1f} GB: "
            "give it fewer slots or variables, or a larger machine."
        )


def memory_of_machine() -> float:
    """Bytes that there are, or that this process may have."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float(there if allowed == resource.RLIM_INFINITY else min(there, allowed))


def _products(statistic: Statistic) -> int:
    pairs = 0
    if statistic.kind in ("gram", "joint"):
        kept = statistic.dimension - statistic.left * (1 + statistic.right)
        pairs = min(statistic.right**2, 2 * (kept + STRIP * statistic.right))
    return pairs + statistic.left * statistic.right


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
