"""What models share. Everything here is computed from a bundle; nothing reaches a patient."""

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.auxiliary import (
    GAP_SQUARES,
    GAPS,
    LENGTHS,
    MASKS,
    STRATA,
    VALUES,
    Gaps,
    Masks,
    gaps_from,
    masks_from,
    masks_of,
    noise_in_mean,
    released_lengths,
    unconditional_parts,
)
from longsynth.sampling.model import Model
from longsynth.sampling.moments import Spectrum, clipped_spectrum, gram_of_strata, means_in_use
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import SlotUse, population_masses, synthesis_strata
from longsynth.schema.schema import condition_matrix

__all__ = [
    "GAPS",
    "GAP_SQUARES",
    "LENGTHS",
    "MASKS",
    "STRATA",
    "VALUES",
    "Gaps",
    "Masks",
    "Model",
    "Scaling",
    "ScorePath",
    "SlotUse",
    "Spectrum",
    "clipped_spectrum",
    "condition_matrix",
    "gaps_from",
    "gram_of_strata",
    "masks_from",
    "masks_of",
    "means_in_use",
    "noise_in_mean",
    "noise_levels",
    "population_masses",
    "released_lengths",
    "synthesis_strata",
    "unconditional_parts",
]
