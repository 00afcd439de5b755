"""The condition vector of each stratum (eq:condition), for any number of sites."""

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.schema import Schema


def condition_matrix(schema: Schema) -> NDArray[np.int64]:
    """Return c for every stratum, (S, p): constant, G, Y, site dummies, G·Y, Y·last site.

    With a single site both the dummies and the last term fall away. c takes finitely many
    values, so its norm is a public fact and nothing has to be clipped.
    """
    site, group, event = schema.strata.T
    last = len(schema.sites) - 1
    dummies = [site == c for c in range(1, last + 1)]
    interactions = [group * event] + ([event * (site == last)] if last else [])
    columns = [np.ones_like(group), group, event, *dummies, *interactions]
    return np.stack(columns, axis=1).astype(np.int64)


def largest_norm_squared(conditions: NDArray[np.int64]) -> int:  # L_c²
    return int((conditions**2).sum(axis=1).max())
