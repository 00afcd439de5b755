"""Distances between two weighted samples of one number, sorted once."""

import numpy as np

from longsynth.audit.view import summed
from longsynth.system.arrays import Floats, Ints


class Samples:
    """Observations of real and synthetic patients, each knowing whose it is."""

    def __init__(self, real: Floats, of_real: Ints, synthetic: Floats, of_synthetic: Ints) -> None:
        values = np.concatenate([real, synthetic])
        self._order = np.argsort(values, kind="stable")
        self._sorted = values[self._order]
        self._ends = np.flatnonzero(np.diff(self._sorted, append=np.inf) > 0)  # of tied runs
        self._of_real, self._of_synthetic = of_real, of_synthetic

    def kolmogorov_smirnov(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        apart = self._apart(real_weight, synthetic_weight)
        return float(np.abs(apart).max()) if apart is not None else np.nan

    def wasserstein(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        """Mean distance that observations must move, in their unit."""
        apart = self._apart(real_weight, synthetic_weight)
        if apart is None:
            return np.nan
        return float((np.abs(apart[:-1]) * np.diff(self._sorted[self._ends])).sum())

    def _apart(self, real_weight: Floats, synthetic_weight: Floats) -> Floats | None:
        """The two distribution functions' difference at each distinct value."""
        real, synthetic = real_weight[self._of_real], synthetic_weight[self._of_synthetic]
        if not (real.sum() > 0 and synthetic.sum() > 0):
            return None
        signed = np.concatenate([real / real.sum(), -synthetic / synthetic.sum()])
        return np.asarray(np.cumsum(signed[self._order])[self._ends])


class Tables:
    """Counts of coded observations, real and synthetic."""

    def __init__(
        self, codes: int, real: Ints, of_real: Ints, synthetic: Ints, of_synthetic: Ints
    ) -> None:
        self._codes = codes
        self._real, self._of_real = real, of_real
        self._synthetic, self._of_synthetic = synthetic, of_synthetic

    def counts(self, real_weight: Floats, synthetic_weight: Floats) -> tuple[Floats, Floats]:
        return (
            summed(self._real, real_weight[self._of_real], self._codes),
            summed(self._synthetic, synthetic_weight[self._of_synthetic], self._codes),
        )

    def total_variation(self, real_weight: Floats, synthetic_weight: Floats) -> float:
        real, synthetic = self.counts(real_weight, synthetic_weight)
        if not (real.sum() > 0 and synthetic.sum() > 0):
            return np.nan
        return float(np.abs(real / real.sum() - synthetic / synthetic.sum()).sum() / 2)


def mean_of_known(values: list[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else np.nan
