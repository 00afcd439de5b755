"""The local engine: one pass over the patients, batch by batch; memory does not grow with N."""

from collections.abc import Sequence

from longsynth.engines.kernel import Contributions, added, batch_sums
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.records import Cohort, Patients
from longsynth.system.errors import Code, CohortError
from longsynth.system.workers import in_threads


def sum_over(
    patients: Patients,
    statistics: Sequence[Statistic],
    contributions: Contributions,
    *,
    jobs: int = 1,
) -> list[Sums]:
    """Return the exact sum of every statistic over all patients, in one pass.

    This thread reads batches and `jobs` others add them up. Sums are integers, so the order of
    additions does not matter.
    """

    def work(numbered: tuple[int, Cohort]) -> dict[str, Sums]:
        number, batch = numbered
        return batch_sums(batch, statistics, contributions, number)

    totals: dict[str, Sums] = {}
    for sums in in_threads(work, enumerate(patients.batches()), jobs):
        totals = added(totals, sums)
    if not totals:
        raise CohortError(
            Code.NO_PATIENTS,
            "the patient table is empty.",
            "Check the file and the column of patient ids.",
        )
    return [totals[statistic.name] for statistic in statistics]
