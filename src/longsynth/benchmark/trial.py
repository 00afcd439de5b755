"""Trial: one method on one population in one setting, and everything that is measured of it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from longsynth.benchmark.experiments import REFERENCES, Experiment, Setting
from longsynth.benchmark.split import blanked, split, thinned
from longsynth.constants import Constants
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import method_named
from longsynth.records import Cohort
from longsynth.schema import Schema
from longsynth.simulate import simulate, simulated_schema
from longsynth.version import VERSION

FRESH_SEED = 10_000_000  # added to a seed: a longer stream of the same seed repeats its patients


class Use(NamedTuple):
    """Where a trial's numbers stand in the results, and which of them."""

    experiment: str
    setting: str
    measures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    method: str
    seed: int
    setting: Setting
    uses: tuple[Use, ...]
    bootstrap: int = 0
    alone: bool = False

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(m for use in self.uses for m in use.measures))

    @property
    def name(self) -> str:
        """A file name that changes with anything the numbers depend on, the version included."""
        content = json.dumps([VERSION, asdict(self)], sort_keys=True)
        first = self.uses[0]
        said = f"{first.experiment}-{first.setting}-{self.method}-{self.seed}"
        plain = "".join(c if c.isalnum() or c in "-." else "_" for c in said)
        return f"{plain}-{sha256(content.encode()).hexdigest()[:10]}"


class Parts(NamedTuple):
    """A population as one trial sees it."""

    train: Cohort  # all that a method is shown
    control: Cohort  # never shown to a method: what attacks are held against
    judged: Cohort  # never shown either: what fidelity is held against
    test: Cohort  # what the downstream classifier is judged on


def trials(experiments: Iterable[Experiment]) -> list[Trial]:
    """Return what has to be run, each distinct trial once."""
    found: dict[tuple[str, int, Setting, bool], Trial] = {}
    for experiment in experiments:
        for seed in experiment.seeds:
            for label, setting in experiment.settings.items():
                for method in experiment.all_methods:
                    key = (method, seed, _relevant(method, setting), experiment.alone)
                    use = Use(experiment.name, label, experiment.measures)
                    before = found.get(key)
                    found[key] = Trial(
                        method,
                        seed,
                        key[2],
                        (*(before.uses if before else ()), use),
                        max(experiment.bootstrap, before.bootstrap if before else 0),
                        experiment.alone,
                    )
    return list(found.values())


def is_private(method: str) -> bool:
    return method not in REFERENCES and isinstance(method_named(method), PrivateMethod)


def population(setting: Setting, seed: int) -> Parts:
    """Return the patients of a trial. The same for all methods, so that differences pair up."""
    return _population(setting.patients, setting.train, setting.extra_missing, setting.fresh, seed)


@lru_cache(maxsize=2)
def _population(
    patients: int, train: int | None, extra_missing: float, fresh: int, seed: int
) -> Parts:
    everyone = blanked(simulate(patients, seed=seed), extra_missing, seed)
    if fresh:
        others = simulate(fresh, seed=FRESH_SEED + seed)
        others = blanked(others, extra_missing, FRESH_SEED + seed)
        return Parts(everyone, others.take(slice(0, patients)), others, others)
    shown, validation, test = split(everyone, seed)
    if train is not None:
        shown = thinned(shown, train, seed)
    held_out = Cohort.joined([validation, test])
    return Parts(shown, held_out, held_out, test)


def schema_of(setting: Setting) -> Schema:
    constants = Constants.model_validate(dict(setting.constants))
    return _schema().model_copy(update={"constants": constants})


@lru_cache(maxsize=1)
def _schema() -> Schema:
    return simulated_schema()


def partition_facts(cohort: Cohort) -> dict[str, float]:
    """Return what tab:dataset says about a set of patients."""
    return {
        "patients": float(cohort.patients),
        "event_rate": float(cohort.event.mean()),
        "group_share": float(cohort.group.mean()),
        "missing_rate": float(1 - cohort.observed.mean()),
        "mean_gap": float(np.mean(cohort.gaps)),
    }


def _relevant(method: str, setting: Setting) -> Setting:
    """A method without a promise does not know the budget: one trial serves every ε."""
    return setting if is_private(method) else replace(setting, epsilon=0.0, delta=0.0)
