"""Numbers of a line that may stand for nearly the same thing, such as a mean and that of the next
slot. The layout of a row is its method's own, so pairs are made at every distance up to a bound."""

from collections.abc import Iterator

import numpy as np

from longsynth.privacy.statistic import Statistic, kept
from longsynth.system.arrays import Ints

FURTHEST = 64  # entries of a row: the channels of a slot are seldom more
ENOUGH = 100_000  # numbers of a line: they show all there is to see, and time stays bounded


def similar_numbers(statistic: Statistic) -> Iterator[tuple[Ints, Ints]]:
    """Yield for each distance the places of pairs; no place is in two pairs of one distance."""
    products = statistic.kind in ("gram", "joint")
    row, column = kept(statistic) if products else np.zeros((2, 0), np.int64)
    before = statistic.dimension - len(row)  # numbers that are not products
    ends = np.array(statistic.band or [statistic.right] * statistic.right)
    starts = before + np.cumsum(ends - np.arange(statistic.right)) - ends  # + column: the place
    row, column = row[:ENOUGH], column[:ENOUGH]
    counts = statistic.left if statistic.kind == "joint" else 0  # which stand first
    single = np.arange(counts, before)[:ENOUGH]
    entry = (single - counts) % statistic.right
    for distance in range(1, min(FURTHEST, statistic.right - 1) + 1):
        chosen = (entry // distance % 2 == 0) & (entry + distance < statistic.right)
        paired = (row // distance % 2 == 0) & (column + distance < statistic.right)
        paired[paired] = (column + distance)[paired] < ends[(row + distance)[paired]]
        first, i, j = np.flatnonzero(paired) + before, row[paired], column[paired]
        yield (
            np.concatenate([single[chosen], first]),
            np.concatenate([single[chosen] + distance, starts[i + distance] + j + distance]),
        )
