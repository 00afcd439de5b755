"""Records an attacker would try: values at their bounds, masks and gaps at their extremes.

They depend on the schema alone, never on a patient.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, expm1, log1p

import numpy as np
from numpy.random import Generator

from longsynth.encoding.scaling import Scaling
from longsynth.reading.records import Cohort
from longsynth.schema.record import packed_codes, unpacked_codes
from longsynth.schema.schema import Schema, code_offsets
from longsynth.system.arrays import Bools, Bytes, Floats, Ints

MOST_STRATA = 64  # tried one by one; a schema can have two thousand
CODES_CHANGED = 0.3  # of the changes, where there are codes
LOW, MIDDLE, HIGH, MISSING = -1, 0, 1, 2  # what a cell of a pattern can be


def levels(schema: Schema) -> Floats:
    """(3, V): the values that encode as near as possible to -1, 0 and 1; of levels in no order, the
    first, a middle one and the last."""
    low, high = np.array([variable.bounds for variable in schema.variables]).T
    middle = Scaling(schema).from_unit(np.zeros(len(low)))
    return np.stack([low, middle, high])


def waits(schema: Schema) -> tuple[float, float, float]:
    """Gaps that encode as -1, 0 and 1."""
    return 0.0, expm1(log1p(schema.max_gap) / 2), schema.max_gap


def record(
    schema: Schema,
    pattern: Ints,
    gaps: float | Floats,
    stratum: int,
    length: int | None = None,
    given: Bools | None = None,
) -> Cohort:
    """One patient from a pattern (T, V) of LOW, MIDDLE, HIGH and MISSING, with codes (T, C)."""
    site, group, event = schema.strata[stratum]
    observed = pattern != MISSING
    row = np.where(observed, pattern, MIDDLE) + 1
    values = np.take_along_axis(levels(schema), row, axis=0)
    return Cohort(
        values=np.where(observed, values, np.nan)[None],
        observed=observed[None],
        gaps=np.broadcast_to(np.asarray(gaps, float), (1, schema.slots)).copy(),
        length=np.array([schema.slots if length is None else length]),
        group=np.array([group]),
        event=np.array([event]),
        site=np.array([site]),
        codes=_packed(schema, np.zeros((schema.slots, 0), bool) if given is None else given),
    )


def _packed(schema: Schema, given: Bools) -> Bytes:
    slot, code = np.nonzero(given)
    return packed_codes((1, schema.slots), len(schema.code_names), 0 * slot, slot, code)


def ordinary(schema: Schema) -> Cohort:
    return record(schema, np.zeros(_shape(schema), np.int64), waits(schema)[1], 0)


def bystanders(schema: Schema) -> Cohort:
    """Two patients who stay: an ordinary one, and one without any observation."""
    nothing = np.full(_shape(schema), MISSING)
    last = len(schema.strata) - 1
    return Cohort.joined([ordinary(schema), record(schema, nothing, 0.0, last, length=0)])


def structured(schema: Schema) -> Iterator[Cohort]:
    """Yield the records from which pairs are formed."""
    strata = chosen_strata(schema)
    for pattern in _patterns(schema):
        for gaps in waits(schema):
            yield record(schema, pattern, gaps, strata[-1])
    high = np.full(_shape(schema), HIGH)
    for stratum in strata:
        yield record(schema, high, 0.0, stratum)
    for length in (0, 1):
        yield record(schema, high, waits(schema)[2], strata[0], length)
    yield from _nasty(schema)
    for given in _given(schema):
        for stratum in (strata[0], strata[-1]):
            yield record(schema, high, 0.0, stratum, given=given)


def _given(schema: Schema) -> Iterator[Bools]:
    """Disjoint codes, as many as count and all that there are; once, always and now and then."""
    if not schema.codes:
        return
    code, before = np.arange(len(schema.code_names)), code_offsets(schema)
    caps = np.repeat([c.cap for c in schema.codes], np.diff(before))
    first, last = np.repeat(before[:-1], np.diff(before)), np.repeat(before[1:], np.diff(before))
    slot = np.arange(schema.slots)[:, None]
    for some in (code < first + caps, code >= last - caps, code >= 0):
        for when in (slot == 0, slot >= 0, slot == schema.slots - 1, slot % 2 == 0):
            yield some & when


def chosen_strata(schema: Schema) -> list[int]:
    """All strata, or as many as can be tried, the first and the last among them."""
    strata = len(schema.strata)
    return sorted({int(s) for s in np.linspace(0, strata - 1, min(strata, MOST_STRATA))})


def changed(parent: Cohort, schema: Schema, rng: Generator) -> Cohort:
    """Return a copy with one random change: some cells, some gaps, the length, the stratum or some
    codes."""
    if schema.codes and rng.random() < CODES_CHANGED:
        slots, codes = (np.sort(rng.integers(0, n + 1, 2)) for n in (schema.slots, _codes(schema)))
        given = unpacked_codes(parent.codes[0], _codes(schema))
        given[slots[0] : slots[1] + 1, codes[0] : codes[1] + 1] = rng.random() < 0.5
        return replace(parent, codes=_packed(schema, given))
    fields = {name: getattr(parent, name).copy() for name in Cohort.__slots__}
    match rng.choice(["cells", "gaps", "length", "stratum"], p=[0.6, 0.2, 0.05, 0.15]):
        case "cells":
            area, content = _area(schema, rng), int(rng.integers(LOW, MISSING + 1))
            known = np.concatenate([levels(schema), np.full((1, len(schema.variables)), np.nan)])
            fields["observed"][0][area] = content != MISSING
            fields["values"][0][area] = np.broadcast_to(known[content + 1], area.shape)[area]
        case "gaps":
            first, last = np.sort(rng.integers(0, schema.slots + 1, 2))
            fields["gaps"][0, first : max(last, first + 1)] = rng.choice(waits(schema))
        case "length":
            fields["length"][0] = rng.integers(0, schema.slots + 1)
        case _:
            return in_stratum(parent, schema, int(rng.integers(len(schema.strata))))
    return Cohort(**fields)


def _codes(schema: Schema) -> int:
    return len(schema.code_names)


def in_stratum(parent: Cohort, schema: Schema, stratum: int) -> Cohort:
    site, group, event = (np.array([label]) for label in schema.strata[stratum])
    return replace(parent, site=site, group=group, event=event)


def _shape(schema: Schema) -> tuple[int, int]:
    return schema.slots, len(schema.variables)


def _patterns(schema: Schema) -> Iterator[Ints]:
    """Opposite, orthogonal and disjoint values; all missing against all observed."""
    shape, number = _shape(schema), schema.layout.cells
    cells = (np.cumsum(schema.layout.exists) - 1).reshape(shape)  # numbers those that a record has
    for content in (LOW, MIDDLE, HIGH, MISSING):
        yield np.full(shape, content)
    # As many cells at a bound as reach the clip radius, from either end, and what they leave: such
    # records have orthogonal values and, where the rest is missing, opposite masks.
    reach = min(ceil(schema.resolved_constants.clip_radius**2), number)
    first, last = cells < reach, cells >= number - reach
    for rest in (MIDDLE, MISSING):
        yield np.where(first, HIGH, rest)
        yield np.where(last, HIGH, rest)
    yield np.where(first, MISSING, HIGH)
    # Half of those cells opposite: values at an obtuse angle, which a joint release feels most.
    yield np.where(cells < reach // 2, MISSING, np.where(first, LOW, HIGH))
    yield np.where(cells < number // 2, HIGH, LOW)  # orthogonal to all HIGH
    slots = np.broadcast_to(np.arange(shape[0])[:, None], shape)
    yield np.where(slots % 2 == 0, HIGH, LOW)  # up and down from slot to slot


def _nasty(schema: Schema) -> Iterator[Cohort]:
    """Records that no hospital wrote: what is outside every bound must be clipped."""
    shape, strata = _shape(schema), len(schema.strata)
    for number in (1e308, -1e308, np.inf, np.nan):
        extreme = record(schema, np.full(shape, HIGH), number, strata - 1)
        yield replace(extreme, values=np.full((1, *shape), number))
    beyond = record(schema, np.full(shape, LOW), -1e308, 0)
    for label in (-1, strata + 7):
        yield replace(
            beyond,
            group=np.array([label]),
            event=np.array([label]),
            site=np.array([label]),
            length=np.array([label]),
        )


def _area(schema: Schema, rng: Generator) -> Bools:
    """(T, V): one cell, one slot, one variable, or a rectangle."""
    (top, bottom), (left, right) = (np.sort(rng.integers(0, n + 1, 2)) for n in _shape(schema))
    slot, variable = (int(rng.integers(n)) for n in _shape(schema))
    area = np.zeros(_shape(schema), bool)
    match rng.integers(4):
        case 0:
            area[slot, variable] = True
        case 1:
            area[slot] = True
        case 2:
            area[:, variable] = True
        case _:
            area[top : max(bottom, top + 1), left : max(right, left + 1)] = True
    return area
