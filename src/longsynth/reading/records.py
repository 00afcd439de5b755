"""Cohort: raw patients (eq:record). Everything in here is on the private side."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Protocol, Self, runtime_checkable

import numpy as np

from longsynth.system.arrays import Bools, Bytes, Floats, Ints

BATCH = 8192  # patients


def no_codes(patients: int = 0, slots: int = 0) -> Bytes:
    return np.zeros((patients, slots, 0), np.uint8)


@dataclass(frozen=True, slots=True)
class Cohort:
    """N patients in T slots of V variables. Slots at or past a patient's length hold nothing."""

    values: Floats  # X (N, T, V); meaningless where not observed
    observed: Bools  # M (N, T, V)
    gaps: Floats  # Δ (N, T), hours since the preceding slot; the first since time zero
    length: Ints  # (N,), slots in use
    group: Ints  # G (N,), 0 or 1
    event: Ints  # Y (N,), 0 or 1
    site: Ints  # C (N,), position in the schema's list of sites
    codes: Bytes = field(default_factory=no_codes)  # (N, T, bytes), one bit for each code

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.length):
            object.__setattr__(self, "codes", no_codes(*self.gaps.shape))

    @property
    def patients(self) -> int:
        return len(self.length)

    def __repr__(self) -> str:  # sizes and no value: notebooks and logs show it unasked
        patients, slots, variables = self.values.shape
        return f"Cohort({patients:,} patients, {slots} slots, {variables} variables)"

    def take(self, rows: slice | Ints) -> Self:
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def batches(self, size: int = BATCH) -> Iterator[Self]:
        for start in range(0, self.patients, size):
            yield self.take(slice(start, start + size))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        listed = list(parts)
        return cls(*(np.concatenate([getattr(p, f.name) for p in listed]) for f in fields(cls)))


@runtime_checkable
class Patients(Protocol):
    """What a fit reads: a known number of patients, in batches, as often as it has stages."""

    @property
    def patients(self) -> int: ...

    def batches(self) -> Iterator[Cohort]: ...
