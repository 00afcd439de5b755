"""The curves of an audit: train on synthetic beside train on real. Internal, as all of it."""

from pathlib import Path
from typing import Any

import numpy as np

from longsynth.audit.ranking import BINS, bin_of
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC, AuditResult, Source
from longsynth.audit.utility import Predictions, curves

REAL, SYNTHETIC = "#5b6770", "#c8553d"
LINES = {
    Source(ON_REAL, "logistic"): (REAL, "-", "real, logistic"),
    Source(ON_REAL, "boosted"): (REAL, "--", "real, boosted"),
    Source(ON_SYNTHETIC, "logistic"): (SYNTHETIC, "-", "synthetic, logistic"),
    Source(ON_SYNTHETIC, "boosted"): (SYNTHETIC, "--", "synthetic, boosted"),
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


def plot_curves(result: AuditResult, folder: Path) -> list[Path]:
    """Write curves.png, or nothing where matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return []
    path = folder / "curves.png"
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 3.9), layout="constrained")
        FigureCanvasAgg(figure)
        _draw(result, figure)
        figure.savefig(path, dpi=150)
    return [path]


def _draw(result: AuditResult, figure: Any) -> None:
    roc, pr, calibration = figure.subplots(1, 3)
    for axis, title, x, y in (
        (roc, "ROC", "false alarms", "events found"),
        (pr, "Precision and recall", "events found", "alarms that are right"),
        (calibration, "Calibration (size: patients)", "predicted", "observed"),
    ):
        axis.set_title(title, loc="left")
        axis.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
    roc.plot([0, 1], [0, 1], ":", color=FAINT)
    calibration.plot([0, 1], [0, 1], ":", color=FAINT)
    rate = result.predictions[Source(BASE_RATE)].event.mean()
    pr.axhline(rate, linestyle=":", color=FAINT)
    for source, (colour, line, label) in LINES.items():
        _plot_one((roc, pr, calibration), result.predictions[source], colour, line, label)
    roc.legend(frameon=False, fontsize=8, loc="lower right")
    events = int(result.predictions[Source(BASE_RATE)].event.sum())
    figure.suptitle(
        f"Predicting {events} events among {result.patients['test']:,} real test patients "
        "(dotted: no skill; right: perfect)",
        x=0.01,
        ha="left",
        fontsize=11,
    )


def _plot_one(
    axes: tuple[Any, Any, Any], found: Predictions, colour: str, line: str, label: str
) -> None:
    made, look = curves(found), {"color": colour, "linestyle": line, "lw": 1.6}
    roc, pr, calibration = axes
    roc.plot(made["roc"]["fpr"], made["roc"]["tpr"], label=label, **look)
    pr.step(made["pr"]["recall"], made["pr"]["precision"], where="pre", **look)
    points = made["calibration"]
    crowd = np.bincount(bin_of(found.probability), minlength=BINS)
    size = 10 + 240 * crowd[crowd > 0] / max(len(found.event), 1)
    shape = {"s": size, "alpha": 0.8, "marker": "o" if line == "-" else "^", "clip_on": False}
    calibration.scatter(points["predicted"], points["observed"], color=colour, lw=0, **shape)
