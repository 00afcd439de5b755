"""AUDIT.md: the audit as a page that can be read from top to bottom."""

import numpy as np

from longsynth.audit.attacks.canary import REFITS as FITS
from longsynth.audit.result import (
    REFITS,
    SYNTHETIC,
    TRAINING,
    WARNING,
    AuditResult,
    Source,
)
from longsynth.audit.score import Better, Score
from longsynth.audit.subgroups import GROUPS
from longsynth.audit.utility import DIRECTIONS
from longsynth.system.text import markdown

TOWARDS: dict[Better, str] = {
    "higher": "↑",
    "lower": "↓",
    "half": "→ 0.5",
    "one": "→ 1",
    "zero": "→ 0",
    "none": "",
}
GROUP_COLUMNS = (
    "group0_auprc",
    "group1_auprc",
    "worst_group_auprc",
    "group_gap_auprc",
    "group0_ece",
    "group1_ece",
)
ON_ATTACKS = (
    "An attack near 0.5 did not succeed; that is not evidence that no attack would. A value below "
    "0.5 is no better than one as far above: its owner turns it round. What bounds every attack is "
    "the ε of the release, not this table. The same attacks on the training patients themselves "
    "show what success looks like, and the control rows how far chance alone carries them."
)
NO_CANARIES = (
    "Canaries were not run: they need new fits. Type `longsynth audit … --canary RUN` with the run "
    "that the synthetic patients were drawn from."
)
ON_CANARIES = (
    "One extreme patient was put in the place of four training patients, of one, and of none, and "
    "the run's method ({}) fitted again {} times each, in memory: nothing of these fits was "
    "released or charged, and what is said of them here is internal. Exposure is the share of "
    "synthetic patients nearer to the canary than 1 % of the control patients are. AUROC is the "
    "chance that a fit with the canary comes nearer to it than one without. Intervals resample "
    "fits. No exposure above the control and an AUROC near 0.5 are what this attack found, not "
    "proof that nothing was learnt. {}"
)


def page(result: AuditResult) -> str:
    """Return Markdown. The warning is its first line."""
    sizes = ", ".join(f"{count:,} {name}" for name, count in result.patients.items())
    parts = [
        f"**{WARNING}**",
        "# Audit of synthetic patients",
        f"Patients: {sizes}. {_about_intervals(result)}",
        "## Utility",
        "Real test patients, predicted by models trained on each row's patients.",
        _wide(result, "utility", tuple(DIRECTIONS)),
        "A constant guess has a good Brier score and no use: read every row against *base rate*.",
        "## Subgroups",
        _wide(result, "subgroups", GROUP_COLUMNS),
        "\n".join(f"- {markdown(warning)}" for warning in group_warnings(result)),
        "## Fidelity",
        "Distance from the test cohort. The column beside it is as near as real patients come.",
        _side_by_side(result, "fidelity"),
        "## Attacks",
        ON_ATTACKS,
        _side_by_side(result, "attacks"),
        "### Canaries",
        *_canaries(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def shown(score: Score | None, digits: int = 3, to: str = " to ") -> str:
    """Return value and interval as text; a dash where there is no value."""
    if score is None or not np.isfinite(score.value):
        return "–"
    value = f"{score.value:.{digits}f}"
    if not np.isfinite(score.lower):
        return value
    return f"{value} ({score.lower:.{digits}f}{to}{score.upper:.{digits}f})"


def label(source: Source) -> str:
    weighting = "" if source.weighted else "unweighted"
    return ", ".join(part for part in (source.row, source.model, weighting) if part)


def heading(metric: str, better: Better) -> str:
    return f"{metric} {TOWARDS[better]}".strip()


def _about_intervals(result: AuditResult) -> str:
    if not result.bootstrap:
        return "No intervals were asked for."
    return (
        f"In brackets: 95 % intervals from {result.bootstrap} resamples of patients, with models "
        "and synthetic patients as they are. They hold no variation between fits."
    )


def _wide(result: AuditResult, section: str, metrics: tuple[str, ...]) -> str:
    """One line a source, one column a metric."""
    sources = result.sources(section)
    first = result.of(section, sources[0])
    head = ["", *(heading(m, first[m].better) for m in metrics)]
    lines = [head]
    for source in sources:
        scores = result.of(section, source)
        lines.append([label(source), *(shown(scores.get(m)) for m in metrics)])
    return _table(lines)


def _side_by_side(result: AuditResult, section: str) -> str:
    """One line a metric: synthetic beside training patients, with what is to be said of it."""
    synthetic, training = (result.of(section, Source(name)) for name in (SYNTHETIC, TRAINING))
    lines = [["metric", SYNTHETIC, TRAINING, "note"]]
    for metric, score in synthetic.items():
        name = heading(metric, score.better)
        lines.append([name, shown(score), shown(training.get(metric)), score.note])
    return _table(lines)


def _canaries(result: AuditResult) -> list[str]:
    scores = result.of("attacks", Source(REFITS))
    if not scores:
        return [NO_CANARIES]
    lines = [["metric", REFITS, "note"]]
    lines += [[heading(m, s.better), shown(s), s.note] for m, s in scores.items()]
    return [ON_CANARIES.format(markdown(result.refitted), FITS, bound_said(scores)), _table(lines)]


def bound_said(scores: dict[str, Score]) -> str:
    """Whether one copy stays within what the budget allows, as far as the interval can tell."""
    one, bound = scores["canary_auroc_1"], scores.get("canary_auroc_bound_1")
    if bound is None:
        return "The method promises nothing, so nothing bounds what a canary gives away."
    ends = (one.lower, 1 - one.upper) if np.isfinite(one.lower) else (one.value, 1 - one.value)
    if max(ends) > bound.value:  # a ranking can be turned round
        return (
            "One copy's interval lies ABOVE ITS BOUND, which the budget does not allow. So few "
            "fits can mislead: `longsynth attack game RUN` plays enough of them to decide."
        )
    return "The fits do not contradict the bound of one copy; `longsynth attack game` tests it."


def group_warnings(result: AuditResult) -> list[str]:
    """Groups, and groups at a site, of which nothing can be said."""
    scores = result.of("subgroups", result.sources("subgroups")[0]).values()
    return [f"{s.metric.removesuffix('_auprc')}: {s.note}" for s in scores if _is_warning(s)]


def _is_warning(score: Score) -> bool:
    return bool(score.note) and score.metric.startswith(GROUPS) and score.metric.endswith("auprc")


def _table(lines: list[list[str]]) -> str:
    """A table whose first line is its head."""
    head, *rows = [" | ".join(map(markdown, cells)) for cells in lines]
    rule = " | ".join("---" for _ in lines[0])
    return "\n".join(f"| {line} |" for line in (head, rule, *rows))
