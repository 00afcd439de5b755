"""Where sums run, never what they are. An engine draws no noise and keeps no ledger.

Patients here or on other machines are added up in one pass either way, to the same integers. Every
engine calls `batch_sums` for what a batch of patients adds to every sum, so every engine has the
same bits; an engine decides only where batches come from and where they are added.
"""

import ctypes
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Rows, Shared, Sums, add_up
from longsynth.reading.records import Cohort, Patients
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Ints
from longsynth.system.errors import Code, CohortError, DependentRows
from longsynth.system.workers import in_threads, one_thread

KEPT = 128 << 20  # bytes
CELLS = 3 << 18  # of a statistic's rows at once
CHECKED = 8  # one of so many batches of a pass is checked, and always the first
COMPANY = 7  # patients whose rows are computed again together
Contributions = Callable[[Cohort], Mapping[str, Contribution]]  # of one batch, by statistic
Facts = Mapping[str, Ints]  # whole numbers that add up over patients


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

    def counted(self, of_rows: Mapping[str, str], of_people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the cells of the two tables, by name. Not for release."""
        ...

    def distinct(self) -> dict[str, int] | None:
        """See `Readable.distinct`."""
        ...


Source = Patients | Distributed


def sum_over(
    source: Source,
    statistics: Sequence[Statistic],
    contributions: Contributions,
    *,
    jobs: int = 1,
) -> list[Sums]:
    """Return the exact sum of every statistic over all patients, in one pass.

    Here, this thread reads batches and `jobs` others add them up, so memory does not grow with N.
    Sums are integers, so the order of additions does not matter.
    """
    if isinstance(source, Distributed):
        return source.sum_over(statistics, contributions)

    def work(numbered: tuple[int, Cohort]) -> dict[str, Sums]:
        number, batch = numbered
        return batch_sums(batch, statistics, contributions, number)

    totals: dict[str, Sums] = {}
    for sums in in_threads(work, enumerate(source.batches()), jobs):
        totals = added(totals, sums)
    if not totals:
        raise CohortError(
            Code.NO_PATIENTS,
            "the patient table is empty.",
            "Check the file and the column of patient ids.",
        )
    return [totals[statistic.name] for statistic in statistics]


def batch_sums(
    batch: Cohort, statistics: Sequence[Statistic], contributions: Contributions, number: int = 0
) -> dict[str, Sums]:
    """Return the exact sum of every statistic over one batch, by name. Sums can be pickled.

    `number` counts the batches of a pass that one engine or executor adds up. In the first, and in
    some of the others, rows are computed a second time and must be the same.
    """
    keep_freed_memory()
    total: dict[str, Sums] = {}
    size = together(batch.patients, statistics)
    checked = number == 0 or secrets.randbelow(CHECKED) == 0
    where = secrets.randbelow(ceil(batch.patients / size)) if checked and batch.patients else -1
    with one_thread(), np.errstate(all="ignore"):  # no warning may reveal a wild value
        for place, part in enumerate(batch.batches(size)):
            chosen = _chosen(part) if place == where else []  # before a method can write into it
            rows, shared = contributions(part), Shared()
            sums_of_part = {s.name: add_up(s, rows[s.name], shared) for s in statistics}
            for name, sums in sums_of_part.items():
                if sums.rows != part.patients:
                    raise TypeError(f"'{name}' needs one row for each patient of a batch")
            total = added(total, sums_of_part)
            before = [_rows_at(at, rows, statistics) for at, _ in chosen]
            for expected, (_, few) in zip(before, chosen, strict=True):
                after = _rows_at(slice(None), contributions(few), statistics)
                if not all(map(np.array_equal, expected, after)):
                    raise DependentRows
    return total


def _chosen(part: Cohort) -> list[tuple[Ints, Cohort]]:
    """Return places in a part and copies of the patients there: one patient alone, and some others
    in random order without that one. Whoever affects all rows is absent from one of the two."""
    drawn = secrets.SystemRandom().sample(range(part.patients), min(part.patients, 1 + COMPANY))
    places = [np.array(some, np.int64) for some in (drawn[:1], drawn[1:]) if some]
    return [(place, part.take(place)) for place in places]


def _rows_at(
    place: Ints | slice, rows: Mapping[str, Contribution], statistics: Sequence[Statistic]
) -> list[Rows]:
    """Return both sides of each statistic; copies for chosen places, as a method may reuse its
    memory."""
    sides = [side for s in statistics for side in rows[s.name][: 2 if s.left else 1]]
    return [side[place] for side in sides]


def together(patients: int, statistics: Sequence[Statistic]) -> int:
    """How many patients are added up at once: as many as have rows that fit in a processor's cache,
    but not so few that adding their sums costs more than computing them."""
    most = min(max(CELLS, 16 * s.dimension) // s.right for s in statistics)
    return max(ceil(patients / max(ceil(patients / max(most, 1)), 1)), 1)


def added(one: dict[str, Sums], other: dict[str, Sums]) -> dict[str, Sums]:
    """Return the sums over two sets of patients. Integers: any order gives the same."""
    if not one or not other:
        return one or other
    return {name: one[name] + other[name] for name in one}


@cache
def keep_freed_memory() -> None:
    """Let the next batch reuse the memory of the last. Returning it to the system and asking for it
    again, page by page, would take as long as the sums. Some systems have no such switch."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-1, KEPT)  # M_TRIM_THRESHOLD
        library.mallopt(-3, KEPT // 4)  # M_MMAP_THRESHOLD
