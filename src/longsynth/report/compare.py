"""Real against synthetic, variable by variable. For the data holder: it stays in internal/."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longsynth.io.writer import Trajectories
from longsynth.schema import Schema


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    unit: str
    real: tuple[float, float, float]  # mean, spread, missing share
    synthetic: tuple[float, float, float]


def compare(schema: Schema, real: Trajectories, synthetic: Trajectories) -> list[Row]:
    """Return mean, spread and missing share of each variable, synthetic ones by weight."""
    return [
        Row(variable.name, variable.unit, _summary(real, v), _summary(synthetic, v))
        for v, variable in enumerate(schema.variables)
    ]


def _summary(cohort: Trajectories, v: int) -> tuple[float, float, float]:
    seen = cohort.observed[:, :, v]
    weight = np.where(seen, weights(cohort)[:, None], 0.0)
    values = np.where(seen, cohort.values[:, :, v], 0.0)
    mean = float((weight * values).sum() / weight.sum())
    spread = float(np.sqrt((weight * (values - mean) ** 2).sum() / weight.sum()))
    total = weights(cohort).sum() * seen.shape[1]
    return mean, spread, float(1 - weight.sum() / total)


def weights(cohort: Trajectories) -> NDArray[np.float64]:
    found = getattr(cohort, "weight", None)
    return np.ones(cohort.patients) if found is None else found
