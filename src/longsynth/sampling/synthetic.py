"""Synthetic: generated trajectories, their population weights and the bundle they came from."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Synthetic:
    values: NDArray[np.float64]  # (n, T, V); meaningless where not observed
    observed: NDArray[np.bool_]  # (n, T, V)
    gaps: NDArray[np.float64]  # (n, T), hours
    length: NDArray[np.int64]  # (n,)
    group: NDArray[np.int64]  # (n,)
    event: NDArray[np.int64]  # (n,)
    site: NDArray[np.int64]  # (n,)
    weight: NDArray[np.float64]  # w (n,)
    fingerprint: str

    @property
    def patients(self) -> int:
        return len(self.length)

    def __repr__(self) -> str:  # no value: a baseline without privacy repeats real ones
        patients, slots, variables = self.values.shape
        return f"Synthetic({patients:,} patients, {slots} slots, {variables} variables)"


def joined(parts: Sequence[Synthetic]) -> Synthetic:
    """Return chunks of one sample as one."""
    arrays = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Synthetic)
        if field.name != "fingerprint"
    }
    return Synthetic(**arrays, fingerprint=parts[0].fingerprint)
