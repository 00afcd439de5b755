"""MEASURES: the measurements of a trial, by name. Each turns evidence into scores."""

import math
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from longsynth.audit.dependence import (
    at_lag,
    autocorrelations,
    elapsed_autocorrelation,
    real_vs_synthetic,
)
from longsynth.audit.fidelity import FIDELITY, fidelity_scores
from longsynth.audit.marginals import Measure
from longsynth.audit.metric import Metric, Score
from longsynth.audit.ranking import Predictions
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import base_rate, train_and_predict, utility_scores
from longsynth.audit.view import PER_PATIENT, columns_of, weights
from longsynth.bundle import Bundle
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.method import PrivateMethod
from longsynth.plan import plan_of
from longsynth.privacy.budget import Accounting, Budget
from longsynth.reading.records import Cohort
from longsynth.sample import sample
from longsynth.sampling.model import Model, Synthetic
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth_lab.experiments import BASE_RATE, REFERENCES, TRAIN_ON_REAL
from longsynth_lab.patients import Parts, clipping_facts, partition_facts, support_facts
from longsynth_lab.trial import Trial, population, schema_of
from longsynth_lab.variants import variant_of

REPEATS = 3  # of a timing, after one that only warms up; the median counts
MEGABYTE = 1e6
BOOSTED = "boosted_"  # before a metric's name; without it the classifier is the logistic one
OF_PREDICTIONS = ("utility", "subgroups", "boosted", "events")  # need no synthetic patients
CLASSIFIER = {"utility": "logistic", "subgroups": "logistic", "boosted": "boosted"}
TOLD_APART, TIMES = "real_vs_synthetic_auc", "times"
OTHERS_SEED = 20_000_000  # added to a seed: who changes places with its members


@dataclass(frozen=True)
class Evidence:
    """A finished trial. Predictions are computed when a measure first needs them."""

    trial: Trial
    schema: Schema
    parts: Parts
    bundle: Bundle | None  # None: nothing was fitted
    synthetic: Synthetic | Cohort | None  # None: nothing was synthesised

    @cached_property
    def predictions(self) -> Predictions:
        if self.synthetic is None:
            return base_rate(self.parts.train, self.parts.test)
        return train_and_predict(
            self.schema,
            self.synthetic,
            self.parts.test,
            weighted=self.trial.setting.weighted,
        )

    @cached_property
    def boosted_predictions(self) -> Predictions:
        if self.synthetic is None:
            return self.predictions
        return train_and_predict(self.schema, self.synthetic, self.parts.test, model="boosted")


def run(trial: Trial) -> Evidence:
    """Simulate, fit and generate as many synthetic patients as there are training patients."""
    parts, schema = population(trial.setting, trial.seed), _schema(trial)
    if trial.setting.canary:
        from longsynth.audit.refit import canary_record, with_canary

        planted = with_canary(parts.train, canary_record(schema), trial.setting.canary)
        parts = parts._replace(train=planted)
    if trial.method in (TRAIN_ON_REAL, BASE_RATE):
        kept = parts.train if trial.method == TRAIN_ON_REAL else None
        return Evidence(trial, schema, parts, None, kept)
    bundle = fitted(trial, schema, parts.train)
    return Evidence(trial, schema, parts, bundle, _draw(_model(trial, bundle), trial, parts.train))


def measured(evidence: Evidence) -> dict[str, list[Score]]:
    """Return the scores of every measure that the trial's experiments request."""
    possible = OF_PREDICTIONS if evidence.synthetic is None else tuple(MEASURES)
    wanted = [name for name in evidence.trial.measures if name in possible]
    return {name: MEASURES[name](evidence) for name in wanted}


def fitted(trial: Trial, schema: Schema, train: Cohort) -> Bundle:
    method, setting = variant_of(trial.method).method, trial.setting
    if not isinstance(method, PrivateMethod):
        return fit_without_privacy(train, schema, method.name)
    budget = _budget(setting.epsilon, setting.delta, setting.accounting)
    return fit(train, plan_of(method, schema, train.patients, budget))


@cache
def _budget(epsilon: float, delta: float, accounting: Accounting) -> Budget:
    return Budget(epsilon, delta, accounting)


