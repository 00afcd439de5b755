"""What a record shows, by the schema alone: strata, lengths, cells in use and observed cells.

Both sides use it. Real patients are encoded with it, and so are the simulated patients of a model
that is calibrated. It holds no patients and reads none.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.schema import Schema, stratum_of
from longsynth.system.arrays import Bools, Floats, Ints


class Records(Protocol):
    """The arrays that real and synthetic patients have in common."""

    @property
    def values(self) -> Floats: ...  # (n, T, V)
    @property
    def observed(self) -> Bools: ...  # (n, T, V)
    @property
    def gaps(self) -> Floats: ...  # (n, T), hours
    @property
    def length(self) -> Ints: ...  # (n,)
    @property
    def group(self) -> Ints: ...
    @property
    def event(self) -> Ints: ...
    @property
    def site(self) -> Ints: ...
    @property
    def patients(self) -> int: ...


def strata(batch: Records, schema: Schema) -> Ints:
    """(n,): each patient's stratum of site, group and event. A label out of range counts as the
    first level."""
    labels = (batch.site, len(schema.sites)), (batch.group, 2), (batch.event, 2)
    return stratum_of(*(np.where((x >= 0) & (x < levels), x, 0) for x, levels in labels))


def lengths(batch: Records, schema: Schema) -> Ints:
    """(n,): slots in use, from none to all."""
    return np.clip(batch.length, 0, schema.slots)


def in_use(batch: Records, schema: Schema) -> Bools:
    """(n, T, V): the cells that a patient has: the slots up to the length, and static variables.

    Slots after the end are padding, and padding is not missing data. If the schema says that all
    slots are used, then a shorter record is one with missing values.
    """
    if schema.length == "variable":
        return schema.layout.up_to(batch.length)
    return schema.layout.up_to(np.full(batch.patients, schema.slots))


def observed_cells(batch: Records, schema: Schema) -> Bools:
    """(n, T, V): the cells that count as observed: recorded, finite, and not padding."""
    observed = np.isfinite(batch.values)
    observed &= batch.observed
    if any(schema.layout.static) or some_short(batch, schema):
        observed &= schema.layout.up_to(batch.length)
    return observed


def some_short(batch: Records, schema: Schema) -> bool:
    return bool((batch.length < schema.slots).any())


def one_hot(cell: Ints, cells: int) -> NDArray[np.int8]:
    """(n, cells): 1 in each patient's cell."""
    return np.asarray(cell[:, None] == np.arange(cells)).view(np.int8)
