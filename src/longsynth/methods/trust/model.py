"""The model of `trust`, from its bundle alone (alg:fit, lines 6 to 8)."""

from dataclasses import dataclass

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding.scaling import Scaling
from longsynth.methods.trust.settings import CONDITIONS, JOINT, SECOND
from longsynth.sampling.auxiliary import (
    GAP_SQUARES,
    GAPS,
    MASKS,
    VALUES,
    gaps_from,
    masks_from,
    released_lengths,
    released_masses,
    shrunken_means,
)
from longsynth.sampling.model import Model
from longsynth.sampling.moments import (
    block_band,
    clipped_spectrum,
    gram_of_strata,
    means_in_use,
    positive_part,
    residual_covariance,
)
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import SlotUse, population_masses, synthesis_strata
from longsynth.schema.schema import condition_matrix
from longsynth.system.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Moments:
    """The released means over patients, in the paper's symbols."""

    mass: Floats  # p̃ (S,), as a distribution
    gram: Floats  # A (p, p)
    cross: Floats  # B (p, D)
    second: Floats  # S (D, D); nan outside the released band


def trust_model(bundle: Bundle) -> Model:
    """Anyone can repeat this from the released integers."""
    schema, constants = bundle.schema, bundle.schema.resolved_constants
    conditions = condition_matrix(schema)
    moments = released_moments(bundle, conditions)
    mass, lengths = moments.mass, released_lengths(bundle)
    slot_use, layout = SlotUse(mass, lengths.in_use), schema.layout
    slot, cells, slots = layout.value_slot, layout.cell_slot, np.arange(schema.slots)

    means = means_in_use(  # eq:beta
        moments.gram, moments.cross, conditions, slot_use, slot, constants.ridge
    )
    raw = residual_covariance(moments.second, means, slot_use, slot)  # eq:covraw
    if constants.covariance == "diagonal":
        raw = np.diag(np.diag(raw))
    banded = block_band(raw, slot, constants.bandwidth)
    spectrum = clipped_spectrum(banded, constants.eigen_floor, constants.eigen_cap)  # eq:banding

    missing, gaps = (
        shrunken_means(moments.gram, bundle.mean(name), slot_use, where, schema)
        for name, where in ((MASKS, cells), (GAPS, slots))
    )
    return Model(
        schema=schema,
        strata=synthesis_strata(mass, schema.protected_strata, constants.event_floor),
        lengths=lengths,
        values=ScorePath(
            means=means,
            spectrum=spectrum,
            levels=noise_levels(constants.steps, constants.eigen_cap),
            scaling=Scaling(schema),
        ),
        masks=masks_from(missing, schema),
        gaps=gaps_from(gaps, bundle.mean(GAP_SQUARES)[0], slot_use, schema),
        fingerprint=bundle.fingerprint,
    )


def released_moments(bundle: Bundle, conditions: Ints) -> Moments:
    """Return the moments of eq:moments from either form of release."""
    if JOINT in bundle.released:
        histogram, by_stratum, second = bundle.mean(JOINT)
        mass, cross = population_masses(histogram), conditions.T @ by_stratum
    else:
        mass, cross, second = released_masses(bundle), bundle.mean(VALUES), bundle.mean(SECOND)
    if CONDITIONS in bundle.released:
        gram = positive_part(bundle.mean(CONDITIONS))
    else:
        gram = gram_of_strata(mass, conditions)
    return Moments(mass, gram, cross, second)