def _schema(trial: Trial) -> Schema:
    """The schema that the method is given. Metrics use only its public bounds."""
    if trial.method in REFERENCES:
        return schema_of(trial.setting)
    known = schema_of(trial.setting)
    return schema_of(trial.setting, variant_of(trial.method).constants_for(known))


def _model(trial: Trial, bundle: Bundle) -> Model:
    return variant_of(trial.method).model(bundle)


def _utility(evidence: Evidence) -> list[Score]:
    return utility_scores(evidence.predictions, **_resampling(evidence))


def _subgroups(evidence: Evidence) -> list[Score]:
    return subgroup_scores(evidence.schema, evidence.predictions, **_resampling(evidence))


def _boosted(evidence: Evidence) -> list[Score]:
    """The same utility metrics from boosted trees, under separate names."""
    scores = [
        *utility_scores(evidence.boosted_predictions),
        *subgroup_scores(evidence.schema, evidence.boosted_predictions),
    ]
    return [replace(score, metric=BOOSTED + score.metric) for score in scores]


def _events(evidence: Evidence) -> list[Score]:
    """The number of test events per group, and per group and site."""
    test, schema = evidence.parts.test, evidence.schema
    found = []
    for group in (0, 1):
        chosen = test.group == group
        found.append(_plain(f"group{group}_events", float(test.event[chosen].sum())))
        for place, site in enumerate(schema.sites):
            there = chosen & (test.site == place)
            found.append(_plain(f"group{group}_site_{site}_events", float(test.event[there].sum())))
    return found


def _fidelity(evidence: Evidence) -> list[Score]:
    """Without intervals of single seeds: each resample would cost as much as the comparison."""
    return _compared(evidence, [m for m in FIDELITY if m.compute is not real_vs_synthetic])


def _fidelity_in_short(evidence: Evidence) -> list[Score]:
    """The same, with autocorrelations one slot apart only: the others take as long as all else."""
    left_out = (autocorrelations, elapsed_autocorrelation, real_vs_synthetic)
    first = [replace(m, compute=_first_lag) for m in FIDELITY if m.compute is autocorrelations]
    return _compared(evidence, [*(m for m in FIDELITY if m.compute not in left_out), *first])


