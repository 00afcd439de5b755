"""Trajectories as one row an observation, sorted by patient, time and variable."""

from dataclasses import dataclass

import numpy as np

from longsynth.schema.schema import Schema
from longsynth.schema.trajectories import Trajectories
from longsynth.system.arrays import Floats, Ints
from longsynth.writing.writer import rising


@dataclass(frozen=True, slots=True)
class LongRows:
    patient: Ints  # (R,), position in the chunk
    time: Floats  # (R,), hours since the start of the record
    variable: Ints  # (R,), position in the schema
    value: Floats  # (R,); of levels, the position


def long_rows(chunk: Trajectories, schema: Schema, smallest: float = 0.0) -> LongRows:
    """Return what was observed over time. Two slots lie `smallest` hours apart at the least, and
    the next number at the very least: equal times would be read back as one slot."""
    used = np.arange(schema.slots) < chunk.length[:, None]  # (n, T)
    times = rising(np.cumsum(np.where(used, chunk.gaps, 0.0), axis=1), smallest)
    over_time = ~np.array(schema.layout.static)
    patient, slot, variable = np.nonzero(chunk.observed & used[:, :, None] & over_time)
    return LongRows(patient, times[patient, slot], variable, chunk.values[patient, slot, variable])
