"""Ledger lines that several methods share: their names, and how to read them from a bundle."""

import numpy as np

from longsynth.bundle import Bundle, per_unit
from longsynth.sampling.auxiliary import Gaps, Masks, gaps_from, masks_from, same_for_all
from longsynth.sampling.lengths import AllSlots, Lengths, SlotUse, lengths_of
from longsynth.system.arrays import Floats

STRATA, VALUES, MASKS, GAPS, GAP_SQUARES = "strata", "values", "masks", "gaps", "gap squares"
LENGTHS = "lengths"


def noise_in_mean(bundle: Bundle, name: str) -> float:
    """The standard deviation of the noise in a released mean over patients, in natural units."""
    entry = bundle.released[name].entry
    return entry.sigma / (per_unit(entry.statistic) * bundle.patients)


def released_lengths(bundle: Bundle) -> Lengths | AllSlots:
    """Return the lengths that a bundle holds, read with the noise that its ledger states."""
    released = bundle.released.get(LENGTHS)
    if released is None:
        return lengths_of(None, 0.0, bundle.schema)
    lift = released.entry.statistic.lift
    return lengths_of(released.values / lift, released.entry.sigma / lift, bundle.schema)


def unconditional_parts(bundle: Bundle, mass: Floats) -> tuple[Lengths | AllSlots, Masks, Gaps]:
    """Return lengths, and the same masks and gaps for every stratum."""
    schema, lengths = bundle.schema, released_lengths(bundle)
    slot_use, slots = SlotUse(mass, lengths.in_use), np.arange(schema.slots)
    missing, gaps = (
        same_for_all(bundle.mean(name)[0] / slot_use.divisor(where), schema)
        for name, where in ((MASKS, schema.layout.cell_slot), (GAPS, slots))
    )
    squares = bundle.mean(GAP_SQUARES)[0]
    return lengths, masks_from(missing, schema), gaps_from(gaps, squares, slot_use, schema)
