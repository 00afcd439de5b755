"""Masks and gaps from released moments: condition effects, shrunk toward the overall mean."""

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.gaps import Gaps, gap_variance
from longsynth.sampling.lengths import Users
from longsynth.sampling.masks import Masks
from longsynth.sampling.mean import means_in_use
from longsynth.schema.schema import Schema, condition_matrix
from longsynth.system.arrays import Floats, Ints


def shrunken_means(gram: Floats, cross: Floats, users: Users, slot: Ints, schema: Schema) -> Floats:
    """Return the mean of each stratum (S, d) among those who use a column's slot.

    Their overall mean is the constant row of the released cross moment over their share. Of what
    a condition adds to it the schema's `shrinkage` is kept.
    """
    overall, ridge = cross[0] / users.divisor(slot), schema.resolved_constants.ridge
    fitted = means_in_use(gram, cross, condition_matrix(schema), users, slot, ridge)
    return np.asarray(overall + schema.resolved_constants.shrinkage * (fitted - overall))


def gaps_from(means: Floats, squares: Floats, users: Users, schema: Schema) -> Gaps:
    """Gaps from the mean log gap of those who use a slot, by stratum (S, T), and from the mean of
    its square less a half over all patients (T,)."""
    slot, using = np.arange(schema.slots), users.mass[:, None] * users.shares
    part = using / np.maximum(using.sum(axis=0), 1e-300)  # a stratum counts by those who use a slot
    variance = gap_variance(0.5 + squares / users.divisor(slot), means, part)
    return Gaps(means, variance, Scaling(schema))


def masks_from(means: Floats, schema: Schema) -> Masks:
    """Masks from means of missingness, as the schema codes it, among those who have a cell
    (S, cells) (eq:auxiliary)."""
    middle = 0.5 if schema.constants.mask_coding == "centred" else 0.0
    return masks_of(middle + means, schema)


def masks_of(missing: Floats, schema: Schema) -> Masks:
    """Masks from missing probabilities of each stratum (S, cells), held to [p_min, p_max]."""
    constants, layout = schema.resolved_constants, schema.layout
    held = np.clip(missing, constants.missing_min, constants.missing_max)
    spread = layout.cells_of(held, elsewhere=1.0)
    return Masks(spread, layout, constants.least_observations)


def same_for_all(means: Floats, schema: Schema) -> Floats:
    """The same row for every stratum."""
    return np.tile(means, (len(schema.strata), 1))