def _first_lag(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    apart = at_lag(schema, real, synthetic, 1)
    return lambda *weights: {"autocorrelation_error": apart(*weights)}


def _telling_apart(evidence: Evidence) -> list[Score]:
    """On its own, as it trains a classifier and takes longer than all other comparisons."""
    return _compared(evidence, [m for m in FIDELITY if m.compute is real_vs_synthetic])


def _telling_apart_by_variable(evidence: Evidence) -> list[Score]:
    """By the summaries of one variable alone, and by what is known of times alone."""
    schema, compared = evidence.schema, (evidence.parts.judged, _made(evidence))
    columns = {v.name: columns_of(schema, place) for place, v in enumerate(schema.variables)}
    after = max(found.stop for found in columns.values())
    columns[TIMES] = slice(after, after + len(PER_PATIENT))
    return [
        _plain(f"{TOLD_APART}_{name}", value)
        for name, chosen in columns.items()
        for value in real_vs_synthetic(schema, *compared, chosen)(*map(weights, compared)).values()
    ]


def _compared(evidence: Evidence, metrics: Sequence[Metric]) -> list[Score]:
    real, drawn = evidence.parts.judged, _made(evidence)
    return fidelity_scores(evidence.schema, real, drawn, metrics=metrics)


def _membership(evidence: Evidence) -> list[Score]:
    from longsynth.audit.attacks.membership import membership_scores

    parts, drawn = evidence.parts, _made(evidence)
    return membership_scores(
        evidence.schema, parts.train, parts.control, drawn, None, **_resampling(evidence)
    )


def _membership_swapped(evidence: Evidence) -> list[Score]:
    """Run the same attacks twice, with two groups of people that swap roles.

    The method is fitted to each group, and each group is separated from the other with the release
    that contains it. A person who is easy to find by chance is then a member once and a non-member
    once, so an attacker who learns nothing from the fits expects an AUROC of 0.5, up to the noise.
    """
    from longsynth.audit.attacks.membership import membership_scores

    trial, parts, schema = evidence.trial, evidence.parts, evidence.schema
    ours, others = parts.train, population(trial.setting, OTHERS_SEED + trial.seed).train
    drawn: Synthetic | Cohort = others
    if evidence.bundle is not None:
        model = _model(trial, fitted(trial, schema, others))
        drawn = sample(model, others.patients, seed=OTHERS_SEED + trial.sample_seed)
    games = (
        membership_scores(schema, inside, outside, made, parts.control)
        for inside, outside, made in ((ours, others, _made(evidence)), (others, ours, drawn))
    )
    found = zip(*games, strict=True)
    return [
        Score(f"{one.metric}_swapped", (one.value + two.value) / 2, math.nan, math.nan, "half")
        for one, two in found
        if not one.metric.endswith("control")
    ]


def _attribute(evidence: Evidence) -> list[Score]:
    from longsynth.audit.attacks.attribute import attribute_scores

    parts, drawn = evidence.parts, _made(evidence)
    return attribute_scores(evidence.schema, parts.train, parts.control, drawn)


def _canary(evidence: Evidence) -> list[Score]:
    from longsynth.audit.attacks.canary import exposure
    from longsynth.audit.refit import canary_record

    schema, control = evidence.schema, evidence.parts.control
    exposed = exposure(schema, _made(evidence), canary_record(schema), control)
    return [_plain("canary_exposure", exposed)]


def _resampling(evidence: Evidence) -> dict[str, Any]:
    return {"bootstrap": evidence.trial.bootstrap, "seed": evidence.trial.seed}


def _cost(evidence: Evidence) -> list[Score]:
    """Seconds to fit and to sample, and the peak of traced memory over both, measured separately.

    Building the model from a bundle counts as fitting, since alg:fit ends with it.
    """
    trial, schema, train = evidence.trial, evidence.schema, evidence.parts.train
    fits, samples = [], []
    for _ in range(REPEATS):  # `run` has warmed everything up
        start = time.perf_counter()
        model = _model(trial, fitted(trial, schema, train))
        middle = time.perf_counter()
        _draw(model, trial, train)
        fits.append(middle - start)
        samples.append(time.perf_counter() - middle)
    tracemalloc.start()
    try:
        _draw(_model(trial, fitted(trial, schema, train)), trial, train)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return [
        _plain("fit_seconds", sorted(fits)[REPEATS // 2]),
        _plain("sample_seconds", sorted(samples)[REPEATS // 2]),
        _plain("peak_mb", peak / MEGABYTE),
    ]


def _draw(model: Model, trial: Trial, train: Cohort) -> Synthetic:
    return sample(model, train.patients, seed=trial.sample_seed)


def _plain(metric: str, value: float) -> Score:
    return Score(metric, value, float("nan"), float("nan"), "lower")


def _made(evidence: Evidence) -> Synthetic | Cohort:
    if evidence.synthetic is None:
        raise TypeError("nothing was synthesised")
    return evidence.synthetic


def _dataset(evidence: Evidence) -> list[Score]:
    """The facts of tab:dataset, support and clipping. All of these patients are simulated."""
    parts, schema = evidence.parts, evidence.schema
    everyone = Cohort.joined([parts.train, parts.control])
    named = {"all": everyone, "train": parts.train, "test": parts.test}
    return [
        Score(f"{part}_{fact}", value, float("nan"), float("nan"), "none")
        for part, cohort in named.items()
        for facts in (
            partition_facts(cohort),
            support_facts(cohort, schema),
            clipping_facts(cohort, schema),
        )
        for fact, value in facts.items()
    ]


MEASURES: dict[str, Callable[[Evidence], list[Score]]] = {
    "utility": _utility,
    "subgroups": _subgroups,
    "boosted": _boosted,
    "events": _events,
    "fidelity": _fidelity,
    "fidelity in short": _fidelity_in_short,
    "telling apart": _telling_apart,
    "telling apart by variable": _telling_apart_by_variable,
    "membership": _membership,
    "membership swapped": _membership_swapped,
    "attribute": _attribute,
    "canary": _canary,
    "cost": _cost,
    "dataset": _dataset,
}
