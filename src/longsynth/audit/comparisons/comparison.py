"""Comparison: what a fidelity metric is."""

from collections.abc import Callable

from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

# The weights of the real and of the synthetic patients become named values. A bootstrap replicate
# is another pair of weights, so sorting and counting happen once, when the measure is prepared.
Measure = Callable[[Floats, Floats], dict[str, float]]
Comparison = Callable[[Schema, Trajectories, Trajectories], Measure]
