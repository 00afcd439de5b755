"""scorediff and temporal-pca: trust's own moments without noise, clipping or band."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.conditions import condition_matrix
from longsynth.model.auxiliary import conditioned_gaps, conditioned_masks
from longsynth.model.covariance import Spectrum, clipped_spectrum, residual_covariance
from longsynth.model.mean import gram_of_strata, ridge_solution
from longsynth.model.model import Model
from longsynth.model.score import ScorePath, noise_levels
from longsynth.model.strata import population_masses, synthesis_strata
from longsynth.records import Cohort
from longsynth.scaling import Scaling
from longsynth.schema import Schema

COMPONENTS = 8  # of temporal-pca


class ScoreDiff:
    name: ClassVar[str] = "scorediff"
    summary: ClassVar[str] = "conditional moments and the analytic score path, without noise"

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        scaling, n = Scaling(schema), cohort.patients
        stratum = encoding.strata(cohort, schema)
        conditions = condition_matrix(schema)[stratum]
        z, gaps = encoding.encoded_values(cohort, scaling), encoding.log_gaps(cohort, scaling)
        return {
            "histogram": np.bincount(stratum, minlength=len(schema.strata)),
            "values": conditions.T @ z / n,
            "second": z.T @ z / n,
            "masks": conditions.T @ encoding.missing(cohort) / (2 * n),
            "gaps": conditions.T @ gaps / n,
            "gap squares": (gaps**2).mean(axis=0),
        }

    def model(self, bundle: Bundle) -> Model:
        schema, constants = bundle.schema, bundle.schema.fixed
        conditions = condition_matrix(schema)
        mass = population_masses(bundle.array("histogram", -1))
        gram, p = gram_of_strata(mass, conditions), conditions.shape[1]
        beta = ridge_solution(gram, bundle.array("values", p, -1), constants.ridge)
        second = bundle.array("second", schema.width, schema.width)
        squares = bundle.array("gap squares", schema.slots)
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            values=ScorePath(
                means=conditions @ beta,
                spectrum=self.spectrum(residual_covariance(second, gram, beta), schema),
                levels=noise_levels(constants.steps, constants.eigen_cap),
                scaling=Scaling(schema),
            ),
            masks=conditioned_masks(gram, bundle.array("masks", p, -1), schema),
            gaps=conditioned_gaps(gram, bundle.array("gaps", p, -1), squares, mass, schema),
            fingerprint=bundle.fingerprint,
        )

    def spectrum(self, covariance: NDArray[np.float64], schema: Schema) -> Spectrum:
        return clipped_spectrum(covariance, schema.fixed.eigen_floor, schema.fixed.eigen_cap)


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
