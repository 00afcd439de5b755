"""dp-score: a private diagonal Gaussian score model with masks and gaps that know no condition."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding import rows as encoding
from longsynth.encoding.scaling import Scaling
from longsynth.methods.fact import Fact
from longsynth.methods.method import Stage
from longsynth.methods.private import lines, unconditional
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, MASKS, STRATA, VALUES
from longsynth.privacy.ledger import Entry
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.covariance import Spectrum, residual_variance
from longsynth.sampling.lengths import Users
from longsynth.sampling.mean import gram_of_strata, means_in_use
from longsynth.sampling.model import Model
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import population_masses, synthesis_strata
from longsynth.schema.schema import Schema, condition_matrix

SQUARES = "squares"
SHARES = {STRATA: 5, VALUES: 40, SQUARES: 30, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}  # of 100


class DPScore:
    name: ClassVar[str] = "dp-score"
    summary: ClassVar[str] = "private diagonal score model, unconditional masks and gaps"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        size, grid = schema.width, lines.grid(schema)
        found = [
            lines.strata(schema),
            lines.values(schema),
            lines.plain_sum(  # z² - ½ lies within ±½
                SQUARES, "squared encoded value, centred", size, size * grid**2 // 4, grid
            ),
            *unconditional.statistics(schema),
        ]
        share = lines.shares(SHARES, schema)
        return (tuple((s, share[s.name]) for s in found),)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        grid = lines.grid(schema)
        cell = encoding.strata(batch, schema)
        squared = lines.value_radius_squared(schema)
        z = encoding.values(batch, schema, grid=grid, squared=squared)
        squares = np.where(encoding.columns_in_use(batch, schema), (z / grid) ** 2 - 0.5, 0.0)
        ones = np.ones((batch.patients, 1), np.int64)
        return {
            STRATA: Contribution(encoding.one_hot(cell, len(schema.strata))),
            VALUES: Contribution(z, condition_matrix(schema)[cell]),
            SQUARES: Contribution(encoding.on_grid(squares, grid), ones),
            **unconditional.rows(batch, schema),
        }

    def facts(self, schema: Schema) -> list[Fact]:
        return lines.patient_facts(schema)

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        return lines.blur(entry, schema, patients)

    def model(self, bundle: Bundle) -> Model:
        schema, constants = bundle.schema, bundle.schema.resolved_constants
        conditions, scaling = condition_matrix(schema), Scaling(schema)
        mass = population_masses(bundle.mean(STRATA))
        gram = gram_of_strata(mass, conditions)
        lengths, masks, gaps = unconditional.parts(bundle, mass)
        users, slot = Users(mass, lengths.in_use), schema.layout.value_slot
        means = means_in_use(gram, bundle.mean(VALUES), conditions, users, slot, constants.ridge)
        variance = residual_variance(bundle.mean(SQUARES)[0], means, users, slot)
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
                scaling=scaling,
            ),
            masks=masks,
            gaps=gaps,
            fingerprint=bundle.fingerprint,
        )
