"""Slots: a patient's rows in time become the first T slots, by the schema's public rule.

A slot opens at a time at which an anchor variable was measured, and takes every row until the next
slot opens, at least `merge` hours later. Rows before the first slot belong to the first slot. Each
variable then gets one value per slot, by its aggregate, whatever the order of the rows; a slot has
all codes of its rows. The gap of a slot is the time since the previous slot; for the first slot,
the time since zero.
"""

from dataclasses import dataclass, field

import numpy as np

from longsynth.reading.records import Cohort
from longsynth.schema.conditions import constraint
from longsynth.schema.constraints import violations
from longsynth.schema.record import packed_codes
from longsynth.schema.schema import Schema, Visits, code_offsets
from longsynth.schema.variable import Aggregate
from longsynth.system.arrays import Bools, Bytes, Floats, Ints, sizes_only

SLACK = 1e-9  # hours: 20 and 80 minutes lie an hour apart, whatever their binary digits say
COUNTED = (
    "rows_past_the_horizon",
    "rows_of_patients_without_an_anchor",
    "rows_past_the_last_slot",
    "rows_merged_into_the_slot_of_another",
    "slots_in_use",
)


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows of n patients, sorted by patient and time, and what is known of each patient."""

    owner: Ints  # (R,), ascending: the position of the row's patient
    time: Floats  # (R,), hours; not finite: no row
    values: Floats  # (R, V); not finite: not observed
    labels: Ints  # (n, 3): site, group, event
    static: Floats  # (n, V); only static variables count
    # (R, lists): the position of a code in its list; not finite: none
    codes: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    __repr__ = sizes_only

    @property
    def patients(self) -> int:
        return len(self.labels)


def placed(rows: Grouped, schema: Schema) -> "Placed":
    """Find the slot of every row. With absolute times, a patient's first row is time zero."""
    with np.errstate(all="ignore"):  # times far apart may overflow
        slots = None if _is_full(rows, schema) else _slotted(rows, schema)
    return Placed(rows, slots, schema)


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows and their slots."""

    rows: Grouped
    slots: "_Slots | None"  # None: every patient has one row per slot
    schema: Schema

    __repr__ = sizes_only

    @property
    def people(self) -> int:
        """How many patients have a row."""
        owner = self.rows.owner
        if self.slots is None:
            return self.rows.patients
        return int(np.count_nonzero(owner[1:] != owner[:-1])) + bool(len(owner))

    def cohort(self) -> Cohort:
        """Return one record per patient."""
        with np.errstate(all="ignore"):  # see above; `nan_to_num` bounds the gap
            if self.slots is None:
                return _as_it_stands(self.rows, self.schema)
            return _packed(self.rows, self.slots, self.schema)

    def counts(self) -> dict[str, int]:
        """Count what becomes of the rows that have a time. Each row is in one count. Raw facts."""
        slots = self.slots
        if slots is None:
            nothing = dict.fromkeys(COUNTED, 0) | {"slots_in_use": len(self.rows.owner)}
            return nothing | self._violations()
        kept = slots.position < self.schema.slots
        taken, stay = int(slots.taken.sum()), int(kept[slots.slot[slots.taken]].sum())
        counts = (
            int((np.isfinite(self.rows.time) & ~slots.usable).sum()),
            int(slots.usable.sum()) - taken,
            taken - stay,
            stay - int(kept.sum()),
            int(kept.sum()),
        )
        return dict(zip(COUNTED, counts, strict=True)) | self._violations()

    def _violations(self) -> dict[str, int]:
        """For each constraint: slots, or patients, that violate it, and of how many it asks."""
        if not self.schema.rules:
            return {}
        cohort = self.cohort()
        number: dict[str, int] = {}
        for text in self.schema.rules:
            parts = violations(constraint(text, self.schema), cohort, self.schema)
            names = violation_counts(text)
            number |= {n: int(part.sum()) for n, part in zip(names, parts, strict=True)}
        return number


def violation_counts(text: str) -> tuple[str, str]:
    """The names of both counts of a constraint."""
    return f"violates: {text}", f"can violate: {text}"


@dataclass(frozen=True, slots=True)
class _Slots:
    """Where the slots of some patients open, and which slot takes each row."""

    zero: Floats  # (n,), each patient's time zero
    usable: Bools  # (R,): the row has a time that is not past the horizon
    taken: Bools  # (R,): usable, and its patient has a slot
    slot: Ints  # (R,), the slot of each taken row
    start: Ints  # (S,), the row at which each slot opens
    patient: Ints  # (S,), from 0 on
    position: Ints  # (S,), among its patient's slots

    __repr__ = sizes_only


def _slotted(rows: Grouped, schema: Schema) -> _Slots:
    owner = rows.owner
    zero = _zero(rows) if schema.time.unit == "timestamp" else np.zeros(rows.patients)
    usable = np.isfinite(rows.time)
    if schema.slot_rule.horizon is not None:
        usable &= rows.time - zero[owner] <= schema.slot_rule.horizon + SLACK

    if schema.visits is not None:
        return _at_visits(rows, zero, usable, schema.visits)
    start = _openings(rows, usable, schema)
    every = len(start) == len(owner)  # each row is a slot
    patient = owner if every else owner[start]
    number = np.bincount(patient, minlength=rows.patients)  # slots of each patient
    before = np.cumsum(number) - number
    position = np.arange(len(start)) - before[patient]
    if every:
        return _Slots(zero, usable, usable, start, start, patient, position)
    opened = np.zeros(len(owner), np.int64)
    opened[start] = 1
    slot = np.maximum(np.cumsum(opened) - 1, before[owner])  # early rows: the first slot
    taken = usable & (number[owner] > 0)
    return _Slots(zero, usable, taken, slot, start, patient, position)


def _at_visits(rows: Grouped, zero: Floats, usable: Bools, visits: Visits) -> _Slots:
    """A row belongs to the planned visit that is nearest in time."""
    middles = (visits.hours[1:] + visits.hours[:-1]) / 2
    visit = np.searchsorted(middles, rows.time - zero[rows.owner])
    some = np.flatnonzero(usable)
    owner, at = rows.owner[some], visit[some]
    opens = np.ones(len(some), np.bool_)
    opens[1:] = (owner[1:] != owner[:-1]) | (at[1:] != at[:-1])
    slot = np.zeros(len(rows.owner), np.int64)
    slot[some] = np.cumsum(opens) - 1
    start = some[opens]
    return _Slots(zero, usable, usable, slot, start, rows.owner[start], visit[start])


def _zero(rows: Grouped) -> Floats:
    """(n,): the time of each patient's first row."""
    number = np.bincount(rows.owner, minlength=rows.patients)
    first = np.cumsum(number) - number
    zero = np.full(rows.patients, np.nan)
    zero[number > 0] = rows.time[first[number > 0]]
    return zero


