"""Canary: an extreme patient is planted before a fit and looked for among the synthetic ones.

Each method is fitted with and without it. A rate means nothing on its own: the one to compare it
with is that of a fit without the canary. Four copies are a group of four, for which ε promises far
less than for one; a single copy tests the promise itself.
"""

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from longsynth.audit.attacks.fingerprint import Scale, records
from longsynth.audit.intervals import scored
from longsynth.audit.score import Score
from longsynth.audit.view import Floats
from longsynth.io.writer import Trajectories
from longsynth.records import Cohort
from longsynth.schema import Schema

Refit = Callable[[Cohort, int], Trajectories]  # fit these patients and draw as many by a seed

QUANTILE = 0.01  # of the holdout's distances to the canary: nearer than that is an exposure
COPIES = (4, 1, 0)  # the paper's, the promise's, and the control's
REFITS = 16  # of each: one fit's noise says little
NOTES = {
    "canary_exposure_4": "a group of four, for which the promise is far weaker than for one",
    "canary_exposure_1": "one planted patient: what the promise is about",
    "canary_exposure_control": "no canary planted: what the population alone does",
    "canary_baseline": "by the attack's definition, if synthetic patients were real outsiders",
}


def canary_record(schema: Schema) -> Cohort:
    """One patient at the public bounds in every slot, high and low in turn by variable (of
    unordered levels the last or the first), always observed, with the longest gaps: nobody looks
    like that."""
    bounds = [v.bounds[1 - i % 2] for i, v in enumerate(schema.variables)]
    shape = (1, schema.slots, len(bounds))
    return Cohort(
        values=np.broadcast_to(np.array(bounds, dtype=np.float64), shape).copy(),
        observed=np.broadcast_to(schema.layout.exists, shape).copy(),
        gaps=np.full(shape[:2], float(schema.max_gap)),
        length=np.array([schema.slots]),
        group=np.array([1]),
        event=np.array([1]),
        site=np.array([len(schema.sites) - 1]),
    )


def with_canary(train: Trajectories, canary: Cohort, copies: int) -> Cohort:
    """Return the cohort with its first patients replaced, so that N, which is public, stays."""
    if not 0 <= copies <= train.patients:
        raise ValueError(f"{copies} copies do not fit into {train.patients} patients")
    repeated = canary.take(np.zeros(copies, dtype=np.int64))
    return Cohort(
        *(
            np.concatenate([getattr(repeated, f.name), getattr(train, f.name)[copies:]])
            for f in fields(Cohort)
        )
    )


def canary_scores(
    schema: Schema,
    train: Trajectories,
    reference: Trajectories,
    refit: Refit,
    *,
    refits: int = REFITS,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Fit again and again with four canaries, with one and with none, and compare exposures.

    The three share the seeds of their draws, so that a difference is not one of seeds. The
    intervals resample fits, not patients: noise differs between fits, the canary does not.
    """
    canary = canary_record(schema)
    found = [
        np.array(
            [exposure(schema, refit(planted, draw), canary, reference) for draw in range(refits)]
        )
        for planted in (with_canary(train, canary, copies) for copies in COPIES)
    ]

    def statistic(weight: Floats) -> dict[str, float]:
        four, one, none = (float(np.average(exposures, weights=weight)) for exposures in found)
        return {
            "canary_exposure_4": four,
            "canary_exposure_1": one,
            "canary_exposure_control": none,
            "canary_baseline": QUANTILE,
            "canary_advantage_4": four - none,
            "canary_advantage_1": one - none,
        }

    return scored(
        statistic,
        (refits,),
        lambda metric: "zero" if "advantage" in metric else "none",
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda metric: (-1.0 if "advantage" in metric else 0.0, 1.0),
        notes=lambda metric, _: NOTES.get(metric, "above the control by this much"),
    )


def exposure(
    schema: Schema, synthetic: Trajectories, canary: Cohort, reference: Trajectories
) -> float:
    """Return the share of synthetic records nearer to the canary than `QUANTILE` of the
    reference patients are: about that quantile, if nothing was learnt from the canary."""
    return float(_near(schema, synthetic, canary, reference).mean())


def exposure_score(
    metric: str,
    schema: Schema,
    synthetic: Trajectories,
    canary: Cohort,
    reference: Trajectories,
    *,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """`exposure` with an interval from resampling the synthetic records."""
    near = _near(schema, synthetic, canary, reference)
    (score,) = scored(
        lambda weight: {metric: float((weight * near).sum() / weight.sum())},
        (len(near),),
        lambda _: "lower",
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda _: (0.0, 1.0),
        notes=lambda *_: "compare with a fit that had no canary",
    )
    return score


def _near(
    schema: Schema, synthetic: Trajectories, canary: Cohort, reference: Trajectories
) -> Floats:
    ordinary = records(schema, reference)
    scale = Scale(ordinary)
    target = scale(records(schema, canary))
    threshold = np.quantile(_distance(scale(ordinary), target), QUANTILE)
    return (_distance(scale(records(schema, synthetic)), target) < threshold).astype(np.float64)


def _distance(found: Floats, target: Floats) -> Floats:
    return np.asarray(np.sqrt(((found - target) ** 2).sum(axis=1)))
