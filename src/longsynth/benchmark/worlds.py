"""Worlds: where patients come from, and the reference population they are judged against."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from longsynth.benchmark.judging import Judge
from longsynth.records import Cohort
from longsynth.schema import Schema
from longsynth.simulate import simulate, simulated_schema
from longsynth.variable import Variable

REFERENCE, REFERENCE_SEED = 20_000, 9001  # fresh patients, the same for every seed
SHIFT, STRETCH = 0.75, 1.5  # of public references that are wrong


@dataclass(frozen=True)
class World:
    """A schema for methods, training patients by number and seed, and a judge."""

    schema: Schema
    train: Callable[[int, int], Cohort]  # patients, seed
    judge: Judge
    judges: Callable[[int], Judge] | None = None  # by seed, where a split decides who judges

    def judge_of(self, seed: int) -> Judge:
        return self.judges(seed) if self.judges else self.judge


def simulated(factors: int = 1) -> World:
    """The paper's population, with its public centres and scales."""
    schema = simulated_schema()
    judge = Judge(schema, simulate(REFERENCE, seed=REFERENCE_SEED, factors=factors))
    return World(schema, lambda n, seed: simulate(n, seed=seed, factors=factors), judge)


def wrong_references() -> World:
    """The same patients, under centres .75 scales too high and scales half as large again."""

    def wrong(variable: Variable) -> Variable:
        if variable.centre is None or variable.scale is None:
            return variable
        low, high = variable.bounds
        centre = float(np.clip(variable.centre + SHIFT * variable.scale, low, high))
        return variable.model_copy(update={"centre": centre, "scale": STRETCH * variable.scale})

    return _with_variables(wrong)


def generic_references() -> World:
    """The same patients, under a schema that knows bounds only."""
    return _with_variables(lambda v: v.model_copy(update={"centre": None, "scale": None}))


def _with_variables(change: Callable[[Variable], Variable]) -> World:
    found = world("simulated")
    variables = tuple(change(variable) for variable in found.schema.variables)
    return replace(found, schema=found.schema.model_copy(update={"variables": variables}))


WORLDS: dict[str, Callable[[], World]] = {
    "simulated": simulated,
    "two factors": lambda: simulated(factors=2),
    "wrong references": wrong_references,
    "generic references": generic_references,
}


@cache
def world(name: str) -> World:
    """A world is made once a process: its reference side is computed once."""
    return WORLDS[name]()
