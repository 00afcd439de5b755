"""Algorithm 1 (alg:fit): from patients to a private bundle and its ledger. Baselines: below."""

from functools import partial

import numpy as np

from longsynth.bundle import Bundle
from longsynth.engines import Distributed, Source, sum_over
from longsynth.methods.lines import exact_ends
from longsynth.methods.method import contributions
from longsynth.methods.registry import open_method, origin_of
from longsynth.methods.resources import require_room
from longsynth.plan import Plan
from longsynth.privacy.curator import Curator
from longsynth.privacy.ledger import Ledger, Released
from longsynth.privacy.noise import NoiseSource
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused, checked

PATIENTS = "Give a CohortFolder, SparkCohort or Cohort. For data frames: Synthesizer, read_frames."


@checked(patients=PATIENTS, plan="Call plan(schema, patients, epsilon=…, delta=…) first.")
def fit(patients: Source, plan: Plan, *, noise: NoiseSource | None = None, jobs: int = 1) -> Bundle:
    """Return everything that is released. The plan was priced and accepted before this starts.

    One thread reads and `jobs` threads add up; any number gives the same integers before noise.
    `noise` is for tests: any source but OpenDP's marks the bundle TEST-ONLY.

    >>> import longsynth
    >>> with longsynth.CohortFolder("cohort") as cohort:
    ...     plan = longsynth.plan(cohort.schema, cohort.patients, epsilon=4, delta=1e-5)
    ...     longsynth.fit(cohort, plan)
    Bundle(copula-score, 200 patients, ε = 4, δ = 1e-05, 845 numbers in 6 lines)
    """
    require_room(plan)
    method = plan.method
    origin = origin_of(method)
    curator = Curator(plan.ledger, noise)  # lines 3 and 9: ρ_j allotted, over-spending refused
    released: dict[str, Released] = {}
    for stage in plan.stages:
        so_far = Bundle(method.name, plan.schema, curator.ledger, dict(released))
        encoder = method.encoder(plan.schema, so_far)  # line 1: public encoding
        rows = partial(contributions, stage, encoder)  # line 2: clipped contributions
        statistics = [line.statistic for line in stage]
        for sums in sum_over(patients, statistics, rows, jobs=jobs):
            released[sums.statistic.name] = curator.release(sums)  # lines 4 and 5
    # Lines 6 to 8 are post-processing: `Method.model` does them for anyone who has the bundle.
    return Bundle(method.name, plan.schema, curator.ledger, released, origin)  # line 10


@checked(patients=PATIENTS, schema="Call load_schema(path) first.")
def fit_without_privacy(patients: Source, schema: Schema, method: str) -> Bundle:
    """Return what a non-private method learns. Its ledger says NOT PRIVATE, and nothing learnt this
    way can be written to a release. For comparisons only.

    >>> import longsynth
    >>> schema, cohort = longsynth.read_cohort("cohort")
    >>> longsynth.fit_without_privacy(cohort, schema, "bootstrap")
    Bundle(bootstrap, 200 patients, NOT PRIVATE, 36,800 numbers in 5 lines)
    """
    chosen = open_method(method)
    if isinstance(patients, Distributed):
        raise Refused(
            Code.ENGINE_UNSUITED,
            f"method '{method}' needs all records in one place.",
            "Use the local engine.",
        )
    resolved, curator = schema.resolved(patients.patients), Curator(Ledger(None, patients.patients))
    cohort = Cohort.joined(patients.batches())
    learnt = {**chosen.learn(cohort, resolved), **exact_ends(cohort, resolved)}
    released = {
        name: curator.disclose(name, "raw facts", np.float64(array).ravel().view(np.int64))
        for name, array in learnt.items()
    }
    return Bundle(chosen.name, resolved, curator.ledger, released)
