"""Worlds: where the patients of an experiment come from, and the schema that methods are given."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np

from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import Refused
from longsynth_lab.experiments import Setting
from longsynth_lab.open_cohorts import OPEN_COHORTS, OpenCohort
from longsynth_lab.split import blanked, split, thinned

FRESH_SEED = 10_000_000  # added to a seed: a longer stream of the same seed repeats its patients
SHIFT, STRETCH = 0.75, 1.5  # of public references that are wrong


class Parts(NamedTuple):
    """Patients as one trial sees them."""

    train: Cohort  # all that a method is shown
    control: Cohort  # never shown to a method: what attacks are held against
    judged: Cohort  # never shown either: what fidelity is held against
    test: Cohort  # what the downstream classifier is judged on


@dataclass(frozen=True)
class World:
    schema: Schema
    parts: Callable[[Setting, int], Parts]  # of a setting and a seed


def world(name: str) -> World:
    """Return a world by name. It is made once per process."""
    if name not in WORLDS:
        raise Refused(f"there is no world '{name}': choose from {', '.join(WORLDS)}.")
    return _made(name)


@cache
def _made(name: str) -> World:
    return WORLDS[name]()


def _simulated(change: Callable[[Variable], Variable] = lambda v: v, *, factors: int = 1) -> World:
    """The paper's population; a schema may know its variables otherwise than they are."""
    schema = simulated_schema()
    variables = tuple(change(variable) for variable in schema.variables)

    @lru_cache(maxsize=2)
    def parts(
        patients: int, train: int | None, extra_missing: float, fresh: int, seed: int
    ) -> Parts:
        everyone = blanked(simulate(patients, seed=seed, factors=factors), extra_missing, seed)
        if fresh:
            others = simulate(fresh, seed=FRESH_SEED + seed, factors=factors)
            others = blanked(others, extra_missing, FRESH_SEED + seed)
            return Parts(everyone, others.take(slice(0, patients)), others, others)
        shown, validation, test = split(everyone, seed)
        if train is not None:
            shown = thinned(shown, train, seed)
        held_out = Cohort.joined([validation, test])
        return Parts(shown, held_out, held_out, test)

    return World(
        schema.model_copy(update={"variables": variables}),
        lambda s, seed: parts(s.patients, s.train, s.extra_missing, s.fresh, seed),
    )


def _wrong_reference(variable: Variable) -> Variable:
    """A centre .75 scales too high, and a scale half as large again."""
    if variable.centre is None or variable.scale is None:
        return variable
    low, high = variable.bounds
    centre = float(np.clip(variable.centre + SHIFT * variable.scale, low, high))
    return variable.model_copy(update={"centre": centre, "scale": STRETCH * variable.scale})


def _no_reference(variable: Variable) -> Variable:
    return variable.model_copy(update={"centre": None, "scale": None})


def _open(cohort: OpenCohort) -> World:
    """Real patients: a seed decides who trains, or how often the same ones are judged."""
    schema, everyone, ids = cohort.read()

    @lru_cache(maxsize=2)
    def parts(seed: int) -> Parts:
        train, rest = cohort.split(everyone, ids, seed)
        return Parts(train, rest, rest, rest)

    return World(schema, lambda _, seed: parts(seed))


WORLDS: dict[str, Callable[[], World]] = {
    "simulated": _simulated,
    "two factors": lambda: _simulated(factors=2),
    "wrong references": lambda: _simulated(_wrong_reference),
    "bounds only": lambda: _simulated(_no_reference),
    **{name: partial(_open, cohort) for name, cohort in OPEN_COHORTS.items()},
}
