"""The local engine: one pass over the patients, batch by batch; memory does not grow with N."""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from longsynth.errors import CohortError
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Sums, add_up
from longsynth.records import Cohort, Patients


def sum_over(
    patients: Patients,
    statistics: list[Statistic],
    contributions: Callable[[Cohort], Mapping[str, Contribution]],
) -> list[Sums]:
    """Return the exact sum of every statistic over all patients, in one pass."""
    totals: dict[str, Sums] = {}
    # Short products: a second BLAS thread only waits. And no warning may tell of a wild value.
    with _linear_algebra().limit(limits=1), np.errstate(all="ignore"):
        for batch in patients.batches():
            parts = contributions(batch)
            for statistic in statistics:
                sums = add_up(statistic, parts[statistic.name])
                if sums.rows != batch.patients:
                    raise TypeError(f"'{statistic.name}' needs one row for each patient of a batch")
                before = totals.get(statistic.name)
                totals[statistic.name] = sums if before is None else before + sums
    if len(totals) < len(statistics):
        raise CohortError("the patient table is empty: there is nobody to protect or to describe.")
    return [totals[statistic.name] for statistic in statistics]


@cache
def _linear_algebra() -> ThreadpoolController:
    """Return numpy's and scipy's; to look for them takes longer than to add up a few patients."""
    import scipy.linalg.blas  # noqa: F401 - what is not loaded yet would not be found

    return ThreadpoolController()
