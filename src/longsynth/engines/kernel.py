"""The kernel: what a batch of patients adds to every sum. Every engine calls it, so every engine
has the same bits; an engine decides only where batches come from and where they are added."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil

import numpy as np

from longsynth.one_thread import one_thread
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Shared, Sums, add_up
from longsynth.records import Cohort

KEPT = 128 << 20  # bytes
CELLS = 3 << 18  # of a statistic's rows at once
Contributions = Callable[[Cohort], Mapping[str, Contribution]]  # of one batch, by statistic


def batch_sums(
    batch: Cohort, statistics: Sequence[Statistic], contributions: Contributions
) -> dict[str, Sums]:
    """Return the exact sum of every statistic over one batch, by name. Sums can be pickled."""
    keep_freed_memory()
    total: dict[str, Sums] = {}
    with one_thread(), np.errstate(all="ignore"):  # no warning may tell of a wild value
        for part in batch.batches(_together(batch.patients, statistics)):
            rows, shared = contributions(part), Shared()
            found = {s.name: add_up(s, rows[s.name], shared) for s in statistics}
            for name, sums in found.items():
                if sums.rows != part.patients:
                    raise TypeError(f"'{name}' needs one row for each patient of a batch")
            total = added(total, found)
    return total


def _together(patients: int, statistics: Sequence[Statistic]) -> int:
    """How many patients are added up at once: as many as a processor's cache holds the rows of,
    but not so few that to add their sums would cost more than to make them."""
    most = min(max(CELLS, 16 * s.dimension) // s.right for s in statistics)
    return max(ceil(patients / max(ceil(patients / max(most, 1)), 1)), 1)


def added(one: dict[str, Sums], other: dict[str, Sums]) -> dict[str, Sums]:
    """Return the sums over two sets of patients. Integers: any order gives the same."""
    if not one or not other:
        return one or other
    return {name: one[name] + other[name] for name in one}


@cache
def keep_freed_memory() -> None:
    """Let the next batch have the memory of the last. To hand it back to the system and ask for it
    again, page by page, would take as long as the sums. Where there is no such switch, it does."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-1, KEPT)  # M_TRIM_THRESHOLD
        library.mallopt(-3, KEPT // 4)  # M_MMAP_THRESHOLD
