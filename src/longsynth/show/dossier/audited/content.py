"""What the internal edition's template needs: tables, verdicts, and the curves of predictions."""

from dataclasses import dataclass
from typing import Any

from longsynth.audit.registry import find_metric, shown_in
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC
from longsynth.schema.schema import Schema
from longsynth.show.dossier.audited.audit_file import Audit, Curves
from longsynth.show.dossier.audited.panels import compared
from longsynth.show.dossier.audited.tables import (
    attack_figure,
    beside,
    canaries,
    group_figure,
    subgroups,
    utility,
)
from longsynth.show.dossier.audited.verdicts import verdicts
from longsynth.show.dossier.charts.lines import curve
from longsynth.show.dossier.charts.svg import Figure, Series

CONTENTS = (
    ("verdicts", "What the audit found"),
    ("compared", "Real against synthetic"),
    ("along", "Along the record"),
    ("rhythm", "Missing, gaps, visits"),
    ("dependence", "Correlations"),
    ("prediction", "Prediction"),
    ("subgroups", "Groups and sites"),
    ("attacks", "Attacks"),
)
TRAINED = {
    ON_REAL: Series("train on real", "real"),
    ON_SYNTHETIC: Series("train on synthetic", "synthetic"),
}


def internal_content(schema: Schema, audit: Audit, auc_limit: str) -> dict[str, Any]:
    distance = "Distance from held-out real patients; lower is closer"
    return {
        "verdicts": verdicts(audit, auc_limit),
        "sizes": {name: f"{count:,}" for name, count in audit.panels.patients.items()},
        "bootstrap": audit.panels.bootstrap,
        "compared": compared(schema, audit),
        "parts": {"all": "all patients", "event": "by event", "group": "by group"},
        "predicted": predicted(audit),
        "utility": utility(audit),
        "fidelity": beside(audit, "fidelity", distance, shown_in("dossier", "fidelity")),
        "groups": group_figure(audit),
        "subgroups": subgroups(schema, audit),
        "attack_figure": attack_figure(audit),
        "attacks": beside(audit, "attacks", "Every attack, its control and its baseline"),
        "canaries": canaries(audit),
    }


@dataclass(frozen=True, slots=True)
class Predicted:
    model: str
    figures: tuple[Figure, ...]


def predicted(audit: Audit) -> tuple[Predicted, ...]:
    """ROC, precision and recall, and calibration, for each classifier."""
    models = list(dict.fromkeys(c.model for c in audit.panels.curves if c.model))
    return tuple(Predicted(model, _figures(audit, model)) for model in models)


def _figures(audit: Audit, model: str) -> tuple[Figure, ...]:
    chosen = {
        TRAINED[c.row]: c
        for row in TRAINED
        for c in audit.panels.curves
        if c.row == row and c.model == model and c.weighted
    }
    return (_roc(audit, model, chosen), _pr(audit, model, chosen), _calibration(model, chosen))


def _roc(audit: Audit, model: str, chosen: dict[Series, Curves]) -> Figure:
    summary = f"{_scores(audit, model, 'auroc')} Dotted: the base rate, which ranks nobody."
    picture = curve(
        f"roc-{model}",
        f"ROC, {model}",
        summary,
        {series: curves.roc for series, curves in chosen.items()},
        ("false positive rate", "true positive rate"),
        diagonal=True,
    )
    return Figure(f"roc-{model}", "ROC", picture, summary)


def _pr(audit: Audit, model: str, chosen: dict[Series, Curves]) -> Figure:
    base = audit.of("utility", BASE_RATE).get("auprc")
    summary = f"{_scores(audit, model, 'auprc')} Dotted: the base rate."
    picture = curve(
        f"pr-{model}",
        f"Precision and recall, {model}",
        summary,
        {series: curves.pr for series, curves in chosen.items()},
        ("recall", "precision"),
        floor=base.value if base else None,
    )
    return Figure(f"pr-{model}", "Precision and recall", picture, summary)


def _calibration(model: str, chosen: dict[Series, Curves]) -> Figure:
    summary = "On the dotted line, predicted and observed rates agree. Size: patients."
    picture = curve(
        f"calibration-{model}",
        f"Calibration, {model}",
        summary,
        {series: (c.calibration[0], c.calibration[1]) for series, c in chosen.items()},
        ("predicted", "observed"),
        diagonal=True,
        dots={series: c.calibration[2] for series, c in chosen.items()},
    )
    return Figure(f"calibration-{model}", "Calibration", picture, summary)


def _scores(audit: Audit, model: str, name: str) -> str:
    values = []
    for row, series in TRAINED.items():
        score = audit.of("utility", row, model).get(name)
        values.append(f"{series.name} {'–' if score is None else score.shown(2)}")
    metric = find_metric(name)
    return f"{metric.label if metric else name}: {'; '.join(values)}."
