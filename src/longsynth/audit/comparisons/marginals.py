"""Marginals: each variable's values, the gaps between slots and the number of slots."""

import numpy as np

from longsynth.audit.comparisons.comparison import Measure
from longsynth.audit.comparisons.distributions import Samples, Tables, mean_of_known
from longsynth.audit.comparisons.levels import level_codes, level_count
from longsynth.audit.view import inside, view
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints


def marginals(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Kolmogorov-Smirnov for continuous variables, total variation for those with levels."""
    distances = {}
    pairs = zip(_observations(schema, real), _observations(schema, synthetic), strict=True)
    for variable, ((a, of_a), (b, of_b)) in zip(schema.variables, pairs, strict=True):
        if variable.kind == "continuous":
            single = Samples(_single(a), of_a, _single(b), of_b)
            distances[variable.name] = single.kolmogorov_smirnov
        else:
            codes = level_codes(variable, a), of_a, level_codes(variable, b), of_b
            distances[variable.name] = Tables(level_count(variable), *codes).total_variation

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        found = {
            f"marginal_ks_{name}": distance(real_weight, synthetic_weight)
            for name, distance in distances.items()
        }
        return {"marginal_ks": mean_of_known(list(found.values())), **found}

    return measure


def _single(values: Floats) -> Floats:
    """Values as a file of single precision holds them: else its 0.4 would not be ours."""
    return values.astype(np.float32).astype(np.float64)


def rhythm(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Wasserstein distance of gaps (hours, each at most max_gap) and of the number of slots, of
    everybody and by event: the length of a record can give the event away."""
    gaps = Samples(*_gaps(schema, real), *_gaps(schema, synthetic))
    visits = Samples(*_visits(real), *_visits(synthetic))

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        found = {
            "gap_wasserstein": gaps.wasserstein(real_weight, synthetic_weight),
            "visit_count_error": visits.wasserstein(real_weight, synthetic_weight),
        }
        for event in (0, 1):
            chosen = (
                real_weight * (real.event == event),
                synthetic_weight * (synthetic.event == event),
            )
            found[f"visit_count_error_event{event}"] = visits.wasserstein(*chosen)
        return found

    return measure


def _observations(schema: Schema, cohort: Trajectories) -> list[tuple[Floats, Ints]]:
    """For each variable what was seen, in clinical units, and of whom."""
    values, seen = inside(schema, cohort), view(schema, cohort).seen
    return [
        (values[:, :, v][seen[:, :, v]], np.nonzero(seen[:, :, v])[0])
        for v in range(len(schema.variables))
    ]


def _gaps(schema: Schema, cohort: Trajectories) -> tuple[Floats, Ints]:
    seen_as = view(schema, cohort)
    return seen_as.gaps[seen_as.used], np.nonzero(seen_as.used)[0]


def _visits(cohort: Trajectories) -> tuple[Floats, Ints]:
    return cohort.length.astype(np.float64), np.arange(cohort.patients)
