"""Audit: every metric and attack on one synthetic cohort, each next to its reference.

Utility stands next to training on real patients and to the base rate. Fidelity stands next to the
training cohort's own distance from the test cohort, which no generator can be asked to beat.
Attacks stand next to the same attacks on the training patients themselves, which shows what success
looks like. Canaries stand next to fits in which none was planted.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from longsynth.audit.classifiers import MODELS, NUMBER_MODELS, require_sklearn
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.inputs import in_two, patients_of
from longsynth.audit.metric import Score
from longsynth.audit.ranking import Predictions
from longsynth.audit.refit import Refit, canary_scores
from longsynth.audit.registry import metrics_of
from longsynth.audit.regression import Estimates, estimated, number_scores, part_mae
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
from longsynth.audit.subgroups import (
    Parts,
    fairness_scores,
    part_scores,
    parts_of,
    subgroup_scores,
)
from longsynth.audit.survival import (
    Reference,
    Survival,
    part_concordance,
    reference,
    survival,
    survival_scores,
)
from longsynth.audit.targets import Patients, Target, Task, targets_of
from longsynth.audit.utility import classified, utility_scores
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
    train, test = patients_of(schema, train), patients_of(schema, test)
    synthetic = patients_of(schema, synthetic, weighted=True)
    control = test if control is None else patients_of(schema, control)
    rows: list[ScoreRow] = []

    def add(section: str, source: Source, scores: list[Score]) -> None:
        rows.extend(ScoreRow(section, source, score) for score in scores)

    resampling: Any = {"bootstrap": bootstrap, "seed": seed}
    cases = list(predicted_outcomes(*(Patients(schema, c) for c in (train, test, synthetic))))
    for case in cases:
        add("utility", case.source, case.scores(**resampling))
    for case in cases:
        add("subgroups", case.source, case.by_part(schema, **resampling))
    train, test, synthetic, control = map(in_two, (train, test, synthetic, control))
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
        predictions={c.source: c.made for c in cases if isinstance(c.made, Predictions)},
        patients={
            "train": train.patients,
            "test": test.patients,
            "synthetic": synthetic.patients,
            "control": control.patients,
        },
        bootstrap=bootstrap,
        refitted=refit.name if refit else "",
    )


class Case(NamedTuple):
    """What one model predicted of one outcome, for the test patients whose outcome is known."""

    source: Source
    made: Predictions | Estimates | Survival
    parts: Parts

    def __repr__(self) -> str:
        return f"Case({self.source})"

    def scores(self, **resampling: Any) -> list[Score]:
        if isinstance(self.made, Predictions):
            return utility_scores(self.made, **resampling)
        if isinstance(self.made, Estimates):
            return number_scores(self.made, **resampling)
        return survival_scores(self.made, **resampling)

    def by_part(self, schema: Schema, **resampling: Any) -> list[Score]:
        if isinstance(self.made, Predictions):
            return [
                *subgroup_scores(schema, self.made, parts=self.parts, **resampling),
                *fairness_scores(self.made, self.parts, **resampling),
            ]
        if isinstance(self.made, Estimates):
            measures, counted = {"mae": part_mae(self.made)}, np.ones(len(self.made.actual), int)
        else:
            measures = {"concordance": part_concordance(self.made)}
            counted = self.made.happened.astype(np.int64)
        return part_scores(self.parts, measures, counted, gaps=tuple(measures), **resampling)


def predicted_outcomes(
    train: Patients, test: Patients, synthetic: Patients, *, models: Collection[str] | None = None
) -> Iterator[Case]:
    """Predict each outcome of the test patients: after training on synthetic and on real patients,
    and by the base rate. Only for the primary outcome, also without the synthetic weights. `models`
    names those wanted, "" for the base rate; by default all."""
    parts = parts_of(test.schema, test.cohort)
    for outcome in test.schema.outcomes:
        targets = tuple(t for t in targets_of(test.schema) if t.outcome == outcome)
        prepared = reference(targets, train, test) if targets[0].task == "survival" else None
        known = parts.among(test.actual(targets[0]).known)
        for row, model, weighted in _rows(targets[0]):
            if models is not None and model not in models:
                continue
            trained = synthetic if row == ON_SYNTHETIC else train
            for target, made in _made(targets, prepared, trained, test, model, weighted):
                yield Case(Source(row, model, weighted, target.name), made, known)


def _rows(target: Target) -> Iterator[tuple[str, str, bool]]:
    models: dict[Task, tuple[str, ...]] = {
        "classification": MODELS,
        "regression": NUMBER_MODELS,
        "survival": ("Cox",),
    }
    for model in models[target.task]:
        yield ON_SYNTHETIC, model, True
        if target.primary:
            yield ON_SYNTHETIC, model, False
        yield ON_REAL, model, True
    yield BASE_RATE, "", True


def _made(
    targets: tuple[Target, ...],
    prepared: Reference | None,
    train: Patients,
    test: Patients,
    model: Any,
    weighted: bool,
) -> Iterator[tuple[Target, Predictions | Estimates | Survival]]:
    if prepared is not None:
        made = survival(prepared, train, model=bool(model), weighted=weighted)
        yield from zip(targets, made, strict=True)
        return
    for target in targets:
        predict: Any = classified if target.task == "classification" else estimated
        yield target, predict(target, train, test, model=model or None, weighted=weighted)
