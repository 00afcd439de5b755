"""Lengths, and masks and gaps that know no condition: lines, rows and model of simpler methods."""

from collections.abc import Mapping

import numpy as np

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding import rows as encoding
from longsynth.methods.private import lines
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, LENGTHS, MASKS
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import gaps_from, masks_from, same_for_all
from longsynth.sampling.gaps import Gaps
from longsynth.sampling.lengths import AllSlots, Lengths, Users
from longsynth.sampling.masks import Masks
from longsynth.sampling.tables import drawn_to
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints


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


def parts(
    bundle: Bundle, mass: Floats, *, steady: bool = False
) -> tuple[Lengths | AllSlots, Masks, Gaps]:
    """Return lengths, and the same masks and gaps for every stratum; if they are held steady, drawn
    to their mean over time as far as noise explains the rest."""
    schema, lengths = bundle.schema, lines.lengths_in(bundle)
    users, cells, slots = Users(mass, lengths.in_use), schema.layout.cell_slot, schema.slots
    found = {name: bundle.mean(name)[0] for name in (MASKS, GAPS, GAP_SQUARES)}
    over_time = [np.arange(slots)]
    by_variable = schema.layout.cells_of(np.arange(len(cells))[None], -1)[0].T
    places = {MASKS: [p[p >= 0] for p in by_variable], GAPS: over_time, GAP_SQUARES: over_time}
    where = {MASKS: cells, GAPS: np.arange(slots), GAP_SQUARES: np.arange(slots)}
    if steady:
        for name, series in places.items():
            held = _held(found[name], users.divisor(where[name]), series, _noise(bundle, name))
            found[name] = held
    missing, means = (
        same_for_all(found[name] / users.divisor(where[name]), schema) for name in (MASKS, GAPS)
    )
    gaps = gaps_from(means, found[GAP_SQUARES], users, schema)
    return lengths, masks_from(missing, schema), gaps


def _held(sums: Floats, users: Floats, series: list[Ints], noise: float) -> Floats:
    """Each series of sums drawn to one mean among its users."""
    held = sums.copy()
    for place in series:
        mean = sums[place].sum() / users[place].sum()
        held[place] = drawn_to(sums[place], mean * users[place], noise)
    return held


def _noise(bundle: Bundle, name: str) -> float:
    """The standard deviation in a released mean."""
    entry = bundle.released[name].entry
    return entry.sigma / (per_unit(entry.statistic) * bundle.patients)
