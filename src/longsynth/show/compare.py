"""Real and synthetic patients, variable by variable. For the data steward: keep it internal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class ComparedVariable:
    name: str
    unit: str
    real: tuple[float, float, float]  # mean, standard deviation, missing share
    synthetic: tuple[float, float, float]


def compare(schema: Schema, real: Trajectories, synthetic: Trajectories) -> list[ComparedVariable]:
    """Return mean, standard deviation and missing share of each variable, for synthetic patients by
    weight; NaN if undefined, as for the mean of levels without an order."""
    return [
        ComparedVariable(
            variable.name,
            variable.unit,
            _summary(schema, real, v),
            _summary(schema, synthetic, v),
        )
        for v, variable in enumerate(schema.variables)
    ]


def _summary(schema: Schema, cohort: Trajectories, v: int) -> tuple[float, float, float]:
    variable, slots = schema.variables[v], np.arange(schema.slots)
    observed, by_patient = cohort.observed[:, :, v], weights(cohort)[:, None]
    used = (slots == 0)[None] if variable.static else slots < cohort.length[:, None]
    total, weight = float((by_patient * used).sum()), np.where(observed, by_patient, 0.0)
    number = float(weight.sum())
    missing = 1 - number / total if total else np.nan
    if variable.kind == "nominal" or not number:
        return np.nan, np.nan, missing
    values = np.where(observed, cohort.values[:, :, v], 0.0)
    mean = float((weight * values).sum() / number)
    return mean, float(np.sqrt((weight * (values - mean) ** 2).sum() / number)), missing


def weights(cohort: Trajectories) -> NDArray[np.float64]:
    weight = getattr(cohort, "weight", None)
    return np.ones(cohort.patients) if weight is None else weight
