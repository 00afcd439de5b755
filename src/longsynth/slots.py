"""Slots: a patient's rows in time become the first T slots, by the schema's public rule.

A slot opens at a time at which an anchor variable was measured, and takes in every row until the
next slot opens, which is `merge` hours later at the earliest; rows before the first slot belong to
it. Each variable is then one value, by its aggregate, whatever the order of the rows. A slot's gap
is the time since the slot before it; the first slot's is the time since zero.
"""

from dataclasses import dataclass

import numpy as np

from longsynth.records import Bools, Cohort, Floats, Ints
from longsynth.schema import Aggregate, Schema

SLACK = 1e-9  # hours: 20 and 80 minutes lie an hour apart, whatever their binary digits say


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of some patients, sorted by patient and time. A patient without rows has one with
    no time."""

    patient: Ints  # (R,), rising
    time: Floats  # (R,), hours; NaN: the patient has no row
    values: Floats  # (R, V); not finite: not observed; static values repeat in every row
    labels: Ints  # (R, 3): site, group, event of the row's patient


def pack(rows: Rows, schema: Schema) -> Cohort:
    """Return one record a patient. With absolute times a patient's first row is time zero."""
    with np.errstate(all="ignore"):  # times far apart may overflow; `nan_to_num` bounds the gap
        return _packed(rows, _slotted(rows, schema), schema)


def row_counts(rows: Rows, schema: Schema) -> dict[str, int]:
    """Count what becomes of rows that have a time; each is in one of the counts. Raw facts."""
    with np.errstate(all="ignore"):
        slots = _slotted(rows, schema)
    kept = slots.position < schema.slots
    taken, stay = int(slots.taken.sum()), int(kept[slots.slot[slots.taken]].sum())
    return {
        "rows_past_the_horizon": int((np.isfinite(rows.time) & ~slots.usable).sum()),
        "rows_of_patients_without_an_anchor": int(slots.usable.sum()) - taken,
        "rows_past_the_last_slot": taken - stay,
        "rows_merged_into_the_slot_of_another": stay - int(kept.sum()),
        "slots_in_use": int(kept.sum()),
    }


@dataclass(frozen=True, slots=True)
class _Slots:
    """Where the slots of some patients open, and which of them takes in each row."""

    first_row: Ints  # (n,), of each patient
    zero: Floats  # (n,), each patient's time zero
    usable: Bools  # (R,): the row has a time, and not past the horizon
    taken: Bools  # (R,): and its patient has a slot
    slot: Ints  # (R,), the slot of each row that is taken
    start: Ints  # (S,), the row at which each slot opens
    patient: Ints  # (S,), from 0 on
    position: Ints  # (S,), among its patient's slots


def _slotted(rows: Rows, schema: Schema) -> _Slots:
    fresh = np.diff(rows.patient, prepend=rows.patient[0] - 1) != 0
    first_row, owner = np.flatnonzero(fresh), np.cumsum(fresh) - 1  # (n,), (R,)
    absolute = schema.time.unit == "timestamp"
    zero: Floats = rows.time[first_row] if absolute else np.zeros(len(first_row))
    usable = np.isfinite(rows.time)
    if schema.slot_rule.horizon is not None:
        usable &= rows.time - zero[owner] <= schema.slot_rule.horizon + SLACK

    start = _openings(rows, usable, owner, schema)
    patient = owner[start]
    number = np.bincount(patient, minlength=len(first_row))  # slots of each patient
    before = np.cumsum(number) - number
    opened = np.zeros(len(owner), np.int64)
    opened[start] = 1
    slot = np.maximum(np.cumsum(opened) - 1, before[owner])  # rows before the first: to it
    taken = usable & (number[owner] > 0)
    position = np.arange(len(start)) - before[patient]
    return _Slots(first_row, zero, usable, taken, slot, start, patient, position)


