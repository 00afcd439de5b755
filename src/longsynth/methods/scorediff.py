"""scorediff and temporal-pca: trust's own moments without noise, clipping or band."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoder, encoded_values
from longsynth.encoding.scaling import Scaling, mask_grid
from longsynth.methods.lines import length_rows
from longsynth.methods.method import OpenMethod
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import gaps_from, masks_from, shrunken_means
from longsynth.sampling.model import Model
from longsynth.sampling.moments import (
    Spectrum,
    clipped_spectrum,
    gram_of_strata,
    means_in_use,
    residual_covariance,
)
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import SlotUse, lengths_of, population_masses, synthesis_strata
from longsynth.schema.schema import Schema, condition_matrix

COMPONENTS = 8  # of temporal-pca


class ScoreDiff(OpenMethod):
    name: ClassVar[str] = "scorediff"
    summary: ClassVar[str] = "conditional moments and the analytic score path, without noise"

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        n, unit, encoder = cohort.patients, mask_grid(schema), Encoder(schema)
        encoded = encoder(cohort)
        z = encoded_values(cohort, encoder, encoded.observed)
        conditions, (gaps, squares) = encoded.conditions, encoded.log_gaps
        return {
            "histogram": np.bincount(encoded.stratum, minlength=len(schema.strata)),
            "values": conditions.T @ z / n,
            "second": z.T @ z / n,
            "lengths": length_rows(encoded).right.sum(axis=0),
            "masks": conditions.T @ encoded.missing / (unit * n),
            "gaps": conditions.T @ gaps / n,
            "gap squares": squares.mean(axis=0),
        }

    def model(self, bundle: Bundle) -> Model:
        schema, constants = bundle.schema, bundle.schema.resolved_constants
        conditions = condition_matrix(schema)
        mass = population_masses(bundle.array("histogram", -1))
        gram, p = gram_of_strata(mass, conditions), conditions.shape[1]
        second = bundle.array("second", schema.width, schema.width)
        squares = bundle.array("gap squares", schema.slots)
        counts = bundle.array("lengths", -1) if schema.length == "variable" else None
        lengths = lengths_of(counts, 0.0, schema)
        slot_use, layout = SlotUse(mass, lengths.in_use), schema.layout
        slot, cells, slots = layout.value_slot, layout.cell_slot, np.arange(schema.slots)
        cross = bundle.array("values", p, -1)
        means = means_in_use(gram, cross, conditions, slot_use, slot, constants.ridge)
        covariance = residual_covariance(second, means, slot_use, slot)
        missing, gaps = (
            shrunken_means(gram, bundle.array(name, p, -1), slot_use, where, schema)
            for name, where in (("masks", cells), ("gaps", slots))
        )
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=lengths,
            values=ScorePath(
                means=means,
                spectrum=self.spectrum(covariance, schema),
                levels=noise_levels(constants.steps, constants.eigen_cap),
                scaling=Scaling(schema),
            ),
            masks=masks_from(missing, schema),
            gaps=gaps_from(gaps, squares, slot_use, schema),
            fingerprint=bundle.fingerprint,
        )

    def spectrum(self, covariance: NDArray[np.float64], schema: Schema) -> Spectrum:
        return clipped_spectrum(
            covariance, schema.resolved_constants.eigen_floor, schema.resolved_constants.eigen_cap
        )


class TemporalPCA(ScoreDiff):
    name: ClassVar[str] = "temporal-pca"
    summary: ClassVar[str] = "low-rank temporal latent model on conditional means, without noise"

    def spectrum(self, covariance: NDArray[np.float64], schema: Schema) -> Spectrum:
        """Keep the largest directions and give the rest their mean variance."""
        full = super().spectrum(covariance, schema)
        rest = max(len(full.values) - COMPONENTS, 0)
        values = full.values.copy()
        if rest:
            values[:rest] = values[:rest].mean()
        return Spectrum(values, full.vectors)
