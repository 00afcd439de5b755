"""The model of `dp-score`, from its bundle alone."""

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding.scaling import Scaling
from longsynth.methods.dp_score.settings import SQUARES
from longsynth.sampling.auxiliary import VALUES, released_masses, unconditional_parts
from longsynth.sampling.model import Model
from longsynth.sampling.moments import Spectrum, gram_of_strata, means_in_use, residual_variance
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import SlotUse, synthesis_strata
from longsynth.schema.schema import condition_matrix


def score_model(bundle: Bundle) -> Model:
    schema, constants = bundle.schema, bundle.schema.resolved_constants
    conditions = condition_matrix(schema)
    mass = released_masses(bundle)
    gram = gram_of_strata(mass, conditions)
    lengths, masks, gaps = unconditional_parts(bundle, mass)
    slot_use, slot = SlotUse(mass, lengths.in_use), schema.layout.value_slot
    means = means_in_use(gram, bundle.mean(VALUES), conditions, slot_use, slot, constants.ridge)
    variance = residual_variance(bundle.mean(SQUARES)[0], means, slot_use, slot)
    return Model(
        schema=schema,
        strata=synthesis_strata(mass, schema.protected_strata, 0.0),
        lengths=lengths,
        values=ScorePath(
            means=means,
            spectrum=Spectrum(
                np.clip(variance, constants.eigen_floor, constants.eigen_cap),
                np.eye(schema.width),
            ),
            levels=noise_levels(constants.steps, constants.eigen_cap),
            scaling=Scaling(schema),
        ),
        masks=masks,
        gaps=gaps,
        fingerprint=bundle.fingerprint,
    )
