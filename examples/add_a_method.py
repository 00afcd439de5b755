"""A method of one's own: private conditional means with a spread that is public knowledge."""

import numpy as np

import longsynth
from longsynth.encoding import rows as encoding
from longsynth.encoding.scaling import Scaling
from longsynth.methods.private import lines
from longsynth.privacy.sums import Contribution
from longsynth.sampling.auxiliary import masks_of
from longsynth.sampling.covariance import Spectrum
from longsynth.sampling.gaps import Gaps
from longsynth.sampling.lengths import Users
from longsynth.sampling.mean import gram_of_strata, means_in_use
from longsynth.sampling.model import Model
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import population_masses, synthesis_strata
from longsynth.schema.schema import condition_matrix

SPREAD, MISSING = 0.04, 0.15  # public guesses: variance of an encoded value, missing share


class Flat:
    name, summary = "flat", "conditional means, public spread"

    def stages(self, schema):  # what leaves, with shares of the budget that add up to one
        share = lines.shares({lines.STRATA: 20, lines.VALUES: 80}, schema)
        found = [lines.strata(schema), lines.values(schema), *lines.lengths(schema)]
        return (tuple((statistic, share[statistic.name]) for statistic in found),)

    def contributions(self, batch, schema, stage, so_far):  # one row a patient, nothing else
        cell, grid = encoding.strata(batch, schema), lines.grid(schema)
        squared = lines.value_radius_squared(schema)
        z = encoding.values(batch, schema, grid=grid, squared=squared)
        return {
            lines.STRATA: Contribution(encoding.one_hot(cell, len(schema.strata))),
            lines.VALUES: Contribution(z, condition_matrix(schema)[cell]),
            lines.LENGTHS: lines.length_rows(batch, schema),
        }

    def blur(self, entry, schema, patients):  # what the noise means, for `plan`
        return lines.blur(entry, schema, patients)

    def model(self, bundle):  # from the released numbers alone
        schema, conditions = bundle.schema, condition_matrix(bundle.schema)
        mass, lengths = population_masses(bundle.mean(lines.STRATA)), lines.lengths_in(bundle)
        gram, slot = gram_of_strata(mass, conditions), schema.layout.value_slot
        users = Users(mass, lengths.in_use)  # not everyone uses every slot
        means = means_in_use(
            gram,
            bundle.mean(lines.VALUES),
            conditions,
            users,
            slot,
            schema.resolved_constants.ridge,
        )
        scaling, strata, spread = Scaling(schema), len(conditions), np.full(schema.width, SPREAD)
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=lengths,
            values=ScorePath(
                means, Spectrum(spread, np.eye(schema.width)), noise_levels(20, 1.0), scaling
            ),
            masks=masks_of(np.full((strata, schema.layout.cells), MISSING), schema),
            gaps=Gaps(np.zeros((strata, schema.slots)), np.full(schema.slots, SPREAD), scaling),
            fingerprint=bundle.fingerprint,
        )


longsynth.METHODS["flat"] = Flat()  # a package does the same with an entry point
schema, cohort = longsynth.simulated_schema(), longsynth.simulate(720, seed=101)
plan = longsynth.plan(schema, cohort.patients, epsilon=4, delta=1e-5, method="flat")
synthetic = longsynth.sample(longsynth.model_of(longsynth.fit(cohort, plan)), 500, seed=7)
print("synthetic event rate:", (synthetic.event * synthetic.weight).mean())
