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
from longsynth.show.dossier.words import (
    GAPS,
    capital,
    gap_unit,
    levels_only,
    metric_label,
    short,
    target_name,
)

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


def utility(schema: Schema, audit: Audit) -> tuple[Table, ...]:
    """One table per outcome."""
    return tuple(_utility(schema, audit, outcome) for outcome in audit.outcomes)


def _utility(schema: Schema, audit: Audit, outcome: str) -> Table:
    sources = audit.rows("utility", outcome)
    computed = audit.of("utility", *sources[0], outcome)
    metrics, rows = [m for m in shown_in("dossier", "utility") if m in computed], []
    for row, model, weighted in sources:
        scores = audit.of("utility", row, model, weighted, outcome)
        name = ", ".join(w for w in (row, model, "" if weighted else "unweighted") if w)
        rows.append((name, *(_shown(scores.get(metric)) for metric in metrics)))
    headings = [metric.heading for name in metrics if (metric := find_metric(name))]
    says = "each row's patients train a model, which predicts the real test patients"
    caption = f"{capital(target_name(schema, outcome))}: {says}"
    return Table(caption, ("trained on", *headings), tuple(rows))


def subgroups(schema: Schema, audit: Audit) -> tuple[Table, ...]:
    """One table per outcome, one line per metric; the simplest model and the base rate."""
    tables = []
    for outcome in audit.outcomes:
        sources = [
            (row, model, weighted)
            for row, model, weighted in audit.rows("subgroups", outcome)
            if model in ("", audit.first_model(outcome)) and weighted
        ]
        columns = [audit.of("subgroups", *source, outcome) for source in sources]
        rows = tuple(
            (
                _heading(schema, score),
                *(_shown(scores.get(metric)) for scores in columns),
                next((s[metric].note for s in columns if metric in s and s[metric].note), ""),
            )
            for metric, score in (columns[0].items() if columns else ())
        )
        head = ("metric", *(row for row, _, _ in sources), "note")
        caption = f"{capital(target_name(schema, outcome))}: by group, and by group at each site"
        tables += [Table(caption, head, rows)] if rows else []
    return tuple(tables)


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


def group_figures(schema: Schema, audit: Audit) -> tuple[Figure, ...]:
    """For each outcome, how well every part of the patients is served."""
    figures = []
    for number, outcome in enumerate(audit.outcomes):
        rows, measure = _served(schema, audit, outcome)
        if not rows:
            continue
        most = max([0.1, *(r.upper or r.value or 0.0 for r in rows)])
        summary = (
            "After training on synthetic or real patients. Guessing reaches a part's own base "
            "rate, so parts differ even under equal skill: compare rows of the same part."
        )
        title = f"{capital(target_name(schema, outcome))}: {measure} by group"
        # concordance has its own zero: guessing
        nothing = 0.5 if measure == "concordance" else 0.0
        span = (min([nothing, *(r.lower or r.value or 0.5 for r in rows)]), most * 1.05)
        figures.append(_forest(f"groups-{number}", title, summary, rows, nothing, span))
    return tuple(figures)


def _served(schema: Schema, audit: Audit, outcome: str) -> tuple[list[Row], str]:
    trained = {
        ON_SYNTHETIC: ("synthetic", "synthetic"),
        ON_REAL: ("real", "real"),
        BASE_RATE: ("base rate", "training"),
    }
    model, rows, measure = audit.first_model(outcome), [], ""
    for part, name in parts_scored(audit, outcome).items():
        measure = OF_PARTS[name.removeprefix(f"{part}_")]
        for row, (on, class_) in trained.items():
            scores = audit.of("subgroups", row, "" if row == BASE_RATE else model, True, outcome)
            level = short(levels_only(schema, part), 18) if row == ON_SYNTHETIC else ""
            rows.append(_row(f"{level} · {on}".strip(), class_, scores.get(name)))
    return rows, measure


