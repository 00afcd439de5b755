"""What a fit, a model or a sample needs of a machine, from public facts alone: known before any
patient is read, and before anything is built from a release that others wrote.

The numbers were measured, of whole commands on one core; `make bench` measures them again. An
estimate is right within a factor of two (docs/scale.md).
"""

import os
import resource
from dataclasses import dataclass
from typing import Protocol

from longsynth.engines import together
from longsynth.methods.method import EIGEN, Method, PrivateMethod, Stage
from longsynth.privacy.ledger import Ledger
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import STRIP
from longsynth.reading.by_patient import at_once
from longsynth.sample import CHUNK
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused

PROGRAM = 220e6  # bytes: Python and its libraries, and what a reader holds
START = 1.4  # core-seconds to start a command and to import what it needs
READ, READ_COPIES = 3e-8, 6  # core-seconds to read a cell, and its copies in a batch
COPIES = 4  # of the rows that are added up at once, and of a matrix of products
RELEASED = 120  # bytes of a number that is released, until it is written
PRODUCT, CELL, DRAW = 5e-11, 11e-9, 13e-6  # core-seconds each: SYRK, a number of a row, noise
DRAWN = 6  # copies of the cells of a chunk of synthetic patients, until they are written
DRAWN_CELL = 1e-7  # core-seconds to draw and write one of them
CODE_MATRICES, CODE_ROUNDS = 40, 40  # of all pairs of codes, and how often they are decomposed
CODE_ROWS, CODE_CELL = 3 * 8192, 2e-6  # of generated patients with codes, and seconds for a cell
HOURS = 4.0  # of one core: a model that takes longer to build is neither fitted nor read


class Planned(Protocol):
    """What counts of a plan here."""

    @property
    def schema(self) -> Schema: ...
    @property
    def method(self) -> PrivateMethod: ...
    @property
    def stages(self) -> tuple[Stage, ...]: ...
    @property
    def ledger(self) -> Ledger: ...


@dataclass(frozen=True, slots=True)
class Needs:
    memory: float  # bytes
    seconds: float  # of one core

    @property
    def sentence(self) -> str:
        return f"about {self.memory / 1e9:.1f} GB of memory and {_time(self.seconds)} of one core"


def needs_of(plan: Planned) -> Needs:
    """Return what the command `fit` takes: its start, its passes, what a method computes between
    them, the noise and the matrices."""
    patients, schema = plan.ledger.patients, plan.schema
    cells = schema.width + code_cells(schema)
    batch = READ_COPIES * cells * min(patients, at_once(schema))
    between = plan.method.between(schema, patients)
    memory, seconds = between.numbers, START + between.seconds
    for stage in plan.stages:
        statistics = [line.statistic for line in stage]
        width = sum(s.right + s.left for s in statistics) + code_cells(schema)
        rows = width * together(min(patients, at_once(schema)), statistics)
        products = sum(_products(s) for s in statistics)
        released = sum(s.dimension for s in statistics)
        memory = max(memory, COPIES * (rows + products) + RELEASED / 8 * released)
        of_patient = READ * cells + CELL * width + PRODUCT * products
        seconds += patients * of_patient + DRAW * released
    return Needs(PROGRAM + 8 * (batch + memory), seconds)


def needs_of_sample(plan: Planned, patients: int) -> Needs:
    """Return what the command `sample` takes: its start, the model and all synthetic patients."""
    model = needs_of_model(plan.method, plan.schema, plan.ledger.patients)
    drawing = needs_of_drawing(plan.schema, patients)
    chunks = patients / min(patients, CHUNK)
    memory = max(model.memory, drawing.memory)
    return Needs(memory, START + model.seconds + chunks * drawing.seconds)


def needs_of_model(method: Method, schema: Schema, patients: int) -> Needs:
    """Return what it takes to build the model of a release."""
    work = method.work(schema, patients)
    codes = len(schema.code_names)
    numbers = work.numbers + CODE_MATRICES * codes**2 + CODE_ROWS * codes
    seconds = work.seconds + CODE_ROUNDS * EIGEN * codes**3 + CODE_CELL * CODE_ROWS * codes
    return Needs(PROGRAM + 8 * numbers, seconds)


def needs_of_drawing(schema: Schema, patients: int) -> Needs:
    """Return what the first chunk of synthetic patients takes; the others come after it."""
    drawn, codes = min(patients, CHUNK), len(schema.code_names)
    cells = drawn * schema.width
    products = cells * schema.width + drawn * codes**2
    held = cells + drawn * (code_cells(schema) + codes)
    return Needs(PROGRAM + 8 * DRAWN * held, 2 * PRODUCT * products + DRAWN_CELL * held)


def code_cells(schema: Schema) -> int:
    """Codes of one record, in cells of eight bytes."""
    return schema.slots * len(schema.code_names) // 8


def require_room(plan: Planned) -> None:
    """Refuse a fit for which this machine lacks the memory, before it has cost anything; and one
    whose model could not be built here."""
    require_room_for_model(plan.method, plan.schema, plan.ledger.patients)
    needs, there = needs_of(plan), memory_of_machine()
    if needs.memory > there:
        raise Refused(
            Code.TOO_LARGE,
            f"this fit needs {needs.sentence}, and this machine has {there / 1e9:.1f} GB.",
            "Use fewer slots or variables, or a larger machine.",
        )


def require_room_for_model(method: Method, schema: Schema, patients: int) -> None:
    """Refuse to build a model that takes more memory than there is, or more time than the limit."""
    what = f"the model of '{method.name}' for {_size(schema)}"
    _require(what, needs_of_model(method, schema, patients))


def require_room_for_drawing(schema: Schema, patients: int) -> None:
    """Refuse likewise to generate again the patients that others say they generated."""
    _require(
        f"generating synthetic patients of {_size(schema)}", needs_of_drawing(schema, patients)
    )


def _require(what: str, needs: Needs) -> None:
    there = memory_of_machine()
    limit, instead = f"the limit is {HOURS:g} h", "another method"
    if needs.memory > there:
        limit, instead = f"this machine has {there / 1e9:.1f} GB", "a larger machine"
    elif needs.seconds <= 3600 * HOURS:
        return
    raise Refused(
        Code.TOO_LARGE,
        f"{what} needs {needs.sentence}, and {limit}.",
        f"Use {instead}, or fewer slots or variables.",
    )


def _size(schema: Schema) -> str:
    return f"{schema.slots:,} slots × {len(schema.variables):,} variables"


def memory_of_machine() -> float:
    """Bytes of memory that the machine has, or that this process may use."""
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
