"""From a cohort folder to a private release and synthetic patients."""

import longsynth

with longsynth.CohortFolder("cohort") as cohort:  # observations, patients and schema.yaml
    plan = longsynth.plan(cohort.schema, cohort.patients, epsilon=12, delta=1e-5)
    for entry in plan.ledger.entries:  # the whole account, before any patient is read
        print(entry.statistic.name, float(entry.rho or 0))
    bundle = longsynth.fit(cohort, plan)  # the only step that looks at patients

model = longsynth.model_of(bundle)
synthetic = longsynth.sample(model, 500, seed=7)  # as many as you like, at no further cost
print("synthetic event rate:", (synthetic.event * synthetic.weight).mean())
