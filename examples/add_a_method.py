"""A method of your own: private conditional means with a spread that is public knowledge."""

import numpy as np

import longsynth
from longsynth.encoding import Encoder
from longsynth.methods import PrivateMethod, lines
from longsynth.sampling import (
    STRATA,
    VALUES,
    Gaps,
    Model,
    Scaling,
    ScorePath,
    SlotUse,
    Spectrum,
    condition_matrix,
    gram_of_strata,
    masks_of,
    means_in_use,
    noise_levels,
    population_masses,
    released_lengths,
    synthesis_strata,
)

SPREAD, MISSING = 0.04, 0.15  # public guesses: variance of an encoded value, missing share


class Flat(PrivateMethod):
    name, summary = "flat", "conditional means, public spread"

    def stages(self, schema):  # the lines of each pass, with shares that add up to at most one
        shares = lines.shares_of({STRATA: 20, VALUES: 80}, schema)
        strata, values = lines.strata(schema, shares), lines.values(schema, shares)
        return ((strata, values, *lines.ends(schema, shares)),)

    def encoder(self, schema, so_far):  # built once per pass, called for each batch
        return Encoder(schema)

    def model(self, bundle):  # from the released numbers alone
        schema, conditions = bundle.schema, condition_matrix(bundle.schema)
        mass, lengths = population_masses(bundle.mean(STRATA)), released_lengths(bundle)
        gram, slot = gram_of_strata(mass, conditions), schema.layout.value_slot
        slot_use = SlotUse(mass, lengths.in_use)  # not everyone uses every slot
        ridge = schema.resolved_constants.ridge
        means = means_in_use(gram, bundle.mean(VALUES), conditions, slot_use, slot, ridge)
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
