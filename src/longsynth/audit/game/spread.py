"""The noise itself: the auditor knows the exact sums, so every number's noise can be measured."""

from dataclasses import dataclass
from math import sqrt

from longsynth.system.arrays import Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """The noise on one line as it was drawn, in claimed σ."""

    line: str
    noise: str
    fits: int
    numbers: int
    measured: float  # of all numbers together; 1 is as claimed
    error: float  # one standard error
    lowest: float  # of a single number
    highest: float
    chance: float  # of a spread as far from 1, in all or in one number, were the claim true


def spread_of(line: str, noise: str, squares: Floats, fits: int) -> Spread:
    """Judge the sums of squared noise over some fits, one sum a number, in claimed σ²."""
    from scipy.special import chdtr, chdtrc

    numbers = len(squares)
    together = float(squares.sum())
    whole = 2 * min(chdtr(fits * numbers, together), chdtrc(fits * numbers, together))
    single = 2 * numbers * min(chdtr(fits, squares.min()), chdtrc(fits, squares.max()))
    return Spread(
        line=line,
        noise=noise,
        fits=fits,
        numbers=numbers,
        measured=sqrt(together / (fits * numbers)),
        error=1 / sqrt(2 * fits * numbers),
        lowest=sqrt(float(squares.min()) / fits),
        highest=sqrt(float(squares.max()) / fits),
        chance=min(2 * min(float(whole), float(single)), 1.0),
    )
