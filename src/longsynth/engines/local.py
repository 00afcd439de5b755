"""The local engine: one pass over the patients, batch by batch; memory does not grow with N."""

from collections.abc import Sequence

from longsynth.engines.kernel import Contributions, added, batch_sums
from longsynth.errors import CohortError
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.records import Patients


def sum_over(
    patients: Patients, statistics: Sequence[Statistic], contributions: Contributions
) -> list[Sums]:
    """Return the exact sum of every statistic over all patients, in one pass."""
    totals: dict[str, Sums] = {}
    for batch in patients.batches():
        totals = added(totals, batch_sums(batch, statistics, contributions))
    if not totals:
        raise CohortError("the patient table is empty: there is nobody to protect or to describe.")
    return [totals[statistic.name] for statistic in statistics]
