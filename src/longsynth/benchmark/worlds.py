"""Worlds: where patients come from, and the reference population they are judged against."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from longsynth.benchmark.judging import Judge
from longsynth.records import Cohort
from longsynth.schema import Schema
from longsynth.simulate import simulate, simulated_schema

REFERENCE, REFERENCE_SEED = 20_000, 9001  # fresh patients, the same for every seed


@dataclass(frozen=True)
class World:
    """A schema for methods, training patients by number and seed, and a judge."""

    schema: Schema
    train: Callable[[int, int], Cohort]  # patients, seed
    judge: Judge


def simulated() -> World:
    """The paper's population, with its public centres and scales."""
    schema = simulated_schema()
    judge = Judge(schema, simulate(REFERENCE, seed=REFERENCE_SEED))
    return World(schema, lambda patients, seed: simulate(patients, seed=seed), judge)


WORLDS: dict[str, Callable[[], World]] = {"simulated": simulated}


@cache
def world(name: str) -> World:
    """A world is made once a process: its reference side is computed once."""
    return WORLDS[name]()
