"""The five figures of a study as PNG and PDF, from the same data files that PGFPlots reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longsynth.report.study_frames import Frame
from longsynth.report.study_panels import (
    METHODS,
    REFERENCE_LINES,
    by_method,
    line_style,
    marker,
    rows,
    seed_values,
)
from longsynth.report.study_sensitivity import efficiency, robustness
from longsynth.report.study_style import look

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.hashsalt": "longsynth",
}
CANARIES = {"4 copies": ("D", 6), "1 copy": ("o", 5), "no canary": ("|", 9)}


def plot_study(frames: Mapping[str, Frame], seeds: Frame, folder: Path) -> list[Path]:
    """Write every figure twice, or nothing where matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    makers = {
        "main": _main,  # fig:main
        "fidelity": _fidelity,  # fig:fidelity
        "curves": _curves,  # fig:curves
        "robustness": robustness,  # fig:robustness
        "efficiency": efficiency,  # fig:efficiency
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with pyplot.rc_context(STYLE):
        for name, make in makers.items():
            figure = make(pyplot, frames, seeds)
            for kind in ("png", "pdf"):
                path = folder / f"{name}.{kind}"
                metadata = {"CreationDate": None} if kind == "pdf" else None
                figure.savefig(path, dpi=160, bbox_inches="tight", metadata=metadata)
                written.append(path)
            pyplot.close(figure)
    return written


def _main(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(2, 2, figsize=(9.2, 6.2), sharey=True)
    panels = {
        "main_auprc": ("auprc", "(a) Discrimination", "AUPRC, higher is better"),
        "main_brier": ("brier", "(b) Probabilistic accuracy", "Brier score, lower is better"),
        "main_ece": ("ece", "(c) Calibration", "expected calibration error, lower is better"),
        "membership_auc": ("mia_auc", "(d) Membership attack", "AUROC of the attack"),
    }
    for axis, (file, (metric, title, label)) in zip(axes.flat, panels.items(), strict=True):
        attack = metric == "mia_auc"
        by_method(
            axis,
            frames[file],
            seeds,
            experiment="comparison",
            metric=metric,
            label=label,
            lines=not attack,
        )
        axis.set_title(title)
        if attack:
            axis.axvline(0.5, color="black", lw=1, ls="-.", zorder=0.5, label="random ranking")
            axis.legend(loc="center right")
        elif metric != "auprc":
            axis.set_xlim(left=0)
    _key(pyplot, figure, references=True)
    return figure


def _fidelity(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(2, 2, figsize=(9.2, 6.2), sharey=True)
    panels = {
        "marginal_ks": "(a) Marginals",
        "correlation_error": "(b) Correlation of summaries",
        "autocorrelation_error": "(c) Autocorrelation, lag 1",
    }
    for axis, (file, title) in zip(axes.flat[:3], panels.items(), strict=True):
        by_method(
            axis,
            frames[file],
            seeds,
            experiment="comparison",
            metric=file,
            label="error, lower is better; dashed: real training patients",
        )
        axis.set_title(title)
        axis.set_xlim(left=0)
    _canary(axes.flat[3], seeds)
    _key(pyplot, figure, references=False)
    return figure


def _canary(axis: Any, seeds: Frame) -> None:
    rows(axis, [look(method) for method in METHODS])
    for place, method in enumerate(METHODS):
        for shift, (label, (shape, size)) in zip((-0.24, 0, 0.24), CANARIES.items(), strict=True):
            found = seed_values(seeds, "canary", method, "canary_exposure", label)
            if found:
                style = marker(look(method), size) | {"marker": shape}
                axis.plot(float(np.mean(found)), place + shift, **style)
    for label, (shape, size) in CANARIES.items():
        axis.plot([], [], marker=shape, ms=size, ls="", mfc="none", mec="#444444", label=label)
    axis.legend(loc="lower right", handletextpad=0.3)
    axis.set_title("(d) Canary")
    axis.set_xlabel("share of synthetic records near it")


def _curves(pyplot: Any, frames: Mapping[str, Frame], _: Frame) -> Any:
    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 3.9))
    panels = {
        "roc_curves": ("(a) ROC", "fpr", "tpr", "false positive rate", "true positive rate"),
        "pr_curves": ("(b) Precision and recall", "recall", "precision", "recall", "precision"),
        "calibration_curves": (
            "(c) Calibration",
            "predicted",
            "observed",
            "predicted risk",
            "observed share",
        ),
    }
    for axis, (file, (title, x, y, across, up)) in zip(axes, panels.items(), strict=True):
        if file != "pr_curves":
            axis.plot([0, 1], [0, 1], color="black", lw=0.8, ls=":")
        for method in METHODS[1:]:
            style, frame = look(method), frames[f"{file}_{look(method).suffix}"]
            drawn = line_style(style)
            if file == "calibration_curves":
                drawn |= {k: v for k, v in marker(style, 4).items() if k[0] == "m"}
            axis.plot(frame.numbers(x), frame.numbers(y), **drawn)
        axis.set(xlabel=across, ylabel=up, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), title=title)
        axis.set_aspect("equal")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


def _key(pyplot: Any, figure: Any, *, references: bool) -> None:
    """One legend for what all panels share."""
    from matplotlib.lines import Line2D

    grey = "#444444"
    shown = [
        Line2D([], [], marker="o", ms=6, mfc=grey, mec=grey, ls="", label="private (shaded)"),
        Line2D([], [], marker="o", ms=6, mfc="white", mec=grey, ls="", label="not private"),
        Line2D([], [], color=grey, lw=1.8, label="95 % interval of the mean"),
        Line2D([], [], marker="o", ms=3, alpha=0.45, color=grey, ls="", label="one seed"),
    ]
    if references:
        shown += [
            Line2D([], [], color="black", lw=1, ls=line, label=look(method).label)
            for method, line in REFERENCE_LINES.items()
        ]
    figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))