def _packed(rows: Rows, slots: _Slots, schema: Schema) -> Cohort:
    opens, patients = rows.time[slots.start], len(slots.first_row)
    gaps = np.diff(opens, prepend=0.0)
    leading = slots.position == 0
    gaps[leading] = (opens - slots.zero[slots.patient])[leading]
    merged = _merged(rows, slots, schema)

    keep = slots.position < schema.slots
    place = slots.patient[keep], slots.position[keep]
    packed = np.full((patients, schema.slots, rows.values.shape[1]), np.nan)
    packed_gaps = np.zeros(packed.shape[:2])
    packed[place] = merged[keep]
    packed_gaps[place] = np.nan_to_num(gaps[keep])
    static = np.array(schema.layout.static)
    if static.any():
        packed[:, :, static] = np.nan
        packed[:, 0, static] = rows.values[slots.first_row][:, static]
    observed = np.isfinite(packed)
    packed[~observed] = np.nan
    site, group, event = rows.labels[slots.first_row].T
    length = np.bincount(slots.patient[keep], minlength=patients)
    return Cohort(packed, observed, packed_gaps, length, group, event, site)


def _openings(rows: Rows, usable: Bools, owner: Ints, schema: Schema) -> Ints:
    """The rows at which slots open: of each patient the first that may, and then always the next
    that is later by `merge` hours, and later at all. Rows of one time open a slot together."""
    later = np.diff(owner, prepend=-1) != 0
    later[1:] |= np.diff(rows.time) > 0
    anchors = [v for v, x in enumerate(schema.variables) if x.name in schema.slot_rule.anchors]
    if anchors:
        measured = usable & np.isfinite(rows.values[:, anchors]).any(axis=1)
        first_of_time = np.maximum.accumulate(np.where(later, np.arange(len(owner)), 0))
        candidates = np.unique(first_of_time[measured])
    else:
        candidates = np.flatnonzero(later & usable)
    if schema.slot_rule.merge == 0 or len(candidates) == 0:
        return candidates
    return candidates[_apart(owner[candidates], rows.time[candidates], schema)]


def _apart(patient: Ints, when: Floats, schema: Schema) -> Ints:
    """Which of the rising times of each patient open a slot. One more than is kept: it ends the
    last."""
    here = np.flatnonzero(np.diff(patient, prepend=-1))
    end = np.append(here[1:], len(patient))
    chosen = [here]
    for _ in range(schema.slots):
        following = _next(here, end, when, when[here] + schema.slot_rule.merge - SLACK)
        going = following < end
        here, end = following[going], end[going]
        if len(here) == 0:
            break
        chosen.append(here)
    return np.sort(np.concatenate(chosen))


def _next(here: Ints, end: Ints, when: Floats, wanted: Floats) -> Ints:
    """For each patient the first of the places after `here`, before `end`, at or past a time."""
    low, high = here + 1, end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        open_ = low < high
        early = open_ & (when[np.minimum(middle, len(when) - 1)] < wanted)
        low, high = np.where(early, middle + 1, low), np.where(open_ & ~early, middle, high)
    return np.asarray(low)


def _merged(rows: Rows, slots: _Slots, schema: Schema) -> Floats:
    """Return one row a slot; not finite where nothing was observed."""
    start, taken = slots.start, slots.taken
    slot = slots.slot[taken]
    if len(slot) == len(start):
        return rows.values[start]  # nothing to merge
    values, time = rows.values[taken], rows.time[taken]
    alone = np.bincount(slot, minlength=len(start))[slot] == 1
    merged = np.full((len(start), values.shape[1]), np.nan)
    merged[slot[alone]] = values[alone]
    values, time, slot = values[~alone], time[~alone], slot[~alone]
    for v, variable in enumerate(schema.variables):
        if not variable.static:
            known = np.isfinite(values[:, v])
            rule = _rule(variable.aggregate or schema.slot_rule.aggregate, variable.kind)
            _write(merged[:, v], values[known, v], slot[known], time[known], rule)
    return merged


def _rule(wanted: Aggregate, kind: str) -> Aggregate:
    """A mean is no level, and unordered levels have no middle: the last is taken."""
    if kind == "nominal":
        return "last"
    return "median" if wanted == "mean" and kind != "continuous" else wanted


def _write(merged: Floats, values: Floats, slot: Ints, time: Floats, rule: Aggregate) -> None:
    """Write one value into each slot that has any. Of several last ones the largest is taken."""
    order = np.lexsort((values, time, slot) if rule == "last" else (values, slot))
    values, slot = values[order], slot[order]
    found, begin, number = np.unique(slot, return_index=True, return_counts=True)
    match rule:
        case "mean":
            merged[found] = np.add.reduceat(values, begin) / number if len(found) else 0.0
        case "median":
            merged[found] = values[begin + (number - 1) // 2]
        case "min":
            merged[found] = values[begin]
        case "max" | "last":
            merged[found] = values[begin + number - 1]
