"""An audit's scores as tables and figures, each next to what it must be compared with."""

from dataclasses import dataclass

from longsynth.audit.metric import ARROWS
from longsynth.audit.registry import find_metric, label_of, shown_in
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC, SYNTHETIC, TRAINING
from longsynth.schema.schema import Schema
from longsynth.show.dossier.audited.audit_file import Audit, ScoreRecord
from longsynth.show.dossier.charts.bars import Row, forest
from longsynth.show.dossier.charts.svg import Figure

ATTACKS = {"mia_auc": "distance", "mia_density_auc": "density"}  # how each finds members


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
            _heading(score, _with_level(schema, label_of(metric))),
            *(_shown(scores.get(metric)) for scores in columns),
            next((s[metric].note for s in columns if metric in s and s[metric].note), ""),
        )
        for metric, score in (columns[0].items() if columns else ())
    )
    head = ("metric", *(row for row, _, _ in sources), "note")
    return Table("By group, and by group at each site", head, rows)


def _with_level(schema: Schema, label: str) -> str:
    """The label with the group's name in place of its number."""
    for number, level in enumerate(schema.levels("group")):
        label = label.replace(f"group {number}", f"group {level}", 1)
    return label


def beside(audit: Audit, section: str, caption: str, only: tuple[str, ...] = ()) -> Table:
    """One line per metric: synthetic patients next to the fitted patients themselves."""
    synthetic, training = (audit.of(section, row) for row in (SYNTHETIC, TRAINING))
    rows = tuple(
        (_heading(score), _shown(score), _shown(training.get(metric)), score.note)
        for metric, score in synthetic.items()
        if not only or metric in only
    )
    return Table(caption, ("metric", "synthetic", "real, fitted", "note"), rows)


def canaries(audit: Audit) -> Table | None:
    """All canary scores: every row that is neither synthetic nor training patients."""
    scores = canary_scores(audit).values()
    if not scores:
        return None
    rows = tuple((_heading(s), _shown(s), s.note) for s in scores)
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


def group_figure(audit: Audit) -> Figure:
    rows = []
    for row, class_ in ((ON_SYNTHETIC, "synthetic"), (ON_REAL, "real"), (BASE_RATE, "training")):
        scores = audit.of("subgroups", row, "" if row == BASE_RATE else "logistic")
        for group in (0, 1):
            rows.append(_row(f"group {group}: {row}", class_, scores.get(f"group{group}_auprc")))
    rows.sort(key=lambda r: r.name)
    most = max([0.1, *(r.upper or r.value or 0.0 for r in rows)])
    summary = (
        "Guessing reaches a group's own event rate, so two groups differ even under equal skill: "
        "compare rows of the same group."
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


def _heading(score: ScoreRecord, label: str = "") -> str:
    arrow = {str(better): arrow for better, arrow in ARROWS.items()}.get(score.better, "")
    return f"{label or label_of(score.metric)} {arrow}".strip()
