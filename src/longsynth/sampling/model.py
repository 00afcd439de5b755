"""Model: what sampling needs, built from a bundle alone."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.sampling.strata import Strata
from longsynth.schema.schema import Schema


class Drawn(Protocol):
    """A part that draws one array for a batch of courses: (n, T, V), (n, T) or (n,)."""

    def draw(self, course: Any, rng: Generator) -> NDArray[Any]: ...


class DrawnMasks(Protocol):
    """Draws what is observed (n, T, V), never past a patient's length."""

    def draw(self, course: Any, length: NDArray[np.int64], rng: Generator) -> NDArray[np.bool_]: ...


class Course(Protocol):
    """What the parts of one patient share, given the stratum: by default the stratum itself."""

    def __call__(self, stratum: NDArray[np.int64], rng: Generator) -> Any: ...


def by_stratum(stratum: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    return stratum


@dataclass(frozen=True, slots=True)
class Model:
    schema: Schema
    strata: Strata
    lengths: Drawn  # slots in use
    values: Drawn  # clinical units
    masks: DrawnMasks  # True where observed
    gaps: Drawn  # hours
    fingerprint: str  # of the bundle it was built from
    course: Course = by_stratum
