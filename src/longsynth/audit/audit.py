"""Audit: every metric and attack on one synthetic cohort, each beside what it must be read with.

Utility stands beside training on real patients and beside the base rate. Fidelity stands beside the
training cohort's own distance from the test cohort, which no generator can be asked to beat.
Attacks stand beside the same attacks on the training patients themselves: that is how they look
when they succeed. Canaries stand beside fits in which none was planted.
"""

from collections.abc import Callable, Iterator
from typing import Any

from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.attacks.canary import Refit, canary_scores
from longsynth.audit.attacks.membership import membership_scores
from longsynth.audit.classifiers import MODELS, require_sklearn
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.result import (
    BASE_RATE,
    ON_REAL,
    ON_SYNTHETIC,
    REFITS,
    SYNTHETIC,
    TRAINING,
    AuditResult,
    Row,
    Source,
)
from longsynth.audit.score import Score
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import Predictions, base_rate, train_and_predict, utility_scores
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema


def audit(
    schema: Schema,
    train: Trajectories,
    test: Trajectories,
    synthetic: Trajectories,
    control: Trajectories | None = None,
    *,
    refit: Refit | None = None,
    watch: Callable[[], None] = lambda: None,
    bootstrap: int = 200,
    seed: int = 0,
) -> AuditResult:
    """Audit synthetic patients. `control`, by default the test cohort, takes the outsiders' part
    in attacks; neither may have been part of the fit. With `refit` canaries are planted too, and
    `watch` is called after each of its fits."""
    require_sklearn()
    control = test if control is None else control
    predictions = dict(_predictions(schema, train, test, synthetic))
    rows: list[Row] = []

    def add(section: str, source: Source, scores: list[Score]) -> None:
        rows.extend(Row(section, source, score) for score in scores)

    chance: Any = {"bootstrap": bootstrap, "seed": seed}
    for source, found in predictions.items():
        add("utility", source, utility_scores(found, **chance))
    for source, found in predictions.items():
        add("subgroups", source, subgroup_scores(schema, found, **chance))
    for name, judged in ((SYNTHETIC, synthetic), (TRAINING, train)):
        add("fidelity", Source(name), fidelity_scores(schema, test, judged, **chance))
    for name, judged in ((SYNTHETIC, synthetic), (TRAINING, train)):
        for attack in (membership_scores, attribute_scores):
            add("attacks", Source(name), attack(schema, train, control, judged, **chance))
    if refit is not None:
        planted = canary_scores(schema, train, control, refit, watch=watch, **chance)
        add("attacks", Source(REFITS), planted)
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
            found = train_and_predict(schema, synthetic, test, model=model, weighted=weighted)
            yield Source(ON_SYNTHETIC, model, weighted), found
        yield Source(ON_REAL, model), train_and_predict(schema, train, test, model=model)
    yield Source(BASE_RATE), base_rate(train, test)
