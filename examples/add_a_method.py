"""A method of one's own: private conditional means with a spread that is public knowledge."""

from fractions import Fraction

import numpy as np

import longsynth
from longsynth import encoding
from longsynth.conditions import condition_matrix
from longsynth.methods.private import lines
from longsynth.model.auxiliary import masks_of
from longsynth.model.covariance import Spectrum
from longsynth.model.gaps import Gaps
from longsynth.model.mean import gram_of_strata, ridge_solution
from longsynth.model.model import Model
from longsynth.model.score import ScorePath, noise_levels
from longsynth.model.strata import population_masses, synthesis_strata
from longsynth.privacy.sums import Contribution
from longsynth.scaling import Scaling

SPREAD, MISSING = 0.04, 0.15  # public guesses: variance of an encoded value, missing share


class Flat:
    name, summary = "flat", "conditional means, public spread"

    def stages(self, schema):  # what leaves, with shares of the budget that add up to one
        return (((lines.strata(schema), Fraction(1, 5)), (lines.values(schema), Fraction(4, 5))),)

    def contributions(self, batch, schema, stage, released):  # one row a patient, nothing else
        cell, grid = encoding.strata(batch, schema), lines.grid(schema)
        squared = lines.value_radius_squared(schema)
        z = encoding.values(batch, Scaling(schema), grid=grid, squared=squared)
        one_hot = encoding.one_hot(cell, len(schema.strata))
        strata, values = Contribution(one_hot), Contribution(z, condition_matrix(schema)[cell])
        return {lines.STRATA: strata, lines.VALUES: values}

    def blur(self, entry, schema, patients):  # what the noise means, for `plan`
        return lines.blur(entry, schema, patients)

    def model(self, bundle):  # from the released numbers alone
        schema, conditions = bundle.schema, condition_matrix(bundle.schema)
        mass, width, cells = (
            population_masses(bundle.mean(lines.STRATA)),
            schema.width,
            len(conditions),
        )
        gram = gram_of_strata(mass, conditions)
        beta = ridge_solution(gram, bundle.mean(lines.VALUES), schema.fixed.ridge)
        spectrum, scaling = Spectrum(np.full(width, SPREAD), np.eye(width)), Scaling(schema)
        gaps = Gaps(np.zeros((cells, schema.slots)), np.full(schema.slots, SPREAD), scaling)
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            values=ScorePath(conditions @ beta, spectrum, noise_levels(20, 1.0), scaling),
            masks=masks_of(np.full((cells, width), MISSING), schema),
            gaps=gaps,
            fingerprint=bundle.fingerprint,
        )


longsynth.METHODS["flat"] = Flat()  # a package does the same with an entry point
schema, cohort = longsynth.simulated_schema(), longsynth.simulate(720, seed=101)
plan = longsynth.plan(schema, cohort.patients, epsilon=4, delta=1e-5, method="flat")
synthetic = longsynth.sample(longsynth.model_of(longsynth.fit(cohort, plan)), 500, seed=7)
print("synthetic event rate:", (synthetic.event * synthetic.weight).mean())
