"""Irregular time: Gaussian log-gaps by stratum (eq:auxiliary)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.encoding.scaling import Scaling
from longsynth.system.arrays import Floats

LEAST_VARIANCE = 1e-4  # of an encoded gap: noise may make the released variance negative


@dataclass(frozen=True, slots=True)
class Gaps:
    means: Floats  # ξ̂ (S, T), encoded
    variance: Floats  # τ̂² (T,)
    scaling: Scaling

    def draw(self, stratum: NDArray[np.int64], rng: Generator) -> Floats:
        """Return gaps (n, T) in hours, between 0 and the public maximum."""
        means = self.means[stratum]
        encoded = means + np.sqrt(self.variance) * rng.standard_normal(means.shape)
        return self.scaling.decode_gaps(encoded)


def gap_variance(squares: Floats, means: Floats, part: Floats) -> Floats:
    """Return τ̂² (T,): the mean square less what the means (S, T) of strata explain, each of which
    makes up a part (S, T) of those who use a slot."""
    explained = (part * means**2).sum(axis=0)
    return np.asarray(np.clip(squares - explained, LEAST_VARIANCE, 1.0))
