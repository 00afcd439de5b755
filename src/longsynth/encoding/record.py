"""What a record shows, by the schema alone: strata, lengths, cells in use and observed cells.

Both sides use it. Real patients are encoded with it, and so are the simulated patients of a model
that is calibrated. It holds no patients and reads none.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.record import Trajectories, unpacked_codes
from longsynth.schema.schema import Schema, code_offsets, stratum_of
from longsynth.system.arrays import Bools, Floats, Ints

STARTS = 3  # in the first slot, in the first half of the others, in the second
COURSES = 4  # once, some slots in a row, until the end, with interruptions
ONCE, RUN, TO_THE_END, ON_AND_OFF = range(COURSES)
LENGTHS = 3  # short, middle and long records, by thirds of the slots


def strata(batch: Trajectories, schema: Schema) -> Ints:
    """(n,): each patient's stratum of site, group and event. A label out of range counts as the
    first level."""
    return stratum_of((batch.site, batch.group, batch.event), schema)


def lengths(batch: Trajectories, schema: Schema) -> Ints:
    """(n,): slots in use, from none to all."""
    return np.clip(batch.length, 0, schema.slots)


def in_use(batch: Trajectories, schema: Schema) -> Bools:
    """(n, T, V): the cells that a patient has: the slots up to the length, and static variables.

    Slots after the end are padding, and padding is not missing data. If the schema says that all
    slots are used, then a shorter record is one with missing values.
    """
    if schema.length == "variable":
        return schema.layout.up_to(batch.length)
    return schema.layout.up_to(np.full(batch.patients, schema.slots))


def observed_cells(batch: Trajectories, schema: Schema) -> Bools:
    """(n, T, V): the cells that count as observed: recorded, finite, and not padding."""
    observed = np.isfinite(batch.values)
    observed &= batch.observed
    if any(schema.layout.static) or some_short(batch, schema):
        observed &= schema.layout.up_to(batch.length)
    return observed


def some_short(batch: Trajectories, schema: Schema) -> bool:
    return bool((batch.length < schema.slots).any())


def counted_codes(batch: Trajectories, schema: Schema) -> Bools:
    """(n, T, C): the codes that count. Of each list, a patient has at most `cap` different codes:
    those given first, and of several at once those that come first in the list."""
    given = unpacked_codes(batch.codes, len(schema.code_names))
    given &= (np.arange(schema.slots) < lengths(batch, schema)[:, None])[:, :, None]
    ever = np.asarray(given.any(axis=1))
    given &= within_cap(ever, given.argmax(axis=1), schema)[:, None]
    return given


def within_cap(ever: Bools, rank: Ints | Floats, schema: Schema) -> Bools:
    """(n, C): the codes that a patient ever has, without those beyond the cap of each list. Codes
    with a low rank stay, and of equal ones the first."""
    kept = ever.copy()
    for listed, (start, end) in zip(schema.codes, pairwise(code_offsets(schema)), strict=True):
        many = np.flatnonzero(ever[:, start:end].sum(axis=1) > listed.cap)
        if len(many):
            order = np.where(ever[many, start:end], rank[many, start:end], np.inf)
            place = np.argsort(np.argsort(order, axis=1, kind="stable"), axis=1)
            kept[many, start:end] &= place < listed.cap
    return kept


def code_labels(stratum: Ints, length: Ints, schema: Schema) -> NDArray[np.int8]:
    """(n, labels): a block for each label that has levels, and one for the length of the record; 1
    at the patient's level. Without any, one block for everyone."""
    labels = zip(schema.strata[stratum].T, schema.label_sizes, strict=True)
    blocks = [one_hot(label, levels) for label, levels in labels if levels > 1]
    if schema.length == "variable" and schema.slots >= LENGTHS:
        third = np.minimum(length * LENGTHS // (schema.slots + 1), LENGTHS - 1)
        blocks.append(one_hot(third, LENGTHS))
    return np.concatenate(blocks or [np.ones((len(stratum), 1), np.int8)], axis=1)


def label_blocks(schema: Schema) -> list[int]:
    """The sizes of the blocks of `code_labels`."""
    sizes = [levels for levels in schema.label_sizes if levels > 1]
    if schema.length == "variable" and schema.slots >= LENGTHS:
        sizes.append(LENGTHS)
    return sizes or [1]


def course_of(given: Bools, length: Ints) -> tuple[Ints, Ints]:
    """Return how codes start and go on, from their slots (n, T) in records of these lengths; -1
    where the record is too short to tell."""
    slots = np.arange(given.shape[1])
    start, last = given.argmax(axis=1), (given * slots).max(axis=1, initial=0)
    started = np.where(start == 0, 0, np.where(start <= (length - 1) // 2, 1, 2))
    in_a_row = given.sum(axis=1) == last - start + 1
    whole = np.where(last == length - 1, TO_THE_END, RUN)
    course = np.where(last == start, ONCE, np.where(in_a_row, whole, ON_AND_OFF))
    return np.where(length > 1, started, -1), np.where(start < length - 1, course, -1)


def one_hot(cell: Ints, cells: int) -> NDArray[np.int8]:
    """(n, cells): 1 in each patient's cell."""
    return np.asarray(cell[:, None] == np.arange(cells)).view(np.int8)
