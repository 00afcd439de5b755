"""From a record to bounded rows. `record` and `scaling` are public maps; `rows` sees patients."""

from longsynth.encoding.record import one_hot
from longsynth.encoding.rows import Encoded, Encoder, clip, on_grid
from longsynth.encoding.scaling import grid_of, value_radius_squared

__all__ = [
    "Encoded",
    "Encoder",
    "clip",
    "grid_of",
    "on_grid",
    "one_hot",
    "value_radius_squared",
]
