"""Model: what sampling needs, built from a bundle alone; and Synthetic, what it generates."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.sampling.codes import Codes
from longsynth.sampling.strata import Strata
from longsynth.sampling.times import Times
from longsynth.schema.schema import Schema

if TYPE_CHECKING:
    from longsynth.sampling.points import Point
    from longsynth.sampling.where import Floors


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
    # (n, T, bytes), one bit for each code
    codes: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0, 0), np.uint8))

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.length):
            object.__setattr__(self, "codes", np.zeros((*self.gaps.shape, 0), np.uint8))

    @property
    def patients(self) -> int:
        return len(self.length)

    def take(self, places: NDArray[Any]) -> "Synthetic":
        """Return these patients alone."""
        names = (f.name for f in fields(self) if f.name != "fingerprint")
        arrays = {name: getattr(self, name)[places] for name in names}
        return replace(self, **arrays)

    def __repr__(self) -> str:  # no value: a baseline without privacy repeats real ones
        patients, slots, variables = self.values.shape
        return f"Synthetic({patients:,} patients, {slots} slots, {variables} variables)"


def joined(parts: Sequence[Synthetic]) -> Synthetic:
    """Return chunks of one sample as one."""
    arrays = {
        f.name: np.concatenate([getattr(part, f.name) for part in parts])
        for f in fields(Synthetic)
        if f.name != "fingerprint"
    }
    return Synthetic(**arrays, fingerprint=parts[0].fingerprint)


class Part(Protocol):
    """Generates one array for a batch of patients: (n, T, V), (n, T) or (n,)."""

    def draw(self, shared: Any, rng: Generator) -> NDArray[Any]: ...


class MaskPart(Protocol):
    """Generates which cells are observed (n, T, V), never past a patient's length."""

    def draw(self, shared: Any, length: NDArray[np.int64], rng: Generator) -> NDArray[np.bool_]: ...


class SharedDraw(Protocol):
    """Draws what the parts of a patient share, given the stratum: by default the stratum itself."""

    def __call__(self, stratum: NDArray[np.int64], rng: Generator) -> Any: ...


class LabelPart(Protocol):
    """Draws the event from the record, and returns the patients with weights to match."""

    def drawn(
        self, made: Synthetic, stratum: NDArray[np.int64], strata: Strata, rng: Generator
    ) -> Synthetic: ...


def by_stratum(stratum: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    return stratum


@dataclass(frozen=True, slots=True)
class Model:
    schema: Schema
    strata: Strata
    lengths: Part  # slots in use
    values: Part  # clinical units
    masks: MaskPart  # True where observed
    gaps: Part  # hours
    fingerprint: str  # of the bundle it was built from
    shared: SharedDraw = by_stratum
    labels: LabelPart | None = None  # None: the event is that of the stratum
    points: tuple["Point", ...] = ()  # that many readings have exactly
    times: tuple[Times, ...] = ()  # to event
    codes: Codes | None = None  # from public lists
    floors: "Floors | None" = None  # of protected combinations that are no strata

    def __repr__(self) -> str:  # no number: a baseline without privacy learns real ones
        return f"Model({self.schema.name!r}, {len(self.strata.mass)} strata)"
