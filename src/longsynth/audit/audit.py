"""Audit: every metric and attack on one synthetic cohort, each next to its reference.

Utility stands next to training on real patients and to the base rate. Fidelity stands next to the
training cohort's own distance from the test cohort, which no generator can be asked to beat.
Attacks stand next to the same attacks on the training patients themselves, which shows what success
looks like. Canaries stand next to fits in which none was planted.
"""

from collections.abc import Callable, Iterator
from typing import Any

from longsynth.audit.classifiers import MODELS, require_sklearn
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.inputs import in_two, patients_of
from longsynth.audit.metric import Score
from longsynth.audit.ranking import Predictions
from longsynth.audit.refit import Refit, canary_scores
from longsynth.audit.registry import metrics_of
from longsynth.audit.result import (
    BASE_RATE,
    ON_REAL,
    ON_SYNTHETIC,
    REFITS,
    SYNTHETIC,
    TRAINING,
    AuditResult,
    ScoreRow,
    Source,
)
from longsynth.audit.utility import base_rate, subgroup_scores, train_and_predict, utility_scores
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.errors import checked

Given = Trajectories | tuple[Any, Any]  # or data frames: observations and patients


@checked(schema="Call load_schema(path) first.")
def audit(
    schema: Schema,
    train: Given,
    test: Given,
    synthetic: Given,
    control: Given | None = None,
    *,
    refit: Refit | None = None,
    watch: Callable[[], None] = lambda: None,
    bootstrap: int = 200,
    seed: int = 0,
) -> AuditResult:
    """Compare synthetic patients with those that were fitted and with held-out ones. All scores
    are internal: they are computed from real patients.

    Each of them is a `Cohort`, `Synthetic` patients or a pair of data frames. `control`, by default
    the test cohort, are the outsiders of the attacks; neither may have been part of the fit. With
    `refit` canaries are planted too, and `watch` is called after each of its fits.

    >>> import longsynth
    >>> schema, train = longsynth.read_cohort("cohort")
    >>> test = longsynth.simulate(200, seed=2)  # yours are held out
    >>> model = longsynth.model_of(longsynth.load_release("run/release"))
    >>> synthetic = longsynth.sample(model, 200, seed=3)
    >>> longsynth.audit(schema, train, test, synthetic, bootstrap=0)  # doctest: +ELLIPSIS
    AuditResult(... scores from 200 train, 200 test, 200 synthetic, 200 control patients; internal)
    """
    require_sklearn()
    train, test = in_two(patients_of(schema, train)), in_two(patients_of(schema, test))
    synthetic = in_two(patients_of(schema, synthetic, weighted=True))
    control = test if control is None else in_two(patients_of(schema, control))
    predictions = dict(_predictions(schema, train, test, synthetic))
    rows: list[ScoreRow] = []

    def add(section: str, source: Source, scores: list[Score]) -> None:
        rows.extend(ScoreRow(section, source, score) for score in scores)

    resampling: Any = {"bootstrap": bootstrap, "seed": seed}
    for source, predicted in predictions.items():
        add("utility", source, utility_scores(predicted, **resampling))
    for source, predicted in predictions.items():
        add("subgroups", source, subgroup_scores(schema, predicted, **resampling))
    cohorts = {SYNTHETIC: synthetic, TRAINING: train}
    for name, cohort in cohorts.items():
        add("fidelity", Source(name), fidelity_scores(schema, test, cohort, **resampling))
    attacks = dict.fromkeys(metric.compute for metric in metrics_of("attacks"))
    for name, cohort in cohorts.items():
        for attack in attacks:
            add("attacks", Source(name), attack(schema, train, control, cohort, **resampling))
    if refit is not None:
        scores = canary_scores(schema, train, control, refit, watch=watch, **resampling)
        add("attacks", Source(REFITS), scores)
    return AuditResult(
        schema=schema,
        rows=rows,
        predictions=predictions,
        patients={
            "train": train.patients,
            "test": test.patients,
            "synthetic": synthetic.patients,
            "control": control.patients,
        },
        bootstrap=bootstrap,
        refitted=refit.name if refit else "",
    )


def _predictions(
    schema: Schema, train: Trajectories, test: Trajectories, synthetic: Trajectories
) -> Iterator[tuple[Source, Predictions]]:
    for model in MODELS:
        for weighted in (True, False):
            predicted = train_and_predict(schema, synthetic, test, model=model, weighted=weighted)
            yield Source(ON_SYNTHETIC, model, weighted), predicted
        yield Source(ON_REAL, model), train_and_predict(schema, train, test, model=model)
    yield Source(BASE_RATE), base_rate(train, test)
