"""Slots: a patient's rows in time become the first T slots, by the schema's public rule.

A slot opens with a row in which an anchor variable was measured, and takes in every row until the
next slot opens, which is `merge` hours later at the earliest; rows before the first slot belong to
it. Each variable is then one value, by its aggregate, whatever the order of the rows. A slot's gap
is the time since the slot before it; the first slot's is the time since zero.
"""

from dataclasses import dataclass

import numpy as np

from longsynth.records import Bools, Cohort, Floats, Ints
from longsynth.schema import Aggregate, Schema


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of some patients, sorted by patient and time. A patient without rows has one with
    no time."""

    patient: Ints  # (R,), rising
    time: Floats  # (R,), hours; NaN: the patient has no row
    values: Floats  # (R, V); not finite: not observed; static values repeat in every row
    labels: Ints  # (R, 3): site, group, event of the row's patient


def pack(rows: Rows, schema: Schema) -> Cohort:
    """Return one record a patient. With absolute times the first slot has no gap."""
    with np.errstate(all="ignore"):  # times far apart may overflow; `nan_to_num` bounds the gap
        return _packed(rows, schema)


def _packed(rows: Rows, schema: Schema) -> Cohort:
    first_row = np.flatnonzero(np.diff(rows.patient, prepend=rows.patient[0] - 1))
    owner = np.cumsum(np.diff(rows.patient, prepend=rows.patient[0]) != 0)  # (R,)
    absolute, n = schema.time.unit == "timestamp", len(first_row)
    static = np.array(schema.layout.static)

    zero = rows.time[first_row][owner] if absolute else 0.0
    horizon = schema.slot_rule.horizon
    usable = np.isfinite(rows.time)
    usable &= (rows.time - zero <= horizon) if horizon is not None else True
    opens = usable & _anchored(rows, schema)
    start = _opening(opens, rows.time, owner, schema)  # (slots in all,): rows

    slot_owner = owner[start]
    number = np.bincount(slot_owner, minlength=n)  # slots of each patient
    before = np.cumsum(number) - number
    position = np.arange(len(start)) - before[slot_owner]
    gaps = np.diff(rows.time[start], prepend=0.0)
    leading = position == 0
    gaps[leading] = 0.0 if absolute else rows.time[start][leading]

    belongs = np.searchsorted(start, np.arange(len(owner)), side="right") - 1
    belongs = np.maximum(belongs, before[owner])  # a row before the first slot
    taken = usable & (number[owner] > 0)
    slot_of_row = belongs[taken]
    alone = np.bincount(slot_of_row, minlength=len(start))[slot_of_row] == 1
    values, when = rows.values[taken], rows.time[taken]
    packed = np.full((n, schema.slots, len(static)), np.nan)
    packed_gaps = np.zeros((n, schema.slots))
    keep = position < schema.slots
    place = slot_owner[keep], position[keep]
    packed_gaps[place] = np.nan_to_num(gaps[keep])
    for v, variable in enumerate(schema.variables):
        if not static[v]:
            rule = _rule(variable.aggregate or schema.slot_rule.aggregate, variable.kind)
            merged = np.full(len(start), np.nan)
            merged[slot_of_row[alone]] = values[alone, v]  # most slots: nothing to merge
            _merge(merged, values[~alone, v], slot_of_row[~alone], when[~alone], rule)
            packed[(*place, v)] = np.where(np.isfinite(merged), merged, np.nan)[keep]
    packed[:, 0, static] = rows.values[first_row][:, static]
    site, group, event = rows.labels[first_row].T
    length = np.minimum(number, schema.slots)
    return Cohort(packed, np.isfinite(packed), packed_gaps, length, group, event, site)


def _anchored(rows: Rows, schema: Schema) -> Bools:
    names = [v.name for v in schema.variables]
    anchors = [names.index(name) for name in schema.slot_rule.anchors]
    if not anchors:
        return np.ones(len(rows.time), np.bool_)
    return np.asarray(np.isfinite(rows.values[:, anchors]).any(axis=1))


def _opening(opens: Bools, time: Floats, owner: Ints, schema: Schema) -> Ints:
    """The rows that open a slot: of each patient the first that may, and then always the next that
    is later by `merge` hours, and later at all. One slot more than is kept: it ends the last."""
    rows = np.flatnonzero(opens)
    patient, when = owner[rows], time[rows]
    fresh = np.diff(patient, prepend=-1) != 0
    later = fresh | (np.diff(when, prepend=np.nan) > 0)
    rows, patient, when = rows[later], patient[later], when[later]  # times of a patient differ
    if schema.slot_rule.merge == 0 or len(rows) == 0:
        return rows
    first = np.flatnonzero(np.diff(patient, prepend=-1))
    end = np.append(first[1:], len(rows))
    here, chosen = first, [first]
    for _ in range(schema.slots):
        following = _next(here, end, when, when[here] + schema.slot_rule.merge)
        going = following < end
        here, end = following[going], end[going]
        if len(here) == 0:
            break
        chosen.append(here)
    return np.asarray(rows[np.sort(np.concatenate(chosen))])


def _next(here: Ints, end: Ints, when: Floats, wanted: Floats) -> Ints:
    """For each patient the first of the places after `here`, before `end`, at or past a time."""
    low, high = here + 1, end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        early = (low < high) & (when[np.minimum(middle, len(when) - 1)] < wanted)
        low = np.where(early, middle + 1, low)
        high = np.where(early | (low >= high), high, middle)
    return np.asarray(low)


def _rule(wanted: Aggregate, kind: str) -> Aggregate:
    """A mean is no level, and unordered levels have no middle: the last is taken."""
    if kind == "nominal":
        return "last"
    return "median" if wanted == "mean" and kind != "continuous" else wanted


def _merge(merged: Floats, values: Floats, slot: Ints, time: Floats, rule: Aggregate) -> None:
    """Write one value a slot where anything was observed."""
    known = np.isfinite(values)
    if not known.any():
        return
    values, slot, time = values[known], slot[known], time[known]
    order = np.lexsort((values, time, slot) if rule == "last" else (values, slot))
    values, slot = values[order], slot[order]
    found, begin, number = np.unique(slot, return_index=True, return_counts=True)
    match rule:
        case "mean":
            merged[found] = np.add.reduceat(values, begin) / number
        case "median":
            merged[found] = values[begin + (number - 1) // 2]
        case "min":
            merged[found] = values[begin]
        case "max" | "last":
            merged[found] = values[begin + number - 1]
