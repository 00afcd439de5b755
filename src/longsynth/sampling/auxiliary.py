"""Masks and gaps (eq:auxiliary): missing probabilities and Gaussian log gaps by stratum, from
released moments. A patient can only be observed in slots up to the length: the rest is padding."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding.scaling import Scaling
from longsynth.sampling.moments import means_in_use
from longsynth.sampling.score import Draws
from longsynth.sampling.strata import AllSlots, Lengths, SlotUse, lengths_of, masses_from_tables
from longsynth.schema.record import Layout
from longsynth.schema.schema import Schema, condition_matrix
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

LEAST_VARIANCE = 1e-4  # of an encoded gap: noise may make the released variance negative


@dataclass(frozen=True, slots=True)
class Masks:
    missing: Floats  # p̂(U = 1 | c_s) (S, T, V)
    layout: Layout
    least: int  # observations of each variable over time, as far as the length allows

    __repr__ = sizes_only

    def draw(self, stratum: Ints, length: Ints, rng: Generator) -> Bools:
        """Return M (n, T, V)."""
        probability = self.missing[stratum]
        scores = rng.random(probability.shape) - probability  # a cell is observed where positive
        return repaired(scores, length, self.layout, self.least)


def repaired(scores: Draws, length: Ints, layout: Layout, least: int) -> Bools:
    """Observe where the score is positive. If that is too rare over time, also observe at the
    largest scores."""
    used, wanted = layout.up_to(length), np.where(layout.static, 0, least)
    observed = used & (scores >= 0)
    number, possible = _over_time(observed), _over_time(used)
    patient, variable = np.nonzero(number < np.minimum(possible, wanted))  # few: ranking is slow
    if len(patient):
        rare, there = scores[patient, :, variable], used[patient, :, variable]  # (few, T)
        order = np.argsort(-np.where(there, rare, -np.inf), axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        observed[patient, :, variable] |= there & (rank < wanted[variable, None])
    return np.asarray(observed)


def _over_time(cells: Bools) -> Ints:
    """(n, V): how many of (n, T, V). Slot by slot, because numpy is slow along a middle axis."""
    return np.asarray(sum(cells[:, t].astype(np.int64) for t in range(cells.shape[1])))


@dataclass(frozen=True, slots=True)
class Gaps:
    means: Floats  # ξ̂ (S, T), encoded
    variance: Floats  # τ̂² (T,)
    scaling: Scaling

    __repr__ = sizes_only

    def draw(self, stratum: Ints, rng: Generator) -> Floats:
        """Return gaps (n, T) in hours, between 0 and the public maximum."""
        means = self.means[stratum]
        encoded = means + np.sqrt(self.variance) * rng.standard_normal(means.shape)
        return self.scaling.decode_gaps(encoded)


def gap_variance(squares: Floats, means: Floats, part: Floats) -> Floats:
    """Return τ̂² (T,): the mean square less what the means (S, T) of strata explain, each of which
    makes up a part (S, T) of those who use a slot."""
    explained = (part * means**2).sum(axis=0)
    return np.asarray(np.clip(squares - explained, LEAST_VARIANCE, 1.0))


def shrunken_means(
    gram: Floats, cross: Floats, slot_use: SlotUse, slot: Ints, schema: Schema
) -> Floats:
    """Return the mean of each stratum (S, d) among those who use a column's slot.

    Their overall mean is the constant row of the released cross moment over their share. The
    schema's `shrinkage` says which part of a condition's effect is kept.
    """
    overall, ridge = cross[0] / slot_use.divisor(slot), schema.resolved_constants.ridge
    fitted = means_in_use(gram, cross, condition_matrix(schema), slot_use, slot, ridge)
    return np.asarray(overall + schema.resolved_constants.shrinkage * (fitted - overall))


def gaps_from(means: Floats, squares: Floats, slot_use: SlotUse, schema: Schema) -> Gaps:
    """Gaps from the mean log gap of those who use a slot, by stratum (S, T), and from the mean of
    its square less a half over all patients (T,)."""
    slot, using = np.arange(schema.slots), slot_use.mass[:, None] * slot_use.shares
    part = using / np.maximum(using.sum(axis=0), 1e-300)  # a stratum counts by those who use a slot
    variance = gap_variance(0.5 + squares / slot_use.divisor(slot), means, part)
    return Gaps(means, variance, Scaling(schema))


def masks_from(means: Floats, schema: Schema) -> Masks:
    """Masks from means of missingness, as the schema codes it, among those who have a cell
    (S, cells) (eq:auxiliary)."""
    middle = 0.5 if schema.constants.mask_coding == "centred" else 0.0
    return masks_of(middle + means, schema)


def masks_of(missing: Floats, schema: Schema) -> Masks:
    """Masks from missing probabilities of each stratum (S, cells), clipped to [p_min, p_max]."""
    constants, layout = schema.resolved_constants, schema.layout
    clipped = np.clip(missing, constants.missing_min, constants.missing_max)
    spread = layout.cells_of(clipped, elsewhere=1.0)
    return Masks(spread, layout, constants.least_observations)


def same_for_all(means: Floats, schema: Schema) -> Floats:
    """The same row for every stratum."""
    return np.tile(means, (len(schema.strata), 1))


STRATA, VALUES, MASKS, GAPS, GAP_SQUARES = "strata", "values", "masks", "gaps", "gap squares"
LENGTHS = "lengths"


def noise_in_mean(bundle: Bundle, name: str) -> float:
    """The standard deviation of the noise in a released mean over patients, in natural units."""
    entry = bundle.released[name].entry
    return entry.sigma / (per_unit(entry.statistic) * bundle.patients)


def released_masses(bundle: Bundle) -> Floats:
    """Return the shares of the strata that a bundle holds (S,)."""
    noise = noise_in_mean(bundle, STRATA)
    return masses_from_tables(bundle.mean(STRATA), noise, bundle.schema)


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
