"""An audit's scores as tables and figures, each next to what it must be compared with."""

from dataclasses import dataclass

from longsynth.audit.metric import ARROWS
from longsynth.audit.registry import find_metric, shown_in
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC, SYNTHETIC, TRAINING
from longsynth.schema.schema import Schema
from longsynth.show.dossier.audit_file import Audit, Curves, ScoreRecord
from longsynth.show.dossier.bars import Row, forest
from longsynth.show.dossier.lines import curve
from longsynth.show.dossier.svg import Figure, Series
from longsynth.show.dossier.words import GAPS, GROUPS, gap_unit, metric_label, short, sides_of

ATTACKS = {"mia_auc": "distance", "mia_density_auc": "density"}  # how each finds members
TRAINED = {
    ON_REAL: Series("train on real", "real"),
    ON_SYNTHETIC: Series("train on synthetic", "synthetic"),
}


@dataclass(frozen=True, slots=True)
class Table:
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def utility(audit: Audit) -> Table:
    metrics, rows = shown_in("dossier", "utility"), []
    for row, model, weighted in audit.rows("utility"):
        scores = audit.of("utility", row, model, weighted)
        name = ", ".join(w for w in (row, model, "" if weighted else "unweighted") if w)
        rows.append((name, *(_shown(scores.get(metric)) for metric in metrics)))
    headings = [metric.heading for name in metrics if (metric := find_metric(name))]
    caption = "Each row's patients train a model, which predicts the real test patients"
    return Table(caption, ("trained on", *headings), tuple(rows))


def subgroups(schema: Schema, audit: Audit) -> Table:
    """One line per group, and per group at a site; the two logistic models and the base rate."""
    sources = [
        (row, model, weighted)
        for row, model, weighted in audit.rows("subgroups")
        if model in ("", "logistic") and weighted
    ]
    columns = [audit.of("subgroups", *source) for source in sources]
    rows = tuple(
        (
            _heading(schema, score),
            *(_shown(scores.get(metric)) for scores in columns),
            next((s[metric].note for s in columns if metric in s and s[metric].note), ""),
        )
        for metric, score in (columns[0].items() if columns else ())
    )
    head = ("metric", *(row for row, _, _ in sources), "note")
    return Table("By group, and by group at each site", head, rows)


def beside(
    schema: Schema, audit: Audit, section: str, caption: str, only: tuple[str, ...] = ()
) -> Table:
    """One line per metric: synthetic patients next to the fitted patients themselves."""
    synthetic, training = (audit.of(section, row) for row in (SYNTHETIC, TRAINING))
    hours = gap_unit(schema).hours
    synthetic, training = (
        {m: s.divided(hours) if m == GAPS else s for m, s in scores.items()}
        for scores in (synthetic, training)
    )
    rows = tuple(
        (_heading(schema, score), _shown(score), _shown(training.get(metric)), score.note)
        for metric, score in synthetic.items()
        if not only or metric in only
    )
    return Table(caption, ("metric", "synthetic", "real, fitted", "note"), rows)


def canaries(schema: Schema, audit: Audit) -> Table | None:
    """All canary scores: every row that is neither synthetic nor training patients."""
    scores = canary_scores(audit).values()
    if not scores:
        return None
    rows = tuple((_heading(schema, s), _shown(s), s.note) for s in scores)
    caption = "Canaries: an extreme patient planted before fits"
    return Table(caption, ("metric", "result", "note"), rows)


def canary_scores(audit: Audit) -> dict[str, ScoreRecord]:
    others = [row for row, _, _ in audit.rows("attacks") if row not in (SYNTHETIC, TRAINING)]
    return {m: s for row in others for m, s in audit.of("attacks", row).items()}


def attack_figure(audit: Audit) -> Figure:
    """Both membership attacks, their controls, and the same attacks where they must succeed."""
    synthetic, training = (audit.of("attacks", row) for row in (SYNTHETIC, TRAINING))
    rows = []
    for metric, name in ATTACKS.items():
        rows += [
            _row(f"{name}: synthetic", "synthetic", synthetic.get(metric)),
            _row(f"{name}: outsiders only", "training", synthetic.get(f"{metric}_control")),
            _row(f"{name}: on fitted patients", "real", training.get(metric)),
        ]
    summary = (
        "Dotted: guessing, 0.5. “Outsiders only” shows how far the attack deviates by chance; “on "
        "fitted patients” shows what success looks like."
    )
    return _forest("attacks", "Membership attacks", summary, rows, 0.5, (0.3, 1.02))


def group_figure(schema: Schema, audit: Audit) -> Figure:
    trained = {
        ON_SYNTHETIC: ("synthetic", "synthetic"),
        ON_REAL: ("real", "real"),
        BASE_RATE: ("base rate", "training"),
    }
    rows = []
    for group in GROUPS:
        for number, level in enumerate(sides_of(schema, group)):
            for row, (on, class_) in trained.items():
                scores = audit.of("subgroups", row, "" if row == BASE_RATE else "logistic")
                score = scores.get(f"{group}{number}_auprc")
                rows.append(_row(f"{short(level, 15)} · {on}", class_, score))
    most = max([0.1, *(r.upper or r.value or 0.0 for r in rows)])
    summary = (
        "After training on synthetic or real patients. Guessing reaches a group's own event rate, "
        "so groups differ even under equal skill: compare rows of the same group."
    )
    title, span = "Average precision by group, logistic", (0.0, min(most * 1.05, 1.0))
    return _forest("groups", title, summary, rows, 0.0, span)


def _forest(
    id_: str, title: str, summary: str, rows: list[Row], nothing: float, span: tuple[float, float]
) -> Figure:
    values = "; ".join(f"{r.name} {'–' if r.value is None else f'{r.value:.2f}'}" for r in rows)
    picture = forest(id_, title, f"{summary} {values}.", rows, nothing, span)
    return Figure(id_, title, picture, summary)


def _row(name: str, class_: str, score: ScoreRecord | None) -> Row:
    if score is None:
        return Row(name, class_, None, None, None)
    return Row(name, class_, score.value, score.lower, score.upper)


def _shown(score: ScoreRecord | None) -> str:
    return "–" if score is None else score.shown()


def _heading(schema: Schema, score: ScoreRecord) -> str:
    arrow = {str(better): arrow for better, arrow in ARROWS.items()}.get(score.better, "")
    return f"{metric_label(schema, score.metric)} {arrow}".strip()


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
