"""An audit's scores as tables: each beside what it has to be read with."""

from dataclasses import dataclass

from longsynth.schema.schema import Schema
from longsynth.show.dossier.audited.audit_file import (
    BASE_RATE,
    ON_SYNTHETIC,
    SYNTHETIC,
    TRAINING,
    Audit,
    Score,
)
from longsynth.show.dossier.charts.bars import Row, forest
from longsynth.show.dossier.charts.svg import Figure

UTILITY = {
    "auroc": "AUROC ↑",
    "auprc": "AUPRC ↑",
    "brier": "Brier ↓",
    "ece": "ECE ↓",
    "calibration_slope": "slope → 1",
    "mean_prediction": "mean prediction",
}
WORDS = {
    "marginal_ks": "distributions, mean over variables",
    "correlation_error": "correlations between summaries",
    "autocorrelation_error": "autocorrelation, one slot apart",
    "transition_error": "steps between levels",
    "prevalence_error": "share with the event",
    "missingness_error": "missing readings, mean over variables",
    "missingness_event_error": "how missing readings go with the event",
    "gap_wasserstein": "gaps, hours",
    "visit_count_error": "slots used",
    "real_vs_synthetic_auc": "a classifier tells them apart, AUC",
    "mia_auc": "membership by distance, AUC",
    "mia_auc_control": "· control: outsiders only",
    "mia_density_auc": "membership by density, AUC",
    "mia_density_auc_control": "· control: outsiders only",
    "attribute_accuracy": "attribute guessed, fitted patients",
    "attribute_accuracy_control": "· control: outsiders",
    "attribute_baseline": "· baseline: majority guess",
    "attribute_advantage": "attribute, fitted minus outsiders",
    "canary_exposure_4": "canary exposure, four copies",
    "canary_exposure_1": "canary exposure, one copy",
    "canary_exposure_control": "· control: none planted",
    "canary_baseline": "· baseline by definition",
    "canary_advantage_4": "four copies minus control",
    "canary_advantage_1": "one copy minus control",
    "canary_auroc_4": "fits told apart, four copies, AUC",
    "canary_auroc_1": "fits told apart, one copy, AUC",
    "canary_auroc_bound_4": "· bound for four, by the budget",
    "canary_auroc_bound_1": "· bound for one, by the budget",
}
FIDELITY = tuple(WORDS)[:10]
TOWARDS = {"higher": "↑", "lower": "↓", "half": "→ 0.5", "one": "→ 1", "zero": "→ 0", "none": ""}


@dataclass(frozen=True, slots=True)
class Table:
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def words(metric: str) -> str:
    return WORDS.get(metric, metric.replace("_", " "))


def utility(audit: Audit) -> Table:
    rows = []
    for row, model, weighted in audit.rows("utility"):
        scores = audit.of("utility", row, model, weighted)
        name = ", ".join(w for w in (row, model, "" if weighted else "unweighted") if w)
        rows.append((name, *(_shown(scores.get(metric)) for metric in UTILITY)))
    caption = "Real test patients, predicted by models trained on each row's patients"
    return Table(caption, ("trained on", *UTILITY.values()), tuple(rows))


def subgroups(schema: Schema, audit: Audit) -> Table:
    """One line a group, and a group at a site; the two logistic models and the base rate."""
    sources = [
        (row, model, weighted)
        for row, model, weighted in audit.rows("subgroups")
        if model in ("", "logistic") and weighted
    ]
    found = [audit.of("subgroups", *source) for source in sources]
    metrics = [m for m in found[0] if m.endswith(("_auprc", "_ece"))] if found else []
    rows = tuple(
        (
            _part(schema, metric),
            *(_shown(scores.get(metric)) for scores in found),
            next((s[metric].note for s in found if metric in s and s[metric].note), ""),
        )
        for metric in metrics
    )
    columns = ("group and metric", *(row for row, _, _ in sources), "note")
    return Table("By group, and by group at each site", columns, rows)


