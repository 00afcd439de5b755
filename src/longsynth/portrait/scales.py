"""Scales: bins from public facts alone, so that portraits of two cohorts share them."""

import numpy as np
from numpy.typing import NDArray

from longsynth.schema import Schema
from longsynth.variable import Variable

Floats = NDArray[np.float64]

MOST_BINS = 60
MOST_BLOCKS = 24  # of consecutive slots, along which a record is drawn


def nice_width(span: float, most: int) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that needs no more bins."""
    power = 10.0 ** np.floor(np.log10(span / most))
    return float(next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= most + 1e-9))


def edges_of(low: float, high: float, least: float = 0.0) -> Floats:
    """Bins of a round width, so that what is recorded in whole numbers fills them evenly."""
    width = max(nice_width(high - low, MOST_BINS), least)
    inner = np.arange(np.floor(low / width) + 1, np.ceil(high / width)) * width
    inside = inner[(inner > low + 1e-9 * width) & (inner < high - 1e-9 * width)]
    return np.concatenate([[low], inside, [high]])


def variable_edges(variable: Variable) -> Floats:
    low, high = variable.bounds
    if variable.transform == "log":
        return np.asarray(np.geomspace(low, high, MOST_BINS + 1))
    return edges_of(low, high)


def level_names(variable: Variable) -> list[str]:
    """What a variable with levels can be, in order."""
    if variable.levels:
        return list(variable.levels)
    low, high = variable.bounds
    return [f"{level:g}" for level in np.arange(low, high + 1)]


def blocks_of(schema: Schema) -> Floats:
    """(blocks + 1,): where blocks of slots begin, and the end of the last."""
    count = min(schema.slots, MOST_BLOCKS)
    return np.unique(np.linspace(0, schema.slots, count + 1).round().astype(np.int64))
