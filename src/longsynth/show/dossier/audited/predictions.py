"""ROC, precision and recall, and calibration: trained on synthetic, on real, and the base rate."""

from dataclasses import dataclass

from longsynth.show.dossier.audited.audit_file import (
    BASE_RATE,
    ON_REAL,
    ON_SYNTHETIC,
    Audit,
    Curves,
)
from longsynth.show.dossier.charts.lines import curve
from longsynth.show.dossier.charts.svg import Figure, Series

TRAINED = {
    ON_REAL: Series("train on real", "real"),
    ON_SYNTHETIC: Series("train on synthetic", "synthetic"),
}


@dataclass(frozen=True, slots=True)
class Predicted:
    model: str
    figures: tuple[Figure, ...]


def predicted(audit: Audit) -> tuple[Predicted, ...]:
    """Three pictures for each classifier."""
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
        {series: found.roc for series, found in chosen.items()},
        ("false alarms", "events found"),
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
        {series: found.pr for series, found in chosen.items()},
        ("events found", "alarms that are right"),
        floor=base.value if base else None,
    )
    return Figure(f"pr-{model}", "Precision and recall", picture, summary)


def _calibration(model: str, chosen: dict[Series, Curves]) -> Figure:
    summary = "On the dotted line predictions come true as often as they say. Size: patients."
    picture = curve(
        f"calibration-{model}",
        f"Calibration, {model}",
        summary,
        {series: (found.calibration[0], found.calibration[1]) for series, found in chosen.items()},
        ("predicted", "observed"),
        diagonal=True,
        dots={series: found.calibration[2] for series, found in chosen.items()},
    )
    return Figure(f"calibration-{model}", "Calibration", picture, summary)


def _scores(audit: Audit, model: str, metric: str) -> str:
    told = []
    for row, series in TRAINED.items():
        score = audit.of("utility", row, model).get(metric)
        told.append(f"{series.name} {'–' if score is None else score.shown(2)}")
    return f"{metric.upper()}: {'; '.join(told)}."
