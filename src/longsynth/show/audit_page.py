"""AUDIT.md: the audit as a page that can be read from top to bottom."""

import numpy as np

from longsynth.audit.attacks.canary import REFITS as FITS
from longsynth.audit.metric import ARROWS, Score
from longsynth.audit.registry import label_of
from longsynth.audit.result import REFITS, SYNTHETIC, TRAINING, WARNING, AuditResult, Source
from longsynth.audit.utility import GROUPS
from longsynth.system.text import markdown

ON_ATTACKS = (
    "An attack near 0.5 did not succeed; that is not evidence that no attack would. A value below "
    "0.5 is no better than one above: an attacker can simply invert it. Only the ε of the release "
    "bounds every attack; this table does not. The same attacks on the training patients "
    "themselves show what success looks like, and the control rows show how far an attack deviates "
    "by chance."
)
NO_CANARIES = (
    "Canaries were not run: they need new fits. To run them, give the audit the run that the "
    "synthetic patients come from."
)
ON_CANARIES = (
    "One extreme patient replaced four training patients, one, and none, and the run's method ({}) "
    "was fitted again {} times each, in memory: nothing of these fits was released or charged, and "
    "these results are internal. Exposure is the share of synthetic patients closer to the canary "
    "than 1 % of the control patients are. AUROC is the probability that a fit with the canary "
    "comes closer to it than one without. Intervals resample fits. If exposure is not above the "
    "control and the AUROC is near 0.5, this attack found nothing; something may still have been "
    "learnt. {}"
)


def page(result: AuditResult) -> str:
    """Return Markdown. The warning is its first line."""
    sizes = ", ".join(f"{count:,} {name}" for name, count in result.patients.items())
    parts = [
        f"**{WARNING}**",
        "# Audit of synthetic patients",
        f"Patients: {sizes}. {_about_intervals(result)}",
        "## Utility",
        "Each row's patients train a model, which predicts the real test patients.",
        _wide(result, "utility"),
        "A constant prediction has a good Brier score and is useless: compare every row with *base "
        "rate*.",
        "## Subgroups",
        _wide(result, "subgroups"),
        "\n".join(f"- {markdown(warning)}" for warning in group_warnings(result)),
        "## Fidelity",
        "Distance from the test cohort. The training patients show how close real patients come.",
        _side_by_side(result, "fidelity"),
        "## Attacks",
        ON_ATTACKS,
        _side_by_side(result, "attacks"),
        "### Canaries",
        *_canaries(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def shown(score: Score | None, digits: int = 3, to: str = " to ") -> str:
    """Return value and interval as text; a dash if there is no value."""
    if score is None or not np.isfinite(score.value):
        return "–"
    value = f"{score.value:.{digits}f}"
    if not np.isfinite(score.lower):
        return value
    return f"{value} ({score.lower:.{digits}f}{to}{score.upper:.{digits}f})"


def label(source: Source) -> str:
    weighting = "" if source.weighted else "unweighted"
    return ", ".join(part for part in (source.row, source.model, weighting) if part)


def heading(score: Score) -> str:
    return f"{score.metric} {ARROWS[score.better]}".strip()


def _about_intervals(result: AuditResult) -> str:
    if not result.bootstrap:
        return "No intervals were requested."
    return (
        f"In brackets: 95 % intervals from {result.bootstrap} resamples of patients, with models "
        "and synthetic patients fixed. They do not include variation between fits."
    )


def _wide(result: AuditResult, section: str) -> str:
    """One line per source, one column per metric; a group at one site has no column."""
    sources = result.sources(section)
    columns = {m: s for m, s in result.of(section, sources[0]).items() if "_site_" not in m}
    lines = [["", *map(heading, columns.values())]]
    for source in sources:
        scores = result.of(section, source)
        lines.append([label(source), *(shown(scores.get(metric)) for metric in columns)])
    return _table(lines)


def _side_by_side(result: AuditResult, section: str) -> str:
    """One line per metric: synthetic patients next to the training patients themselves."""
    synthetic, training = (result.of(section, Source(name)) for name in (SYNTHETIC, TRAINING))
    lines = [["metric", "label", SYNTHETIC, TRAINING, "note"]]
    for name, score in synthetic.items():
        cells = [heading(score), label_of(name), shown(score), shown(training.get(name))]
        lines.append([*cells, score.note])
    return _table(lines)


def _canaries(result: AuditResult) -> list[str]:
    scores = result.of("attacks", Source(REFITS))
    if not scores:
        return [NO_CANARIES]
    lines = [["metric", "label", REFITS, "note"]]
    lines += [[heading(s), label_of(m), shown(s), s.note] for m, s in scores.items()]
    return [ON_CANARIES.format(markdown(result.refitted), FITS, bound_said(scores)), _table(lines)]


def bound_said(scores: dict[str, Score]) -> str:
    """Whether one copy stays within what the budget allows, as far as the interval can tell."""
    one, bound = scores["canary_auroc_1"], scores.get("canary_auroc_bound_1")
    if bound is None:
        return "The method has no guarantee, so nothing bounds what a canary reveals."
    ends = (one.lower, 1 - one.upper) if np.isfinite(one.lower) else (one.value, 1 - one.value)
    if max(ends) > bound.value:  # a ranking can be inverted
        return (
            "One copy's interval lies ABOVE ITS BOUND, which the budget does not allow. So few "
            "fits can mislead: `longsynth attack game RUN` runs enough of them to decide."
        )
    return "The fits do not contradict the bound of one copy; `longsynth attack game` tests it."


def group_warnings(result: AuditResult) -> list[str]:
    """Groups, and groups at a site, that are too small for a conclusion."""
    scores = result.of("subgroups", result.sources("subgroups")[0]).values()
    return [f"{s.metric.removesuffix('_auprc')}: {s.note}" for s in scores if _is_warning(s)]


def _is_warning(score: Score) -> bool:
    return bool(score.note) and score.metric.startswith(GROUPS) and score.metric.endswith("auprc")


def _table(lines: list[list[str]]) -> str:
    """A table; its first line is the head."""
    head, *rows = [" | ".join(map(markdown, cells)) for cells in lines]
    rule = " | ".join("---" for _ in lines[0])
    return "\n".join(f"| {line} |" for line in (head, rule, *rows))
