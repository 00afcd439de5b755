"""Rows of some patients as tests write them, and what the slots make of them."""

from dataclasses import dataclass

import numpy as np

from longsynth.reading.records import Cohort
from longsynth.reading.slots import Grouped, placed
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows sorted by patient and time. A patient without rows has one row with no time."""

    patient: Ints  # (R,), ascending
    time: Floats  # (R,), hours; NaN: the patient has no row
    values: Floats  # (R, V); not finite: not observed; static values repeat in every row
    labels: Ints  # (R, 3): site, group, event of the row's patient

    def grouped(self) -> Grouped:
        fresh = np.diff(self.patient, prepend=self.patient[0] - 1) != 0
        first, owner = np.flatnonzero(fresh), np.cumsum(fresh) - 1  # (n,), (R,)
        return Grouped(owner, self.time, self.values, self.labels[first], self.values[first])


def pack(rows: Rows, schema: Schema) -> Cohort:
    return placed(rows.grouped(), schema).cohort()


def row_counts(rows: Rows, schema: Schema) -> dict[str, int]:
    return placed(rows.grouped(), schema).counts()
