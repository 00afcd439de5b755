"""Levels: ordinal, binary and nominal values as whole codes from 0."""

import numpy as np

from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Floats, Ints

MOST_LEVELS = 50  # longer scales are grouped evenly, so that tables stay small


def categorical(schema: Schema) -> list[int]:
    """Positions of the variables that have levels."""
    return [v for v, variable in enumerate(schema.variables) if variable.kind != "continuous"]


def over_time(schema: Schema) -> list[int]:
    """Positions of the variables that are measured again and again."""
    return [v for v, variable in enumerate(schema.variables) if not variable.static]


def level_count(variable: Variable) -> int:
    if variable.kind == "nominal":  # neighbours in the list have nothing in common
        return variable.channels
    low, high = variable.bounds
    return int(min(high - low + 1, MOST_LEVELS))


def level_codes(variable: Variable, values: Floats) -> Ints:
    """Return codes below `level_count`, for values inside the bounds."""
    low, high = variable.bounds
    share = (np.rint(values) - low) / (high - low + 1)
    # the nudge keeps a level that division put a hair below its own boundary
    return np.clip(share * level_count(variable) + 1e-9, 0, level_count(variable) - 1).astype(
        np.int64
    )
