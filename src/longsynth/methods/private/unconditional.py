"""Masks and gaps that know no condition: their lines, rows and model, for the simpler methods."""

from collections.abc import Mapping

import numpy as np

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.methods.private import lines
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, MASKS
from longsynth.model.auxiliary import masks_of, same_for_all
from longsynth.model.gaps import Gaps, gap_variance
from longsynth.model.masks import Masks
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.records import Cohort, Floats
from longsynth.scaling import Scaling
from longsynth.schema import Schema


def statistics(schema: Schema) -> list[Statistic]:
    return [
        lines.masks(schema, conditioned=False),
        lines.gaps(schema, conditioned=False),
        lines.gap_squares(schema),
    ]


def rows(batch: Cohort, schema: Schema) -> Mapping[str, Contribution]:
    gaps, grid = encoding.log_gaps(batch, Scaling(schema)), lines.grid(schema)
    ones = np.ones((batch.patients, 1), np.int64)
    return {
        MASKS: Contribution(encoding.missing(batch), ones),
        GAPS: Contribution(encoding.on_grid(gaps, grid), ones),
        GAP_SQUARES: Contribution(encoding.on_grid(gaps**2 - 0.5, grid), ones),
    }


def parts(bundle: Bundle, mass: Floats) -> tuple[Masks, Gaps]:
    """Return the same masks and gaps for every stratum."""
    schema = bundle.schema
    means = same_for_all(bundle.mean(GAPS)[0], schema)
    spread = gap_variance(0.5 + bundle.mean(GAP_SQUARES)[0], means, mass)
    masks = masks_of(same_for_all(0.5 + bundle.mean(MASKS)[0], schema), schema)
    return masks, Gaps(means, spread, Scaling(schema))
