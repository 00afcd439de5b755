"""Masks and gaps from released moments: condition effects, shrunk toward the overall mean."""

import numpy as np
from numpy.typing import NDArray

from longsynth.conditions import condition_matrix
from longsynth.model.gaps import Gaps, gap_variance
from longsynth.model.lengths import of_those_in_use
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


def conditioned(gram: Floats, cross: Floats, schema: Schema) -> Floats:
    """Means of each stratum from a cross moment, with the schema's ridge and shrinkage."""
    shrink = {"ridge": schema.fixed.ridge, "keep": schema.fixed.shrinkage}
    return shrunken_means(gram, cross, condition_matrix(schema), **shrink)


def masks_from(means: Floats, in_use: Floats, schema: Schema) -> Masks:
    """Masks from means of centred missingness over all patients (S, cells), of whom a share
    (S, T) uses each slot (eq:auxiliary)."""
    centred = of_those_in_use(means, in_use, schema.layout.cell_slot)
    return masks_of(0.5 + centred, schema)


def gaps_from(means: Floats, squares: Floats, mass: Floats, in_use: Floats, schema: Schema) -> Gaps:
    """Gaps from means over all patients: of the log gap by stratum (S, T), and of its square less
    a half (T,)."""
    slot, everybody = np.arange(schema.slots), mass @ in_use
    means = of_those_in_use(means, in_use, slot)
    square = 0.5 + of_those_in_use(squares[None], everybody[None], slot)[0]
    using = mass[:, None] * in_use  # (S, T): a stratum counts by those who use a slot
    part = using / np.maximum(using.sum(axis=0), 1e-300)
    return Gaps(means, gap_variance(square, means, part), Scaling(schema))


def masks_of(missing: Floats, schema: Schema) -> Masks:
    """Masks from missing probabilities of each stratum (S, cells), held to [p_min, p_max]."""
    constants, layout = schema.fixed, schema.layout
    held = np.clip(missing, constants.missing_min, constants.missing_max)
    spread = layout.cells_of(held, elsewhere=1.0)
    return Masks(spread, np.array(layout.static), constants.least_observations)


def same_for_all(means: Floats, schema: Schema) -> Floats:
    """The same row for every stratum."""
    return np.tile(means, (len(schema.strata), 1))
