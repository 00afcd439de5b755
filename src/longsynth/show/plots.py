"""Plots: real beside synthetic patients, curves of models trained on either, and attacks beside
their controls. All of them are computed from real patients, so they are internal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.audit.metric import Score
from longsynth.audit.ranking import BINS, Predictions, bin_of, curves
from longsynth.audit.registry import label_of
from longsynth.audit.result import (
    BASE_RATE,
    ON_REAL,
    ON_SYNTHETIC,
    REFITS,
    TRAINING,
    AuditResult,
    Source,
)
from longsynth.audit.result import SYNTHETIC as OF_SYNTHETIC
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Floats
from longsynth.system.text import figure as literal

REAL, SYNTHETIC = "#5b6770", "#c8553d"
LINES = {
    (ON_REAL, "logistic"): (REAL, "-", "real, logistic"),
    (ON_REAL, "boosted"): (REAL, "--", "real, boosted"),
    (ON_SYNTHETIC, "logistic"): (SYNTHETIC, "-", "synthetic, logistic"),
    (ON_SYNTHETIC, "boosted"): (SYNTHETIC, "--", "synthetic, boosted"),
}
FAINT = "#b9c0c5"
STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
MEMBERSHIP = ("mia_auc", "mia_auc_control", "mia_density_auc", "mia_density_auc_control")
DISTINGUISHED = ("canary_auroc_4", "canary_auroc_1")
EXPOSED = ("canary_exposure_4", "canary_exposure_1", "canary_exposure_control")


def plot_all(
    schema: Schema, real: Trajectories, synthetic: Trajectories, folder: Path
) -> list[Path]:
    """Write two plots that compare real with synthetic patients, or none without matplotlib."""
    drawings = {
        "distributions.png": partial(_distributions, schema, real, synthetic),
        "trajectories.png": partial(_trajectories, schema, real, synthetic),
    }
    return _write(folder, drawings, "shows real patients: internal, not for release")


def _write(folder: Path, drawings: Mapping[str, Callable[[], Any]], warning: str) -> list[Path]:
    """Draw and write figures, or none if matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return []
    with matplotlib.rc_context(STYLE):
        for name, draw in drawings.items():
            figure = draw()
            figure.text(0.99, -0.02, warning, ha="right", fontsize=8, color=REAL)
            figure.savefig(folder / name, dpi=150, bbox_inches="tight")
    return [folder / name for name in drawings]