def beside(audit: Audit, section: str, caption: str, only: tuple[str, ...] = ()) -> Table:
    """One line a metric: synthetic patients beside the fitted patients themselves."""
    synthetic, training = (audit.of(section, row) for row in (SYNTHETIC, TRAINING))
    rows = tuple(
        (
            f"{words(metric)} {TOWARDS.get(score.better, '')}".strip(),
            _shown(score),
            _shown(training.get(metric)),
            score.note,
        )
        for metric, score in synthetic.items()
        if not only or metric in only
    )
    return Table(caption, ("measure", "synthetic", "real, fitted", "note"), rows)


def canaries(audit: Audit) -> Table | None:
    """Whatever the audit planted: every row that is neither synthetic nor training patients."""
    others = [row for row, _, _ in audit.rows("attacks") if row not in (SYNTHETIC, TRAINING)]
    scores = [s for row in others for s in audit.of("attacks", row).values()]
    if not scores:
        return None
    rows = tuple(
        (f"{words(s.metric)} {TOWARDS.get(s.better, '')}".strip(), _shown(s), s.note)
        for s in scores
    )
    return Table(
        "Canaries: an extreme patient planted before fits", ("measure", "found", "note"), rows
    )


def attack_figure(audit: Audit) -> Figure:
    """Both membership attacks, their controls, and the same attacks where they must succeed."""
    synthetic, training = (audit.of("attacks", row) for row in (SYNTHETIC, TRAINING))
    rows = []
    for metric, name in (("mia_auc", "distance"), ("mia_density_auc", "density")):
        rows += [
            _row(f"{name}: synthetic", "synthetic", synthetic.get(metric)),
            _row(f"{name}: outsiders only", "training", synthetic.get(f"{metric}_control")),
            _row(f"{name}: on fitted patients", "real", training.get(metric)),
        ]
    title = "Membership attacks"
    summary = (
        "Dotted: guessing, 0.5. “Outsiders only” is how far chance carries the attack; “on fitted "
        "patients” is how it looks when it succeeds."
    )
    told = "; ".join(f"{r.name} {'–' if r.value is None else f'{r.value:.2f}'}" for r in rows)
    picture = forest("attacks", title, f"{summary} {told}.", rows, 0.5, (0.3, 1.02))
    return Figure("attacks", title, picture, summary)


def group_figure(audit: Audit) -> Figure:
    rows = []
    for row, class_ in (
        (ON_SYNTHETIC, "synthetic"),
        ("train on real", "real"),
        (BASE_RATE, "training"),
    ):
        scores = audit.of("subgroups", row, "" if row == BASE_RATE else "logistic")
        for group in ("group0", "group1"):
            name = f"group {group[-1]}: {row}"
            rows.append(_row(name, class_, scores.get(f"{group}_auprc")))
    rows.sort(key=lambda r: r.name)
    most = max([0.1, *(r.upper or r.value or 0.0 for r in rows)])
    title = "Average precision by group, logistic"
    told = "; ".join(f"{r.name} {'–' if r.value is None else f'{r.value:.2f}'}" for r in rows)
    summary = (
        "Guessing reaches a group's own event rate, so two groups differ even under equal skill: "
        "compare rows of the same group."
    )
    picture = forest("groups", title, f"{summary} {told}.", rows, 0.0, (0.0, min(most * 1.05, 1.0)))
    return Figure("groups", title, picture, summary)


def _row(name: str, class_: str, score: Score | None) -> Row:
    if score is None:
        return Row(name, class_, None, None, None)
    return Row(name, class_, score.value, score.lower, score.upper)


def _shown(score: Score | None) -> str:
    return "–" if score is None else score.shown()


def _part(schema: Schema, metric: str) -> str:
    """group1_site_A_auprc as a person says it."""
    part, _, what = metric.rpartition("_")
    metric_name = {"auprc": "AUPRC ↑", "ece": "ECE ↓"}[what]
    if part in ("worst_group", "group_gap"):
        return f"{part.replace('_', ' ')}, {metric_name if part != 'group_gap' else 'AUPRC → 0'}"
    group, _, site = part.partition("_site_")
    level = schema.levels("group")[int(group[-1])] if group[-1:] in ("0", "1") else group
    where = f" at site {site}" if site else ""
    return f"group {level}{where}, {metric_name}"