def _is_full(rows: Grouped, schema: Schema) -> bool:
    """Whether every patient has exactly one row per slot: then nothing has to be moved."""
    rule, shape = schema.slot_rule, (rows.patients, schema.slots)
    if schema.visits is not None:
        return False
    if rule.merge or rule.anchors or rule.horizon is not None or len(rows.owner) != np.prod(shape):
        return False
    owner, time = rows.owner.reshape(shape), rows.time.reshape(shape)
    if not (
        (owner[:, 0] == np.arange(rows.patients)).all()
        and (owner[:, -1] == owner[:, 0]).all()
        and np.isfinite(time[:, [0, -1]]).all()  # and so are the ascending ones between
    ):
        return False
    later = np.ones(len(rows.owner), np.bool_)
    np.greater(rows.time[1:], rows.time[:-1], out=later[1:])  # numpy is slow row by row
    later[:: schema.slots] = True  # the first of each patient
    return bool(later.all())


def _as_it_stands(rows: Grouped, schema: Schema) -> Cohort:
    time = rows.time.reshape(rows.patients, schema.slots)
    zero = time[:, 0] if schema.time.unit == "timestamp" else 0.0
    gaps = np.empty_like(time)
    np.subtract(rows.time[1:], rows.time[:-1], out=gaps.reshape(-1)[1:])
    np.subtract(time[:, 0], zero, out=gaps[:, 0])
    if not np.isfinite(gaps).all():
        np.nan_to_num(gaps, copy=False)
    values = rows.values.reshape(*time.shape, -1)
    row, code = _listed(rows, schema)
    codes = packed_codes(time.shape, len(schema.code_names), *np.divmod(row, schema.slots), code)
    return _cohort(values, gaps, np.full(rows.patients, schema.slots), rows, schema, codes)


