"""Slots: a patient's rows in time become the first T slots, by a public rule.

Rows that share a time are one slot; each variable then takes the lower median of what was
recorded, which does not depend on the order of the rows. A slot's gap is the time since the slot
before it; the first slot's is the time since zero.
"""

from dataclasses import dataclass

import numpy as np

from longsynth.records import Bools, Cohort, Floats, Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of some patients, sorted by patient and time. A patient without rows has one with
    no time."""

    patient: Ints  # (R,), rising
    time: Floats  # (R,), hours; NaN: the patient has no row
    values: Floats  # (R, V); not finite: not observed
    labels: Ints  # (R, 3): site, group, event of the row's patient


def pack(rows: Rows, slots: int, *, absolute_time: bool) -> Cohort:
    """Return one record a patient. With absolute times the first slot has no gap."""
    with np.errstate(all="ignore"):  # times far apart may overflow; `nan_to_num` bounds the gap
        return _packed(rows, slots, absolute_time)


def _packed(rows: Rows, slots: int, absolute_time: bool) -> Cohort:
    rows_of_slot = _starts(rows)
    values = _merged(rows.values, rows_of_slot)
    patient, time = rows.patient[rows_of_slot], rows.time[rows_of_slot]

    first = np.flatnonzero(np.diff(patient, prepend=patient[0] - 1))  # first slot of each patient
    owner = np.cumsum(np.diff(patient, prepend=patient[0]) != 0)  # (slots in all,)
    position = np.arange(len(patient)) - first[owner]
    used = np.isfinite(time)
    length = np.minimum(np.bincount(owner, weights=used).astype(np.int64), slots)

    gaps = np.diff(time, prepend=0.0)
    gaps[first] = 0.0 if absolute_time else time[first]
    keep = used & (position < slots)
    n = len(first)
    packed = np.full((n, slots, values.shape[1]), np.nan)
    packed_gaps = np.zeros((n, slots))
    packed[owner[keep], position[keep]] = values[keep]
    packed_gaps[owner[keep], position[keep]] = np.nan_to_num(gaps[keep])
    site, group, event = rows.labels[rows_of_slot[first]].T
    return Cohort(packed, np.isfinite(packed), packed_gaps, length, group, event, site)


def _starts(rows: Rows) -> Ints:
    """The first row of each slot."""
    same = (np.diff(rows.patient) == 0) & (np.diff(rows.time) == 0)
    return np.flatnonzero(np.concatenate([[True], ~same]))


def _merged(values: Floats, starts: Ints) -> Floats:
    """Return one row a slot: the lower median of what was observed, NaN if nothing was."""
    merged = np.where(np.isfinite(values[starts]), values[starts], np.nan)
    counts = np.diff(starts, append=len(values))
    shared = np.flatnonzero(counts > 1)
    if len(shared) == 0:
        return merged
    slot = np.repeat(np.arange(len(starts)), counts)
    rows = np.isin(slot, shared)
    for v in range(values.shape[1]):
        known: Bools = rows & np.isfinite(values[:, v])
        order = np.lexsort((values[known, v], slot[known]))
        found, begin, number = np.unique(slot[known], return_index=True, return_counts=True)
        merged[found, v] = values[known, v][order][begin + (number - 1) // 2]
    return merged
