"""Balanced: normal numbers without the chance of a small sample, from which latents are made."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from longsynth.sampling.score import Draws
from longsynth.system.arrays import Floats, Ints, sizes_only

FEWEST = 20  # patients with an event, or without: fewer are left as they fall
TOGETHER = 1_024  # patients whose numbers are looked up at once


@dataclass(frozen=True)
class Balanced:
    """Normal numbers whose means by event, and whose covariance, are those of their law:
    a small sample then shows what the model says, and not what chance adds."""

    events: Ints  # (S,): the event of each stratum

    def __call__(self, stratum: Ints, times: Floats, rng: Generator) -> Draws:
        noise = _fast_normal(rng, (len(stratum), len(times)))
        return self._of(stratum, noise)(stratum, times, rng)

    def numbers(self, stratum: Ints, width: int, rng: Generator) -> "Numbers":
        """In float32: a record has fewer digits, and the products take half the time."""
        noise = rng.standard_normal((len(stratum), width)).astype(np.float32)
        return self._of(stratum, noise)

    def _of(self, stratum: Ints, noise: Draws) -> "Numbers":
        event = np.eye(self.events.max() + 1, dtype=np.float32)[self.events[stratum]]
        number = event.sum(axis=0)[:, None]
        means = event.T @ noise / np.maximum(number, 1)
        noise -= event @ np.where(number >= FEWEST, means, 0)
        if len(noise) < 2 * noise.shape[1]:
            return Numbers(noise, None)
        covariance = (noise.T @ noise).astype(np.float64) / len(noise)
        return Numbers(noise, np.asarray(np.linalg.cholesky(covariance), np.float64))


@dataclass(frozen=True)
class Numbers:
    """What `Balanced` draws for some patients: the rounds of a calibration use it again."""

    noise: Draws  # (n, D)
    lower: Floats | None  # (D, D): the root of its covariance, if there are enough patients

    __repr__ = sizes_only

    def __call__(self, stratum: Ints, times: Floats, rng: Generator) -> Draws:
        from scipy.linalg import solve_triangular  # here, to keep planning fast

        if self.lower is not None:
            times = solve_triangular(self.lower, times, trans=1, lower=True)
        return self.noise @ times.astype(np.float32)


def _fast_normal(rng: Generator, shape: tuple[int, int]) -> Draws:
    """Normal numbers in float32, each one of 65,536 equally likely ones. It takes a third of the
    time; what is made of them is a sum of many, and has many more values."""
    table, noise = _normal_table(), np.empty(shape, np.float32)
    draws = rng.integers(0, len(table), shape, dtype=np.uint16)
    for start in range(0, len(noise), TOGETHER):  # in the processor's cache
        some = slice(start, start + TOGETHER)
        np.take(table, draws[some], out=noise[some], mode="clip")  # the mode that copies nothing
    return noise


@lru_cache(maxsize=1)
def _normal_table() -> Draws:
    from scipy.special import ndtri  # here, to keep planning fast

    return np.asarray(ndtri((np.arange(1 << 16) + 0.5) / (1 << 16)), np.float32)
