"""The analytic score path: from high noise to N(μ̂, Σ̂) in K exact steps (eq:score, eq:transport)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.moments import Spectrum
from longsynth.system.arrays import Floats, sizes_only

Draws = NDArray[np.floating[Any]]


class Correction(Protocol):
    """A public operator between two steps of the path, for constraints or mixed types."""

    def __call__(self, z: Floats, mean: Floats, level: int) -> Floats:
        """Return the corrected states (n, D) after the step that arrives at `level`."""
        ...


class Start(Protocol):
    """Standard normal numbers (n, D) for patients of these strata, times a matrix (D, D), in any
    precision."""

    def __call__(self, stratum: NDArray[np.int64], times: Floats, rng: Generator) -> Draws: ...


def independent(stratum: NDArray[np.int64], times: Floats, rng: Generator) -> Draws:
    """In float32: more digits than a record has, and half the work to multiply."""
    draws = rng.standard_normal((len(stratum), len(times)), np.float32)
    return np.asarray(draws @ times.astype(draws.dtype))


def noise_levels(steps: int, cap: float) -> Floats:
    """Return σ_0 = 0 < σ_1 < … < σ_K, geometric up to twice the largest spread √κ."""
    return np.concatenate([[0.0], 2 * np.sqrt(cap) * np.geomspace(1e-3, 1.0, steps)])


@dataclass(frozen=True, slots=True)
class ScorePath:
    """Draws encoded trajectories of a stratum and returns them in clinical units."""

    means: Floats  # μ̂(c_s) (S, D)
    spectrum: Spectrum
    levels: Floats  # σ_0 … σ_K
    scaling: Scaling
    corrections: Sequence[Correction] = ()
    start: Start = independent

    __repr__ = sizes_only

    def score(self, z: Floats, mean: Floats, level: int) -> Floats:
        """∇ log density of the state perturbed by σ_k (eq:score)."""
        basis = self.spectrum.vectors
        precision = 1 / (self.spectrum.values + self.levels[level] ** 2)
        return np.asarray(-((z - mean) @ basis * precision) @ basis.T)

    def transport(self, level: int) -> Floats:
        """Return the factors (D,) of eq:transport from level k to k - 1, in the eigenbasis."""
        here, there = self.levels[level] ** 2, self.levels[level - 1] ** 2
        return np.asarray(np.sqrt((self.spectrum.values + there) / (self.spectrum.values + here)))

    def encoded(self, stratum: NDArray[np.int64], rng: Generator) -> Draws:
        """Return z_0 (n, D): alg:sample, lines 4 to 7."""
        basis, factor = self.spectrum.vectors, np.sqrt(self.spectrum.values + self.levels[-1] ** 2)
        if not self.corrections:  # then all steps are one linear map
            for level in range(len(self.levels) - 1, 0, -1):
                factor = factor * self.transport(level)
            z = self.start(stratum, (basis * factor) @ basis.T, rng)
            z += self.means.astype(z.dtype)[stratum]
            return z
        mean = self.means[stratum]
        state = self.start(stratum, basis, rng)  # z_K - μ̂ = state · factor, in the basis
        for level in range(len(self.levels) - 1, 0, -1):
            factor = factor * self.transport(level)
            for correct in self.corrections:
                z = correct(mean + (state * factor) @ basis.T, mean, level - 1)
                state, factor = (z - mean) @ basis, np.ones_like(factor)
        return np.asarray(mean + (state * factor) @ basis.T)

    def draw(self, stratum: NDArray[np.int64], rng: Generator) -> Floats:
        """Return values (n, T, V) in clinical units."""
        z = self.encoded(stratum, rng)
        return self.scaling.decode(self.scaling.layout.values_of(z))
