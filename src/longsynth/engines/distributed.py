"""Patients here or on other machines: added up in one pass either way, to the same integers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from longsynth.engines import local
from longsynth.engines.kernel import Contributions
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.records import Cohort, Patients
from longsynth.schema.schema import Schema

Facts = Mapping[str, NDArray[np.int64]]  # whole numbers that add up over patients


@runtime_checkable
class Distributed(Protocol):
    """Patients on other machines, added up there."""

    @property
    def folder(self) -> Path | None:
        """The cohort folder whose tables these are; None for tables of the engine's own."""
        ...

    @property
    def schema(self) -> Schema: ...

    @property
    def patients(self) -> int: ...

    def sum_over(self, statistics: Sequence[Statistic], contributions: Contributions) -> list[Sums]:
        """Return the exact sum of every statistic over all patients, in one pass."""
        ...

    def tally(self, count: Callable[[Cohort], Facts]) -> Facts:
        """Return raw facts, added up over all patients. Not for release."""
        ...

    def repairs(self) -> dict[str, Any]:
        """Count what was repaired while reading. Not for release."""
        ...

    def counted(self, rows: Mapping[str, str], people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the cells of the two tables, by name. Not for release."""
        ...

    def distinct(self) -> dict[str, int] | None:
        """See `Readable.distinct`."""
        ...


Source = Patients | Distributed


def sum_over(
    patients: Source,
    statistics: Sequence[Statistic],
    contributions: Contributions,
    *,
    jobs: int = 1,
) -> list[Sums]:
    """Return the exact sum of every statistic over all patients; here, `jobs` threads add up."""
    if isinstance(patients, Distributed):
        return patients.sum_over(statistics, contributions)
    return local.sum_over(patients, statistics, contributions, jobs=jobs)
