"""Canary: an extreme patient is planted before a fit and looked for among the synthetic ones.

Each method is fitted with and without it. A rate means nothing on its own: compare it with that of
a fit without the canary. Many methods never generate such an extreme record, planted or not, so an
attacker also asks which of two releases comes closer to it. Four copies are a group of four, for
which ε guarantees far less than for one patient; a single copy tests the guarantee itself.

How far a budget lets any attacker get stands here too. A ρ-zCDP release satisfies (ε, δ) for every
δ at once, and k²ρ for a group of k patients. So a bound is the best of many pairs, the claimed one
among them. docs/metrics.md derives both bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import numpy as np

from longsynth.audit.attacks.membership import Scale, records
from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import Ranking
from longsynth.privacy.budget import Budget, epsilon_of
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

QUANTILE = 0.01  # of the control patients' distances to the canary: closer is an exposure
COPIES = (4, 1, 0)  # the paper's, the guarantee's, and the control's
REFITS = 16  # of each: one fit's noise says little
CELLS = 1000  # of an area
DELTAS = tuple(10.0**-k for k in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 8))


@dataclass(frozen=True, slots=True)
class AttackBound:
    """Pairs (e^ε, δ), all of which hold for one patient or for a group of some size."""

    pairs: tuple[tuple[float, float], ...]

    def most(self, rate: float) -> float:
        """The largest probability of an event that has this probability without the patients."""
        ways = ((g * rate + d, 1 - (1 - rate - d) / g) for g, d in self.pairs)
        return min(1.0, *(bound for both in ways for bound in both))

    @property
    def between_people(self) -> float:
        """The largest AUROC at telling a member from an outsider by one release."""
        return min((growth + delta) / (1 + growth) for growth, delta in self.pairs)

    @property
    def between_fits(self) -> float:
        """The largest AUROC at telling releases with the patients from releases without them:
        the area below `most`, from above, as the curve is concave."""
        middles = (np.arange(CELLS) + 0.5) / CELLS
        return float(np.mean([self.most(float(rate)) for rate in middles]))


def attack_bound(budget: Budget, copies: int = 1) -> AttackBound:
    """Return what a budget means for a group; for one patient the claimed pair is part of it."""
    rho = budget.rho * copies**2
    pairs = [(epsilon_of(rho, delta, "zcdp"), delta) for delta in DELTAS]
    if copies == 1:
        pairs.append((budget.epsilon, budget.delta))
    return AttackBound(tuple((exp(min(epsilon, 700.0)), delta) for epsilon, delta in pairs))


def canary_attack(
    schema: Schema,
    canary: Trajectories,
    reference: Trajectories,
    fits: Callable[[int, int], Trajectories],
    budget: Budget | None,
    *,
    refits: int = REFITS,
    watch: Callable[[], None] = lambda: None,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Fit many times with four canaries, with one and with none, and compare exposures.

    `fits(copies, seed)` returns synthetic patients from a fit with so many copies planted. All
    three share the seeds, so that no difference is due to seeds. Intervals resample fits, not
    patients: noise differs between fits, the canary does not. `watch` is called after each fit.
    """
    to_canary = _Distance(schema, canary, reference)

    def exposures(copies: int) -> tuple[Floats, Floats]:
        """For every fit the exposure, and how close it comes to the canary."""
        pairs = []
        for draw in range(refits):
            distance = to_canary(fits(copies, draw))
            pairs.append((np.mean(distance < to_canary.threshold), -distance.min()))
            watch()
        exposed, near = np.array(pairs).T
        return exposed, near

    (exposed4, near4), (exposed1, near1), (exposed0, near0) = map(exposures, COPIES)
    label = np.repeat([1, 0], refits)
    aurocs = {
        copies: Ranking(label, np.concatenate([near, near0])).auroc
        for copies, near in ((4, near4), (1, near1))
    }
    bounds = {}
    if budget is not None:
        for copies in aurocs:
            bounds[f"canary_auroc_bound_{copies}"] = attack_bound(budget, copies).between_fits

    def statistic(weight: Floats) -> dict[str, float]:
        four, one, none = (
            float(np.average(exposed, weights=weight)) for exposed in (exposed4, exposed1, exposed0)
        )
        twice = np.concatenate([weight, weight])
        return {
            "canary_exposure_4": four,
            "canary_exposure_1": one,
            "canary_exposure_control": none,
            "canary_baseline": QUANTILE,
            "canary_advantage_4": four - none,
            "canary_advantage_1": one - none,
            **{f"canary_auroc_{copies}": auroc(twice) for copies, auroc in aurocs.items()},
            **bounds,
        }

    return scored(statistic, (refits,), CANARIES, bootstrap=bootstrap, seed=seed)