OF_PARTS = {
    "auprc": "average precision",
    "mae": "mean absolute error",
    "concordance": "concordance",
}


def parts_scored(audit: Audit, outcome: str) -> dict[str, str]:
    """Levels of groups and protected combinations, with the name of the score of each; without
    parts at a site."""
    scores = audit.of("subgroups", BASE_RATE, "", True, outcome)
    listed = {}
    for metric in scores:
        part, _, measure = metric.rpartition("_")
        of_several = part.startswith("worst_") or part.endswith("_gap") or "_site_" in part
        if measure in OF_PARTS and not of_several:
            listed[part] = metric
    return listed


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
    name: str  # outcome and model
    figures: tuple[Figure, ...]


def predicted(schema: Schema, audit: Audit) -> tuple[Predicted, ...]:
    """ROC, precision and recall, and calibration, for each outcome with levels and classifier."""
    pairs = dict.fromkeys((c.outcome, c.model) for c in audit.panels.curves if c.model)
    several = len({outcome for outcome, _ in pairs}) > 1
    return tuple(
        Predicted(
            capital(f"{target_name(schema, outcome)}, {model}" if several else model),
            _figures(audit, f"{place}-{model}" if several else model, outcome, model),
        )
        for place, (outcome, model) in enumerate(pairs)
    )


def _figures(audit: Audit, id_: str, outcome: str, model: str) -> tuple[Figure, ...]:
    chosen = {
        TRAINED[c.row]: c
        for row in TRAINED
        for c in audit.panels.curves
        if (c.row, c.model, c.outcome) == (row, model, outcome) and c.weighted
    }
    return (
        _roc(audit, id_, outcome, model, chosen),
        _pr(audit, id_, outcome, model, chosen),
        _calibration(id_, model, chosen),
    )


def _roc(audit: Audit, id_: str, outcome: str, model: str, chosen: dict[Series, Curves]) -> Figure:
    summary = (
        f"{_scores(audit, outcome, model, 'auroc')} Dotted: the base rate, which ranks nobody."
    )
    picture = curve(
        f"roc-{id_}",
        f"ROC, {model}",
        summary,
        {series: curves.roc for series, curves in chosen.items()},
        ("false positive rate", "true positive rate"),
        diagonal=True,
    )
    return Figure(f"roc-{id_}", "ROC", picture, summary)


def _pr(audit: Audit, id_: str, outcome: str, model: str, chosen: dict[Series, Curves]) -> Figure:
    base = audit.of("utility", BASE_RATE, outcome=outcome).get("auprc")
    summary = f"{_scores(audit, outcome, model, 'auprc')} Dotted: the base rate."
    picture = curve(
        f"pr-{id_}",
        f"Precision and recall, {model}",
        summary,
        {series: curves.pr for series, curves in chosen.items()},
        ("recall", "precision"),
        floor=base.value if base else None,
    )
    return Figure(f"pr-{id_}", "Precision and recall", picture, summary)


def _calibration(id_: str, model: str, chosen: dict[Series, Curves]) -> Figure:
    summary = "On the dotted line, predicted and observed rates agree. Size: patients."
    picture = curve(
        f"calibration-{id_}",
        f"Calibration, {model}",
        summary,
        {series: (c.calibration[0], c.calibration[1]) for series, c in chosen.items()},
        ("predicted", "observed"),
        diagonal=True,
        dots={series: c.calibration[2] for series, c in chosen.items()},
    )
    return Figure(f"calibration-{id_}", "Calibration", picture, summary)


def _scores(audit: Audit, outcome: str, model: str, name: str) -> str:
    values = []
    for row, series in TRAINED.items():
        score = audit.of("utility", row, model, True, outcome).get(name)
        values.append(f"{series.name} {'–' if score is None else score.shown(2)}")
    metric = find_metric(name)
    return f"{metric.label if metric else name}: {'; '.join(values)}."
