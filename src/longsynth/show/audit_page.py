"""The files of an audit: AUDIT.md, a page that can be read from top to bottom, and the numbers
behind it. None of them names a patient; all of them are computed from real ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.audit.attacks.canary import REFITS as FITS
from longsynth.audit.description import describe
from longsynth.audit.metric import ARROWS, Score
from longsynth.audit.ranking import BINS, Predictions, bin_of, curves
from longsynth.audit.registry import label_of
from longsynth.audit.result import REFITS, SYNTHETIC, TRAINING, WARNING, AuditResult, Source
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.show.plots import plot_audit
from longsynth.system.folders import whole_file, write_whole
from longsynth.system.text import markdown, markdown_table

ENDS = ("_auprc", "_mae", "_concordance")  # of the first metric of a part, by kind of outcome
NO_OUTCOME = "The schema names no outcome, so there is nothing to predict."
NO_GROUPS = "The schema names no group."
ON_BASE_RATE = (
    "A constant prediction has a good Brier score and is useless: compare every row with *base "
    "rate*. No predictor is an outcome or a group; times to event are predicted from the first "
    "slot."
)
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
        *_utility(result),
        "## Subgroups",
        *_subgroups(result),
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
    value = f"{round(score.value, digits) + 0.0:.{digits}f}"  # never -0
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


def _utility(result: AuditResult) -> list[str]:
    """One table per outcome: one line per source, one column per metric."""
    if not result.outcomes:
        return [NO_OUTCOME]
    parts = ["Each row's patients train a model, which predicts the real test patients."]
    for outcome in result.outcomes:
        sources = result.sources("utility", outcome)
        lines = [["", *map(heading, result.of("utility", sources[0]).values())]]
        for source in sources:
            lines.append([label(source), *map(shown, result.of("utility", source).values())])
        parts += [f"### {markdown(outcome)}", _table(lines)]
    return [*parts, ON_BASE_RATE]


def _subgroups(result: AuditResult) -> list[str]:
    """One table per outcome: one line per metric, one column per source that uses the weights."""
    parts = []
    for outcome in result.outcomes:
        sources = [s for s in result.sources("subgroups", outcome) if s.weighted]
        if not sources:
            continue
        columns = [result.of("subgroups", source) for source in sources]
        lines = [["metric", *map(label, sources), "note"]]
        for metric, score in columns[0].items():
            values = [shown(scores.get(metric)) for scores in columns]
            lines.append([heading(score), *values, score.note])
        parts += [f"### {markdown(outcome)}", _table(lines)]
    return parts or [NO_GROUPS]


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
    """Parts of the patients that are too small for a conclusion about the primary outcome."""
    sources = result.sources("subgroups", result.outcomes[0]) if result.outcomes else []
    scores = result.of("subgroups", sources[0]) if sources else {}
    warnings = {m.removesuffix(e): s.note for m, s in scores.items() for e in ENDS if m.endswith(e)}
    whole = ("worst_", "_gap")  # about several parts
    return [
        f"{part}: {note}"
        for part, note in warnings.items()
        if note and not part.startswith(whole[0]) and not part.endswith(whole[1])
    ]


def _table(lines: list[list[str]]) -> str:
    """A table; its first line is the head."""
    head, *others = (list(map(markdown, cells)) for cells in lines)
    return markdown_table(head, others)


FORMAT, PANELS = 1, "panels.json"
POINTS = 120  # of a curve


def write_audit(result: AuditResult, folder: Path) -> list[Path]:
    """Write AUDIT.md and audit.json; for outcomes with levels predictions.parquet; and, with
    matplotlib, plots."""
    write_whole(folder / "AUDIT.md", page(result).encode())
    content = json.dumps(result.tidy(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / "audit.json", f"{content}\n".encode())
    names = ["AUDIT.md", "audit.json"]
    if result.predictions:
        tables = [_ranked(result.schema, s, made) for s, made in result.predictions.items()]
        whole = pa.concat_tables(tables).replace_schema_metadata({"warning": WARNING})
        with whole_file(folder / "predictions.parquet") as scratch:
            pq.write_table(whole, scratch)
        names.append("predictions.parquet")
    return [folder / name for name in names] + plot_audit(result, folder)


def _ranked(schema: Schema, source: Source, predicted: Predictions) -> pa.Table:
    """Predictions by decreasing probability: the order of the patients in the cohort is lost."""
    order = np.lexsort((predicted.site, predicted.group, predicted.event, -predicted.probability))
    return pa.table(
        {
            "outcome": [source.outcome] * len(order),
            "row": [source.row] * len(order),
            "model": [source.model] * len(order),
            "weighted": [source.weighted] * len(order),
            "event": predicted.event[order],
            "probability": predicted.probability[order],
            "group": predicted.group[order],
            "site": [schema.sites[s] for s in predicted.site[order]],
        }
    )


def write_panels(
    folder: Path, result: AuditResult, cohorts: dict[str, Trajectories], fingerprint: str
) -> None:
    """Write panels.json, from which the dossier's internal edition draws its plots: a description
    of each cohort, and the curves of every prediction. No patient is in it."""
    content = {
        "format": FORMAT,
        "warning": WARNING,
        "fingerprint": fingerprint,
        "patients": result.patients,
        "bootstrap": result.bootstrap,
        "portraits": {name: describe(result.schema, cohort) for name, cohort in cohorts.items()},
        "curves": [
            {
                "outcome": s.outcome,
                "row": s.row,
                "model": s.model,
                "weighted": s.weighted,
                **_curves(predicted),
            }
            for s, predicted in result.predictions.items()
        ],
    }
    written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    write_whole(folder / PANELS, f"{written}\n".encode())


def origin_of(synthetic: Path) -> str:
    """The fingerprint of the release that a synthetic folder names; "" if it names none."""
    return read_recipe(synthetic).fingerprint if (synthetic / RECIPE).exists() else ""


def _curves(predicted: Predictions) -> dict[str, Any]:
    by_name = curves(predicted)
    crowd = np.bincount(bin_of(predicted.probability), minlength=BINS)
    roc, pr, calibration = (by_name[name] for name in ("roc", "pr", "calibration"))
    return {
        "events": int(predicted.event.sum()),
        "roc": [_thin(roc["fpr"]), _thin(roc["tpr"])],
        "pr": [_thin(pr["recall"]), _thin(pr["precision"])],
        "calibration": [
            _thin(calibration["predicted"]),
            _thin(calibration["observed"]),
            crowd[crowd > 0].tolist(),
        ],
    }


def _thin(values: np.ndarray) -> list[float]:
    """Evenly spaced points of a curve, its ends among them."""
    if len(values) > POINTS:
        values = values[np.linspace(0, len(values) - 1, POINTS).round().astype(np.int64)]
    return [round(float(v), 4) for v in values]
