"""Clipping: how many patients each line of a fit clips to its ball. Counted from patients without
noise, so it stays in internal/."""

from typing import Any

import numpy as np

from longsynth.bundle import Bundle
from longsynth.plan import Plan
from longsynth.privacy.statistic import Statistic
from longsynth.reading.records import Cohort

EDGE = 0.995  # of the radius: a clipped row lies beyond it, as rounding must not carry it out
FINE = 1 << 10  # integers in a radius: a ball is never coarser


def clipped_by_line(some: Cohort, plan: Plan, bundle: Bundle) -> dict[str, Any]:
    """Return the share of these patients whose rows are clipped, for each line with a ball."""
    shares: dict[str, float] = {}
    encoded = plan.method.encoder(plan.schema, bundle)(some)  # as the last pass encoded them
    for line in (line for stage in plan.stages for line in stage if _is_ball(line.statistic)):
        rows = line.rows(encoded).right.astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        shares[line.statistic.name] = float((norms > EDGE * line.statistic.grid).mean())
    return {"patients_looked_at": some.patients, "clipped_by_line": shares}


def _is_ball(statistic: Statistic) -> bool:
    whole = statistic.right_squared == statistic.grid**2
    return statistic.kind == "cross" and whole and statistic.grid >= FINE
