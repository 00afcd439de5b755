"""Algorithm 1 (alg:fit): from patients to a private bundle and its ledger."""

from functools import partial

from longsynth.bundle import Bundle
from longsynth.engines.local import sum_over
from longsynth.plan import Plan
from longsynth.privacy.curator import Curator
from longsynth.privacy.ledger import Released
from longsynth.privacy.noise import NoiseSource
from longsynth.records import Patients


def fit(patients: Patients, plan: Plan, *, noise: NoiseSource | None = None) -> Bundle:
    """Return everything that leaves. The plan was priced and accepted before this starts.

    `noise` is for tests: any source but OpenDP's marks the bundle TEST-ONLY.
    """
    curator = Curator(plan.ledger, noise)  # lines 3 and 9: ρ_j allotted, over-spending refused
    released: dict[str, Released] = {}
    for stage in plan.stages:
        features = partial(  # lines 1 and 2: public encoding, clipped contributions
            plan.method.contributions, schema=plan.schema, stage=stage, released=dict(released)
        )
        for sums in sum_over(patients, [statistic for statistic, _ in stage], features):
            released[sums.statistic.name] = curator.release(sums)  # lines 4 and 5
    # Lines 6 to 8 are post-processing: `Method.model` does them for anyone who has the bundle.
    return Bundle(plan.method.name, plan.schema, curator.ledger, released)  # line 10
