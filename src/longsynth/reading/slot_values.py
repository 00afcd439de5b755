"""One value of a variable for each slot, from all that fell into it, whatever their order."""

import numpy as np

from longsynth.schema.variable import Aggregate
from longsynth.system.arrays import Floats, Ints


def rule_for(wanted: Aggregate, kind: str) -> Aggregate:
    """A mean is no level, and unordered levels have no middle: the last is taken."""
    if kind == "nominal":
        return "last"
    return "median" if wanted == "mean" and kind != "continuous" else wanted


def write_merged(merged: Floats, values: Floats, slot: Ints, time: Floats, rule: Aggregate) -> None:
    """Write one value into each slot that has any. Of several last ones the largest is taken."""
    order = np.lexsort((values, time, slot) if rule == "last" else (values, slot))
    values, slot = values[order], slot[order]
    found, begin, number = np.unique(slot, return_index=True, return_counts=True)
    match rule:
        case "mean":
            merged[found] = np.add.reduceat(values, begin) / number if len(found) else 0.0
        case "median":
            merged[found] = values[begin + (number - 1) // 2]
        case "min":
            merged[found] = values[begin]
        case "max" | "last":
            merged[found] = values[begin + number - 1]
