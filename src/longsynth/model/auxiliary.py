"""Masks and gaps from released moments: condition effects, shrunk toward the overall mean."""

import numpy as np
from numpy.typing import NDArray

from longsynth.conditions import condition_matrix
from longsynth.model.gaps import Gaps, gap_variance
from longsynth.model.masks import Masks
from longsynth.model.mean import ridge_solution
from longsynth.scaling import Scaling
from longsynth.schema import Schema

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


def conditioned_masks(gram: Floats, cross: Floats, schema: Schema) -> Masks:
    """Masks from the cross moment of conditions and centred missingness (eq:auxiliary)."""
    constants = schema.fixed
    shrink = {"ridge": constants.ridge, "keep": constants.shrinkage}
    return masks_of(0.5 + shrunken_means(gram, cross, condition_matrix(schema), **shrink), schema)


def conditioned_gaps(
    gram: Floats, cross: Floats, squares: Floats, mass: Floats, schema: Schema
) -> Gaps:
    """Gaps from the cross moment of conditions and log gaps, and their mean squares."""
    constants = schema.fixed
    shrink = {"ridge": constants.ridge, "keep": constants.shrinkage}
    means = shrunken_means(gram, cross, condition_matrix(schema), **shrink)
    return Gaps(means, gap_variance(squares, means, mass), Scaling(schema))


def masks_of(missing: Floats, schema: Schema) -> Masks:
    """Masks from missing probabilities of each stratum (S, T·V), held to [p_min, p_max]."""
    constants, strata = schema.fixed, len(schema.strata)
    held = np.clip(missing, constants.missing_min, constants.missing_max)
    return Masks(held.reshape(strata, schema.slots, -1))


def same_for_all(means: Floats, schema: Schema) -> Floats:
    """The same row for every stratum."""
    return np.tile(means, (len(schema.strata), 1))
