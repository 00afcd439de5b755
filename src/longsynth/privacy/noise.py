"""Noise: exact integers in, noised integers out.

A command can use OpenDP's discrete Gaussian only, which draws from the operating system and has no
seed. A test may inject another source: the ledger says TEST-ONLY and all later steps refuse it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
OPENDP = "OpenDP discrete Gaussian"
TEST_ONLY, NOT_PRIVATE = "TEST-ONLY", "NOT PRIVATE"


class NoiseSource(Protocol):
    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        """Return the sums with discrete Gaussian noise of scale sigma on every entry."""


class OpenDPNoise:
    """N_Z(0, σ²) on every integer. OpenDP itself confirms the cost before a draw."""

    def add(self, sums: Integers, *, sigma: float, sensitivity: float, rho: float) -> Integers:
        from opendp import domains, measurements, metrics, mod  # their prelude loads pandas too

        mod.enable_features("contrib")
        domain = domains.vector_domain(domains.atom_domain(T="i64"))
        mechanism = measurements.make_gaussian(domain, metrics.l2_distance(T="f64"), scale=sigma)
        if not sigma > 0 or not mechanism.check(sensitivity, rho):
            raise AssertionError("OpenDP prices this noise higher than the ledger does")
        return np.array(mechanism(sums.tolist()), dtype=np.int64)


def label(source: NoiseSource) -> str:
    """Return what the ledger says of the source: only OpenDP's own class goes unmarked."""
    return OPENDP if type(source) is OpenDPNoise else f"{TEST_ONLY}: {type(source).__name__}"
