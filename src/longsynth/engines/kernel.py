"""The kernel: what a batch of patients adds to every sum. Every engine calls it, so every engine
has the same bits; an engine decides only where batches come from and where they are added."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Sums, add_up
from longsynth.records import Cohort

Contributions = Callable[[Cohort], Mapping[str, Contribution]]  # of one batch, by statistic


def batch_sums(
    batch: Cohort, statistics: Sequence[Statistic], contributions: Contributions
) -> dict[str, Sums]:
    """Return the exact sum of every statistic over one batch, by name. Sums can be pickled."""
    with one_quiet_thread():
        parts = contributions(batch)
        sums = {s.name: add_up(s, parts[s.name]) for s in statistics}
    for found in sums.values():
        if found.rows != batch.patients:
            raise TypeError(f"'{found.statistic.name}' needs one row for each patient of a batch")
    return sums


def added(one: dict[str, Sums], other: dict[str, Sums]) -> dict[str, Sums]:
    """Return the sums over two sets of patients. Integers: any order gives the same."""
    if not one or not other:
        return one or other
    return {name: one[name] + other[name] for name in one}


@contextmanager
def one_quiet_thread() -> Iterator[None]:
    """Short products: a second BLAS thread only waits. And no warning may tell of a wild value."""
    with _linear_algebra().limit(limits=1), np.errstate(all="ignore"):
        yield


@cache
def _linear_algebra() -> ThreadpoolController:
    """Return numpy's and scipy's; to look for them takes longer than to add up a few patients."""
    import scipy.linalg.blas  # noqa: F401 - what is not loaded yet would not be found

    return ThreadpoolController()
