"""What anyone knows about the sums behind a line's numbers, from its kind alone."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic, kept
from longsynth.system.arrays import Ints


@dataclass(frozen=True, slots=True)
class PossibleSums:
    """One entry for each number of a line, after the lift and without noise."""

    unit: Ints  # the sum is a multiple of it
    low: Ints  # what one patient adds at least
    high: Ints  # and at most


def possible_sums(statistic: Statistic) -> PossibleSums:
    box, left, lift = statistic.box, isqrt(statistic.left_squared), statistic.lift
    match statistic.kind:
        case "count":
            parts = [(statistic.right, 1, 0, box)]
        case "cross":
            parts = [(statistic.dimension, 1, -left * box, left * box)]
        case "joint":
            count, by_cell = statistic.count_weight, statistic.sum_weight
            cells, sums = statistic.left, statistic.left * statistic.right
            parts = [(cells, count, 0, count), (sums, by_cell, -by_cell * box, by_cell * box)]
        case _:
            parts = []
    numbers = [part[0] for part in parts]
    unit, low, high = (
        np.repeat([p[i] for p in parts], numbers).astype(np.int64) for i in (1, 2, 3)
    )
    if statistic.kind in ("gram", "joint"):  # a product of two is at most half of R²
        row, column = kept(statistic)
        weight = np.where(row == column, DIAGONAL, OFF_DIAGONAL)
        most = np.where(row == column, box**2, min(box**2, statistic.right_squared // 2))
        unit = np.concatenate([unit, weight])
        low = np.concatenate([low, np.where(row == column, 0, -weight * most)])
        high = np.concatenate([high, weight * most])
    return PossibleSums(unit * lift, low * lift, high * lift)
