"""Trial: one method on one population in one setting, and all its measurements."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import product
from typing import NamedTuple

import numpy as np

from longsynth.schema.constants import Constants
from longsynth.schema.schema import Schema
from longsynth_lab.experiments import REFERENCES, Constant, Experiment, Setting
from longsynth_lab.patients import Parts, source_named
from longsynth_lab.variants import is_private
from longsynth_lab.versions import judged_by, made_by

DRAW_SEED = 30_000_000  # times the draw, added to a seed: the seed of the synthetic patients


class Use(NamedTuple):
    """Which of a trial's numbers belong to which experiment and setting."""

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
    draw: int = 0
    made_by: str = ""  # versions of the code, see `versions`
    judged_by: str = ""

    @property
    def sample_seed(self) -> int:
        return self.seed + DRAW_SEED * self.draw

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(m for use in self.uses for m in use.measures))

    @property
    def name(self) -> str:
        """A file name that changes with everything the numbers depend on, including the code."""
        content = json.dumps(asdict(self), sort_keys=True)
        first = self.uses[0]
        said = f"{first.experiment}-{first.setting}-{self.method}-{self.seed}-{self.draw}"
        plain = "".join(c if c.isalnum() or c in "-." else "_" for c in said)
        return f"{plain}-{sha256(content.encode()).hexdigest()[:10]}"


def trials(experiments: Iterable[Experiment]) -> list[Trial]:
    """Return the trials to run, each distinct trial once, grouped by seed."""
    found: dict[tuple[str, int, int, Setting, bool], Trial] = {}
    for experiment in experiments:
        for seed, draw, (label, setting), method in product(
            experiment.seeds,
            range(experiment.draws),
            experiment.settings.items(),
            experiment.all_methods,
        ):
            key = (method, seed, draw, _relevant(method, setting), experiment.alone)
            use = Use(experiment.name, label, experiment.measures)
            before = found.get(key)
            found[key] = Trial(
                method,
                seed,
                key[3],
                (*(before.uses if before else ()), use),
                max(experiment.bootstrap, before.bootstrap if before else 0),
                experiment.alone,
                draw,
                "" if method in REFERENCES else made_by(method),
                judged_by(),
            )
    return list(found.values())


def population(setting: Setting, seed: int) -> Parts:
    """Return the patients of a trial: the same for all methods, so differences are paired."""
    return source_named(setting.source).parts(setting, seed)


def schema_of(setting: Setting, constants: Iterable[Constant] = ()) -> Schema:
    """Return the schema of the setting's patients, with its constants and those of a variant."""
    schema = source_named(setting.source).schema
    given = schema.constants.model_dump() | dict(setting.constants) | dict(constants)
    return schema.model_copy(update={"constants": Constants.model_validate(given)})


def patients_hash(parts: Parts) -> str:
    """A short hash of the training and test patients, insensitive to the last digits of values."""
    digest = sha256()
    for cohort in (parts.train, parts.test):
        for numbers in (cohort.values, cohort.gaps):
            digest.update(np.nan_to_num(numbers.astype(np.float32)).tobytes())
        for marks in (cohort.observed, cohort.length, cohort.event, cohort.group, cohort.site):
            digest.update(marks.tobytes())
    return digest.hexdigest()[:12]


def _relevant(method: str, setting: Setting) -> Setting:
    """A method without a guarantee ignores the budget, so one trial serves every ε."""
    return setting if is_private(method) else replace(setting, epsilon=0.0, delta=0.0)