def _packed(rows: Grouped, slots: _Slots, schema: Schema) -> Cohort:
    opens, patients, variables = rows.time[slots.start], rows.patients, rows.values.shape[1]
    gaps = np.diff(opens, prepend=0.0)
    leading = slots.position == 0
    gaps[leading] = (opens - slots.zero[slots.patient])[leading]
    gaps = np.nan_to_num(gaps, copy=False)
    merged = _merged(rows, slots, schema)

    place, number = slots.patient * schema.slots + slots.position, slots.patient
    keep = slots.position < schema.slots
    if not keep.all():
        place, number, gaps, merged = place[keep], number[keep], gaps[keep], merged[keep]
    shape = (patients, schema.slots, variables)
    packed, packed_gaps = np.full(shape, np.nan), np.zeros(shape[:2])
    packed_gaps.reshape(-1)[place] = gaps
    packed.reshape(-1, variables)[place] = merged
    length = np.bincount(number, minlength=patients)
    if schema.visits is not None:  # a visit that did not take place is an empty slot, on time
        times = np.tile(schema.visits.hours, (patients, 1))
        times.reshape(-1)[place] = (opens - slots.zero[slots.patient])[keep]
        length = np.zeros(patients, np.int64)
        np.maximum.at(length, number, slots.position[keep] + 1)
        packed_gaps = np.nan_to_num(np.diff(times, axis=1, prepend=0.0))
        packed_gaps[np.arange(schema.slots) >= length[:, None]] = 0.0
    codes = _packed_codes(rows, slots, schema)
    return _cohort(packed, packed_gaps, length, rows, schema, codes)


def _packed_codes(rows: Grouped, slots: _Slots, schema: Schema) -> Bytes:
    """A slot has every code of its rows."""
    row, code = _listed(rows, schema)
    row, code = row[slots.taken[row]], code[slots.taken[row]]
    slot = slots.slot[row]
    kept = slots.position[slot] < schema.slots
    patient, position = slots.patient[slot[kept]], slots.position[slot[kept]]
    shape = rows.patients, schema.slots
    return packed_codes(shape, len(schema.code_names), patient, position, code[kept])


def _listed(rows: Grouped, schema: Schema) -> tuple[Ints, Ints]:
    """Return the rows that have a code, and which of all codes it is."""
    row, column = np.nonzero(np.isfinite(rows.codes))
    return row, rows.codes[row, column].astype(np.int64) + code_offsets(schema)[column]


def _cohort(
    packed: Floats, gaps: Floats, length: Ints, rows: Grouped, schema: Schema, codes: Bytes
) -> Cohort:
    static = np.array(schema.layout.static)
    if static.any():
        packed = packed.copy()  # it may share memory with the rows
        packed[:, :, static] = np.nan
        packed[:, 0, static] = rows.static[:, static]
    site, group, event = rows.labels.T
    return Cohort(packed, np.isfinite(packed), gaps, length, group, event, site, codes)


def _openings(rows: Grouped, usable: Bools, schema: Schema) -> Ints:
    """The rows at which slots open: each patient's first candidate, then always the next that is at
    least `merge` hours later, and later at all. Rows of one time open one slot."""
    owner, later = rows.owner, np.ones(len(rows.owner), np.bool_)
    np.logical_or(owner[1:] != owner[:-1], rows.time[1:] > rows.time[:-1], out=later[1:])
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
    """Which of the ascending times of each patient open a slot. One more than is kept: it ends the
    last slot."""
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
    """For each patient, the first place after `here` and before `end` at or past a time."""
    low, high = here + 1, end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        open_ = low < high
        early = open_ & (when[np.minimum(middle, len(when) - 1)] < wanted)
        low, high = np.where(early, middle + 1, low), np.where(open_ & ~early, middle, high)
    return np.asarray(low)


def _merged(rows: Grouped, slots: _Slots, schema: Schema) -> Floats:
    """Return one row per slot; not finite where nothing was observed."""
    start, taken = slots.start, slots.taken
    if len(start) == len(rows.owner):
        return rows.values  # every row is a slot
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
            rule = _aggregate(variable.aggregate or schema.slot_rule.aggregate, variable.kind)
            _write_merged(merged[:, v], values[known, v], slot[known], time[known], rule)
    return merged


def _aggregate(wanted: Aggregate, kind: str) -> Aggregate:
    """A mean is not a level, and unordered levels have no median: the last value counts."""
    if kind == "nominal":
        return "last"
    return "median" if wanted == "mean" and kind != "continuous" else wanted


def _write_merged(
    merged: Floats, values: Floats, slot: Ints, time: Floats, rule: Aggregate
) -> None:
    """Write one value into each slot that has any. Of several last values, the largest counts."""
    order = np.lexsort((values, time, slot) if rule == "last" else (values, slot))
    values, slot = values[order], slot[order]
    filled, begin, number = np.unique(slot, return_index=True, return_counts=True)
    match rule:
        case "mean":
            merged[filled] = np.add.reduceat(values, begin) / number if len(filled) else 0.0
        case "median":
            merged[filled] = values[begin + (number - 1) // 2]
        case "min":
            merged[filled] = values[begin]
        case "max" | "last":
            merged[filled] = values[begin + number - 1]