def _panels(
    size: tuple[float, float], title: str, columns: int, height: int = 1
) -> tuple[Any, list[Any]]:
    """Return a figure and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure, list(figure.subplots(height, columns, squeeze=False).ravel())


def _panel_per_variable(variables: Sequence[Variable], title: str) -> tuple[Any, list[Any]]:
    columns = min(3, max(len(variables), 1))
    height = max(-(-len(variables) // columns), 1)
    figure, axes = _panels((3.6 * columns, 2.6 * height + 0.6), title, columns, height)
    for axis in axes[len(variables) :]:
        axis.set_axis_off()
    for axis, variable in zip(axes, variables, strict=False):
        axis.set_title(variable.name.replace("_", " "), loc="left")
        axis.set_xlabel(literal(variable.unit))
    return figure, axes


def _distributions(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    figure, axes = _panel_per_variable(schema.variables, "How often each value was recorded")
    for v, (axis, variable) in enumerate(zip(axes, schema.variables, strict=False)):
        low, high = variable.bounds
        continuous = variable.kind == "continuous"
        edges = np.linspace(low, high, 61) if continuous else np.arange(low - 0.5, high + 1)
        for cohort, colour, label in ((real, REAL, "real"), (synthetic, SYNTHETIC, "synthetic")):
            observed, first = cohort.observed[:, :, v], cohort is real
            weight = np.broadcast_to(weights(cohort)[:, None], observed.shape)[observed]
            share, _ = np.histogram(cohort.values[:, :, v][observed], edges, weights=weight)
            share = 100 * share / max(share.sum(), 1e-300)
            look = {"color": colour, "label": label}
            if continuous:
                alpha = 0.45 if first else 1
                axis.stairs(share, edges, fill=first, alpha=alpha, lw=1.6, **look)
            else:
                places = edges[:-1] + 0.5 + (-0.2 if first else 0.2)
                axis.bar(places, share, 0.38, alpha=0.6 if first else 1, **look)
        if not continuous:
            names = [literal(level) for level in variable.levels] if variable.levels else None
            axis.set_xticks(np.arange(low, high + 1), names)
        axis.set_ylabel("% of observations")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _trajectories(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    """Means over time. Static variables do not change, and unordered levels have no mean."""
    varying = [v for v, x in enumerate(schema.variables) if not x.static and x.kind != "nominal"]
    shown = [schema.variables[v] for v in varying]
    figure, axes = _panel_per_variable(shown, "Mean over time, with and without the event")
    for axis, v in zip(axes, varying, strict=False):
        variable = schema.variables[v]
        for cohort, colour, label in ((real, REAL, "real"), (synthetic, SYNTHETIC, "synthetic")):
            for event, line in ((1, "-"), (0, "--")):
                if (cohort.event == event).any():
                    mean = _means(cohort, v, event)
                    name = f"{label}, {'event' if event else 'no event'}"
                    slots = np.arange(1, schema.slots + 1)
                    axis.plot(slots, mean, line, color=colour, lw=1.8, label=name)
        axis.set_xlabel("slot")
        other = "share" if variable.kind == "binary" else "level"
        axis.set_ylabel(literal(variable.unit) or other)
    if varying:
        axes[0].legend(frameon=False, fontsize=7)
    return figure


def _means(cohort: Trajectories, v: int, event: int) -> Floats:
    """(T,): the weighted mean by slot; NaN where nothing was observed."""
    chosen = cohort.event == event
    observed = cohort.observed[chosen, :, v]
    weight = np.where(observed, weights(cohort)[chosen][:, None], 0.0)
    values = np.where(observed, cohort.values[chosen, :, v], 0.0)
    total = weight.sum(axis=0)
    mean: Floats = np.full(len(total), np.nan)
    np.divide((weight * values).sum(axis=0), total, out=mean, where=total > 0)
    return mean


@dataclass(frozen=True, slots=True)
class ComparedVariable:
    name: str
    unit: str
    real: tuple[float, float, float]  # mean, standard deviation, missing share
    synthetic: tuple[float, float, float]


def compare(schema: Schema, real: Trajectories, synthetic: Trajectories) -> list[ComparedVariable]:
    """Return mean, standard deviation and missing share of each variable, for synthetic patients by
    weight; NaN if undefined, as for the mean of levels without an order."""
    return [
        ComparedVariable(
            variable.name,
            variable.unit,
            _summary(schema, real, v),
            _summary(schema, synthetic, v),
        )
        for v, variable in enumerate(schema.variables)
    ]


def _summary(schema: Schema, cohort: Trajectories, v: int) -> tuple[float, float, float]:
    variable, slots = schema.variables[v], np.arange(schema.slots)
    observed, by_patient = cohort.observed[:, :, v], weights(cohort)[:, None]
    used = (slots == 0)[None] if variable.static else slots < cohort.length[:, None]
    total, weight = float((by_patient * used).sum()), np.where(observed, by_patient, 0.0)
    number = float(weight.sum())
    missing = 1 - number / total if total else np.nan
    if variable.kind == "nominal" or not number:
        return np.nan, np.nan, missing
    values = np.where(observed, cohort.values[:, :, v], 0.0)
    mean = float((weight * values).sum() / number)
    return mean, float(np.sqrt((weight * (values - mean) ** 2).sum() / number)), missing


def weights(cohort: Trajectories) -> NDArray[np.float64]:
    weight = getattr(cohort, "weight", None)
    return np.ones(cohort.patients) if weight is None else weight


def plot_audit(result: AuditResult, folder: Path) -> list[Path]:
    """Write the curves of the first outcome with levels, if there is one, and the scores of
    attacks; or nothing without matplotlib."""
    drawings = {"attacks.png": partial(_attacks, result)}
    if result.predictions:
        drawings = {"curves.png": partial(_curves, result)} | drawings
    return _write(folder, drawings, "computed from real patients: internal, not for release")


def _said(outcome: str, predicted: Predictions) -> str:
    return (
        f"Predicting {int(predicted.event.sum())} events ({outcome}) among "
        f"{len(predicted.event):,} real test patients (dotted: no skill; in the last plot, perfect "
        "calibration)"
    )


def _curves(result: AuditResult) -> Any:
    outcome = next(source.outcome for source in result.predictions)
    predicted = {
        (source.row, source.model): made
        for source, made in result.predictions.items()
        if source.outcome == outcome and source.weighted
    }
    base = predicted[BASE_RATE, ""]
    figure, (roc, pr, calibration) = _panels((11, 3.9), _said(outcome, base), columns=3)
    for axis, title, x, y in (
        (roc, "ROC", "false positive rate", "true positive rate"),
        (pr, "Precision and recall", "recall", "precision"),
        (calibration, "Calibration (size: patients)", "predicted", "observed"),
    ):
        axis.set_title(title, loc="left")
        axis.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
    roc.plot([0, 1], [0, 1], ":", color=FAINT)
    calibration.plot([0, 1], [0, 1], ":", color=FAINT)
    pr.axhline(base.event.mean(), linestyle=":", color=FAINT)
    for source, (colour, line, label) in LINES.items():
        _curve((roc, pr, calibration), predicted[source], colour, line, label)
    roc.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _curve(
    axes: tuple[Any, Any, Any], predicted: Predictions, colour: str, line: str, label: str
) -> None:
    by_name, look = curves(predicted), {"color": colour, "linestyle": line, "lw": 1.6}
    roc, pr, calibration = axes
    roc.plot(by_name["roc"]["fpr"], by_name["roc"]["tpr"], label=label, **look)
    pr.step(by_name["pr"]["recall"], by_name["pr"]["precision"], where="pre", **look)
    points = by_name["calibration"]
    crowd = np.bincount(bin_of(predicted.probability), minlength=BINS)
    size = 10 + 240 * crowd[crowd > 0] / max(len(predicted.event), 1)
    shape = {"s": size, "alpha": 0.8, "marker": "o" if line == "-" else "^", "clip_on": False}
    calibration.scatter(points["predicted"], points["observed"], color=colour, lw=0, **shape)


def _attacks(result: AuditResult) -> Any:
    canaries = result.of("attacks", Source(REFITS))
    title = "How far these attacks got; others may get further (dotted: chance)"
    figure, axes = _panels((12 if canaries else 6, 3.4), title, columns=3 if canaries else 1)
    _membership(axes[0], result)
    if canaries:
        _distinguished(axes[1], canaries)
        _exposed(axes[2], canaries)
    return figure


def _membership(axis: Any, result: AuditResult) -> None:
    axis.set_title("Members distinguished from outsiders (AUROC)", loc="left")
    for name, colour, shift in ((TRAINING, REAL, 0.12), (OF_SYNTHETIC, SYNTHETIC, -0.12)):
        scores = result.of("attacks", Source(name))
        _dots(axis, [scores[m] for m in MEMBERSHIP], colour, shift, name)
    _rows(axis, MEMBERSHIP, 0.5)
    axis.set_xlim(0, 1.02)
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _distinguished(axis: Any, scores: dict[str, Score]) -> None:
    axis.set_title("Canaries: fits distinguished (AUROC)", loc="left")
    _dots(axis, [scores[m] for m in DISTINGUISHED], SYNTHETIC, 0, "attack")
    bounds = [scores.get(m.replace("auroc", "auroc_bound")) for m in DISTINGUISHED]
    known = [(score.value, row) for row, score in enumerate(bounds) if score is not None]
    if known:
        axis.scatter(*zip(*known, strict=True), marker="|", s=260, color=REAL, label="bound by ε")
    _rows(axis, DISTINGUISHED, 0.5)
    axis.set_xlim(0, 1.02)
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _exposed(axis: Any, scores: dict[str, Score]) -> None:
    axis.set_title("Canaries: share of records nearby", loc="left")
    shown = [scores[m] for m in EXPOSED]
    _dots(axis, shown, SYNTHETIC, 0, "")
    _rows(axis, EXPOSED, scores["canary_baseline"].value)
    ends = [s.upper if np.isfinite(s.upper) else s.value for s in shown]
    axis.set_xlim(-0.002, 1.1 * max(*ends, 2 * scores["canary_baseline"].value))


def _dots(axis: Any, scores: list[Score], colour: str, shift: float, label: str) -> None:
    value = np.array([s.value for s in scores])
    ends = np.array([[s.lower, s.upper] for s in scores]).T
    reach = np.nan_to_num(np.abs(ends - value))
    across = np.arange(len(scores)) + shift
    look = {"color": colour, "fmt": "o", "ms": 5, "lw": 1.4, "label": label or None}
    axis.errorbar(value, across, xerr=reach, clip_on=False, **look)


def _rows(axis: Any, metrics: tuple[str, ...], chance: float) -> None:
    axis.plot([chance, chance], [-0.5, len(metrics) - 0.5], ":", color=FAINT, zorder=0)
    axis.set_yticks(range(len(metrics)), [label_of(metric) for metric in metrics])
    axis.set_ylim(len(metrics) - 0.5, -1.1)  # room for a legend
