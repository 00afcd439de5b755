"""Shared by masks and gaps: condition effects, shrunk toward the released overall mean."""

import numpy as np
from numpy.typing import NDArray

from longsynth.model.mean import ridge_solution

Floats = NDArray[np.float64]


def shrunken_means(
    gram: Floats, cross: Floats, conditions: NDArray[np.int64], *, ridge: float, keep: float
) -> Floats:
    """Return the mean of each stratum (S, d).

    The overall mean is the constant row of the released cross moment; `keep` of what a
    condition adds to it is kept.
    """
    overall = cross[0]
    fitted = conditions @ ridge_solution(gram, cross, ridge)
    return np.asarray(overall + keep * (fitted - overall))
