"""What a record shows, by the schema alone: strata, lengths, cells in use and observed cells.

Both sides use it. Real patients are encoded with it, and so are the simulated patients of a model
that is calibrated. It holds no patients and reads none.
"""

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema, stratum_of
from longsynth.system.arrays import Bools, Ints


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


def one_hot(cell: Ints, cells: int) -> NDArray[np.int8]:
    """(n, cells): 1 in each patient's cell."""
    return np.asarray(cell[:, None] == np.arange(cells)).view(np.int8)
