"""Short names for arrays. Shapes stand in comments beside them. And how their holders are shown."""

from collections.abc import Sized
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]


def sizes_only(holder: Any) -> str:
    """A `__repr__` for what holds patients, or learned from them: the size of each field, and no
    value. Notebooks, logs and tracebacks show representations without being asked."""
    names = getattr(holder, "_fields", None) or [field.name for field in fields(holder)]
    sizes = (f"{name} {_size(getattr(holder, name))}" for name in names)
    return f"{type(holder).__name__}({', '.join(sizes)})"


def _size(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "×".join(map(str, value.shape)) or "1"
    return f"{len(value):,}" if isinstance(value, Sized) else type(value).__name__
