"""The kernel: what a batch of patients adds to every sum. Every engine calls it, so every engine
has the same bits; an engine decides only where batches come from and where they are added."""

import ctypes
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil

import numpy as np

from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Rows, Shared, Sums, add_up
from longsynth.reading.records import Cohort
from longsynth.system.arrays import Ints
from longsynth.system.errors import DependentRows
from longsynth.system.workers import one_thread

KEPT = 128 << 20  # bytes
CELLS = 3 << 18  # of a statistic's rows at once
CHECKED = 8  # of so many batches of a pass one is checked, and the first always
COMPANY = 7  # patients whose rows are made again together
Contributions = Callable[[Cohort], Mapping[str, Contribution]]  # of one batch, by statistic


def batch_sums(
    batch: Cohort, statistics: Sequence[Statistic], contributions: Contributions, number: int = 0
) -> dict[str, Sums]:
    """Return the exact sum of every statistic over one batch, by name. Sums can be pickled.

    `number` counts the batches of a pass that one engine or executor adds up: in the first, and in
    some of the others, rows are made a second time and have to be the same.
    """
    keep_freed_memory()
    total: dict[str, Sums] = {}
    size = _together(batch.patients, statistics)
    checked = number == 0 or secrets.randbelow(CHECKED) == 0
    where = secrets.randbelow(ceil(batch.patients / size)) if checked and batch.patients else -1
    with one_thread(), np.errstate(all="ignore"):  # no warning may tell of a wild value
        for place, part in enumerate(batch.batches(size)):
            chosen = _chosen(part) if place == where else []  # before a method can write into it
            rows, shared = contributions(part), Shared()
            found = {s.name: add_up(s, rows[s.name], shared) for s in statistics}
            for name, sums in found.items():
                if sums.rows != part.patients:
                    raise TypeError(f"'{name}' needs one row for each patient of a batch")
            total = added(total, found)
            before = [_rows_at(at, rows, statistics) for at, _ in chosen]
            for expected, (_, few) in zip(before, chosen, strict=True):
                after = _rows_at(slice(None), contributions(few), statistics)
                if not all(map(np.array_equal, expected, after)):
                    raise DependentRows
    return total


def _chosen(part: Cohort) -> list[tuple[Ints, Cohort]]:
    """Return places in a part and copies of who stands there: one patient alone, and some others in
    random order without that one. Whoever is let into all rows is missing from one of the two."""
    drawn = secrets.SystemRandom().sample(range(part.patients), min(part.patients, 1 + COMPANY))
    places = [np.array(found, np.int64) for found in (drawn[:1], drawn[1:]) if found]
    return [(place, part.take(place)) for place in places]


def _rows_at(
    place: Ints | slice, rows: Mapping[str, Contribution], statistics: Sequence[Statistic]
) -> list[Rows]:
    """Return both sides of each statistic; of chosen places copies, as a method may use its memory
    again."""
    sides = [side for s in statistics for side in rows[s.name][: 2 if s.left else 1]]
    return [side[place] for side in sides]


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
