"""Canary: an extreme patient is planted before a fit and looked for among the synthetic ones.

Each method is fitted with and without it. A rate means nothing on its own: the one to compare it
with is that of a fit without the canary. Many methods never draw so extreme a record, planted or
not, so an attacker also asks which of two releases comes nearer to it. Four copies are a group of
four, for which ε promises far less than for one; a single copy tests the promise itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from longsynth.audit.attacks.fingerprint import Scale, records
from longsynth.audit.intervals import scored
from longsynth.audit.promise import promise
from longsynth.audit.ranking import Ranking
from longsynth.audit.score import Better, Score
from longsynth.privacy.budget import Budget
from longsynth.reading.records import Cohort
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

QUANTILE = 0.01  # of the holdout's distances to the canary: nearer than that is an exposure
COPIES = (4, 1, 0)  # the paper's, the promise's, and the control's
REFITS = 16  # of each: one fit's noise says little
NOTES = {
    "canary_exposure_4": "a group of four, for which the promise is far weaker than for one",
    "canary_exposure_1": "one planted patient: what the promise is about",
    "canary_exposure_control": "no canary planted: what the population alone does",
    "canary_baseline": "by the attack's definition, if synthetic patients were real outsiders",
    "canary_auroc_4": "four copies: a fit with them told from a fit without, by nearness to them",
    "canary_auroc_1": "one copy: a fit with it told from a fit without, by nearness to it",
    "canary_auroc_bound_4": "no attacker can expect more of a group of four, by the budget",
    "canary_auroc_bound_1": "no attacker can expect more of one patient, by the budget",
}


@dataclass(frozen=True, slots=True)
class Refit:
    """A finished run's mechanism, to be applied to other patients."""

    draw: Callable[[Cohort, int], Trajectories]  # fit these patients, draw as many by a seed
    budget: Budget | None = None  # None: it promises nothing
    name: str = ""  # method and budget, in words
    patients: int | None = None  # N of the run, which is public; None: any


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
    watch: Callable[[], None] = lambda: None,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Fit again and again with four canaries, with one and with none, and compare exposures.

    The three share the seeds of their draws, so that a difference is not one of seeds. The
    intervals resample fits, not patients: noise differs between fits, the canary does not.
    `watch` is called after each of the fits.
    """
    canary = canary_record(schema)
    sight = _Sight(schema, canary, reference)

    def seen(copies: int) -> tuple[Floats, Floats]:
        """Of every fit the exposure, and how near it comes to the canary."""
        planted, pairs = with_canary(train, canary, copies), []
        for draw in range(refits):
            distance = sight.distance(refit.draw(planted, draw))
            pairs.append((np.mean(distance < sight.threshold), -distance.min()))
            watch()
        exposed, near = np.array(pairs).T
        return exposed, near

    (exposed4, near4), (exposed1, near1), (exposed0, near0) = map(seen, COPIES)
    label = np.repeat([1, 0], refits)
    aurocs = {
        copies: Ranking(label, np.concatenate([near, near0])).auroc
        for copies, near in ((4, near4), (1, near1))
    }
    allowed = {
        f"canary_auroc_bound_{copies}": promise(budget, copies).between_fits
        for budget in (refit.budget,)
        if budget
        for copies in aurocs
    }

    def statistic(weight: Floats) -> dict[str, float]:
        four, one, none = (
            float(np.average(exposed, weights=weight)) for exposed in (exposed4, exposed1, exposed0)
        )
        twice = np.concatenate([weight, weight])
        found = {f"canary_auroc_{copies}": auroc(twice) for copies, auroc in aurocs.items()}
        return {
            "canary_exposure_4": four,
            "canary_exposure_1": one,
            "canary_exposure_control": none,
            "canary_baseline": QUANTILE,
            "canary_advantage_4": four - none,
            "canary_advantage_1": one - none,
            **found,
            **allowed,
        }

    return scored(
        statistic,
        (refits,),
        _better,
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda metric: (-1.0 if "advantage" in metric else 0.0, 1.0),
        notes=lambda metric, _: NOTES.get(metric, "above the control by this much"),
    )


def _better(metric: str) -> Better:
    if "advantage" in metric:
        return "zero"
    return "half" if metric in ("canary_auroc_4", "canary_auroc_1") else "none"


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
    sight = _Sight(schema, canary, reference)
    return (sight.distance(synthetic) < sight.threshold).astype(np.float64)


class _Sight:
    """Distances from the canary, in spreads of the reference patients."""

    def __init__(self, schema: Schema, canary: Cohort, reference: Trajectories) -> None:
        ordinary = records(schema, reference)
        self._schema, self._scale = schema, Scale(ordinary)
        self._target = self._scale(records(schema, canary))
        self.threshold = np.quantile(self._from(ordinary), QUANTILE)

    def distance(self, found: Trajectories) -> Floats:
        return self._from(records(self._schema, found))

    def _from(self, found: Floats) -> Floats:
        return np.asarray(np.sqrt(((self._scale(found) - self._target) ** 2).sum(axis=1)))