def exposure(
    schema: Schema, synthetic: Trajectories, canary: Trajectories, reference: Trajectories
) -> float:
    """Return the share of synthetic records closer to the canary than `QUANTILE` of the reference
    patients are: about that quantile, if nothing was learnt from the canary."""
    to_canary = _Distance(schema, canary, reference)
    return float((to_canary(synthetic) < to_canary.threshold).mean())


class _Distance:
    """Distances from the canary, in standard deviations of the reference patients."""

    def __init__(self, schema: Schema, canary: Trajectories, reference: Trajectories) -> None:
        ordinary = records(schema, reference)
        self._schema, self._scale = schema, Scale(ordinary)
        self._target = self._scale(records(schema, canary))
        self.threshold = np.quantile(self._of(ordinary), QUANTILE)

    def __call__(self, cohort: Trajectories) -> Floats:
        return self._of(records(self._schema, cohort))

    def _of(self, points: Floats) -> Floats:
        return np.asarray(np.sqrt(((self._scale(points) - self._target) ** 2).sum(axis=1)))


# Computed from fits with and without planted canaries.
CANARIES = [
    Metric(
        "canary_exposure_4",
        "canary exposure, four copies",
        "none",
        "The share of synthetic records closer to the canary than the closest one per cent of "
        "control patients. Four copies are a group, for which the guarantee is far weaker than for "
        "one patient.",
        canary_attack,
        note="a group of four, for which the guarantee is far weaker than for one",
        compare="`canary_exposure_control`",
    ),
    Metric(
        "canary_exposure_1",
        "canary exposure, one copy",
        "none",
        "The same with one copy, which is what the guarantee covers.",
        canary_attack,
        note="one planted patient, which is what the guarantee covers",
        compare="`canary_exposure_control`",
    ),
    Metric(
        "canary_exposure_control",
        "· control: none planted",
        "none",
        "The same with no canary: the effect of the population alone.",
        canary_attack,
        note="no canary planted: the effect of the population alone",
        compare="`canary_baseline`",
    ),
    Metric(
        "canary_baseline",
        "· baseline by definition",
        "none",
        "One per cent, by definition of the attack.",
        canary_attack,
        note="by definition of the attack, if synthetic patients were real outsiders",
    ),
    Metric(
        "canary_advantage_<copies>",
        "exposure above the control, <copies> planted",
        "zero",
        "Exposure above the control, with four copies or one.",
        canary_attack,
        limits=(-1.0, 1.0),
        note="above the control by this much",
    ),
    Metric(
        "canary_auroc_<copies>",
        "fits distinguished, AUC, <copies> planted",
        "half",
        "The probability that the nearest synthetic record is closer to the canary in a fit with "
        "it than in a fit without.",
        canary_attack,
        note="a fit with the canary distinguished from one without it, by distance to it",
        compare="the bound",
    ),
    Metric(
        "canary_auroc_bound_<copies>",
        "· bound by the budget, <copies> planted",
        "none",
        "What the budget allows any attacker to expect; absent for methods without a guarantee.",
        canary_attack,
        note="no attacker can expect more, by the budget",
    ),
]
