"""The plots of an audit: curves of models trained on synthetic and on real patients, and attacks
next to their controls. Internal, like the whole audit."""

from pathlib import Path
from typing import Any

import numpy as np

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


def plot_curves(result: AuditResult, folder: Path) -> list[Path]:
    """Write curves.png, of the first outcome that has levels; or nothing, if there is none or
    matplotlib is not installed."""
    outcome = next((source.outcome for source in result.predictions), None)
    if outcome is None:
        return []
    predicted = {s: p for s, p in result.predictions.items() if s.outcome == outcome and s.weighted}
    by_row = {(source.row, source.model): each for source, each in predicted.items()}
    title = (
        f"Predicting {int(by_row[BASE_RATE, ''].event.sum())} events ({outcome}) among "
        f"{len(by_row[BASE_RATE, ''].event):,} real test patients (dotted: no skill; in the last "
        "plot, perfect calibration)"
    )
    path = folder / "curves.png"
    return _plot(path, (11, 3.9), 3, lambda axes: _draw_curves(by_row, axes), title)


def plot_attacks(result: AuditResult, folder: Path) -> list[Path]:
    """Write attacks.png, or nothing if matplotlib is not installed."""
    canaries = result.of("attacks", Source(REFITS))

    def draw(axes: Any) -> None:
        _membership(axes[0], result)
        if canaries:
            _distinguished(axes[1], canaries)
            _exposed(axes[2], canaries)

    size, columns = ((12, 3.4), 3) if canaries else ((6, 3.4), 1)
    title = "How far these attacks got; others may get further (dotted: chance)"
    return _plot(folder / "attacks.png", size, columns, draw, title)


def _plot(path: Path, size: tuple[float, float], columns: int, draw: Any, title: str) -> list[Path]:
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return []
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots(1, columns, squeeze=False)[0])
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        figure.savefig(path, dpi=150)
    return [path]


def _draw_curves(predicted: dict[tuple[str, str], Predictions], axes: Any) -> None:
    roc, pr, calibration = axes
    for axis, title, x, y in (
        (roc, "ROC", "false positive rate", "true positive rate"),
        (pr, "Precision and recall", "recall", "precision"),
        (calibration, "Calibration (size: patients)", "predicted", "observed"),
    ):
        axis.set_title(title, loc="left")
        axis.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
    roc.plot([0, 1], [0, 1], ":", color=FAINT)
    calibration.plot([0, 1], [0, 1], ":", color=FAINT)
    rate = predicted[BASE_RATE, ""].event.mean()
    pr.axhline(rate, linestyle=":", color=FAINT)
    for source, (colour, line, label) in LINES.items():
        _curve((roc, pr, calibration), predicted[source], colour, line, label)
    roc.legend(frameon=False, fontsize=8, loc="lower right")


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
    place = np.arange(len(scores)) + shift
    look = {"color": colour, "fmt": "o", "ms": 5, "lw": 1.4, "label": label or None}
    axis.errorbar(value, place, xerr=reach, clip_on=False, **look)


def _rows(axis: Any, metrics: tuple[str, ...], chance: float) -> None:
    axis.plot([chance, chance], [-0.5, len(metrics) - 0.5], ":", color=FAINT, zorder=0)
    axis.set_yticks(range(len(metrics)), [label_of(metric) for metric in metrics])
    axis.set_ylim(len(metrics) - 0.5, -1.1)  # room for a legend
