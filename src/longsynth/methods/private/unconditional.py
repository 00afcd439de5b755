"""Lengths, and masks and gaps that know no condition: lines, rows and model of simpler methods."""

from collections.abc import Mapping

import numpy as np

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.methods.private import lines
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, LENGTHS, MASKS
from longsynth.model.auxiliary import gaps_from, masks_from, same_for_all
from longsynth.model.gaps import Gaps
from longsynth.model.lengths import AllSlots, Lengths, Users
from longsynth.model.masks import Masks
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.records import Cohort, Floats
from longsynth.schema import Schema


def statistics(schema: Schema) -> list[Statistic]:
    return [
        *lines.lengths(schema),
        lines.masks(schema, conditioned=False),
        lines.gaps(schema, conditioned=False),
        lines.gap_squares(schema),
    ]


def rows(batch: Cohort, schema: Schema) -> Mapping[str, Contribution]:
    (gaps, squares), grid = encoding.log_gaps(batch, schema), lines.grid(schema)
    ones = np.ones((batch.patients, 1), np.int64)
    return {
        LENGTHS: lines.length_rows(batch, schema),
        MASKS: Contribution(encoding.missing(batch, schema), ones),
        GAPS: Contribution(encoding.on_grid(gaps, grid), ones),
        GAP_SQUARES: Contribution(encoding.on_grid(squares, grid), ones),
    }


def parts(bundle: Bundle, mass: Floats) -> tuple[Lengths | AllSlots, Masks, Gaps]:
    """Return lengths, and the same masks and gaps for every stratum."""
    schema, lengths = bundle.schema, lines.lengths_in(bundle)
    users, cells, slots = Users(mass, lengths.in_use), schema.layout.cell_slot, schema.slots
    missing, means = (
        same_for_all(bundle.mean(name)[0] / users.divisor(where), schema)
        for name, where in ((MASKS, cells), (GAPS, np.arange(slots)))
    )
    gaps = gaps_from(means, bundle.mean(GAP_SQUARES)[0], users, schema)
    return lengths, masks_from(missing, schema), gaps
