"""The five figures of a study as PNG and PDF, from the same data files that PGFPlots reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longsynth_lab.labels import look
from longsynth_lab.paper.figure_data import Frame
from longsynth_lab.paper.panels import (
    METHODS,
    REFERENCE_LINES,
    SEEDS_BELOW,
    by_method,
    line_style,
    marker,
    plain_log,
    reference_lines,
    rows,
    seed_values,
    sweep,
)

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
CANARIES = {"4 copies": ("D", 5), "1 copy": ("o", 5), "no canary": ("|", 8)}
RANDOM_RANKING: Any = {"color": "black", "lw": 1, "ls": "-.", "zorder": 0.5}
LOWEST_RISK = 0.0001  # predictions below stand at the left edge


def plot_study(frames: Mapping[str, Frame], seeds: Frame, folder: Path) -> list[Path]:
    """Write every figure as PNG and PDF, or nothing if matplotlib is not installed."""
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
        "main_auprc": ("auprc", "(a) Discrimination", "AUPRC (higher is better)"),
        "main_brier": ("brier", "(b) Probabilistic accuracy", "Brier score (lower is better)"),
        "main_ece": ("ece", "(c) Calibration", "expected calibration error (lower is better)"),
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
            axis.axvline(0.5, **RANDOM_RANKING)
        else:  # no score is below 0 or above 1, wherever an interval of few seeds may reach
            axis.set_xlim(0, min(axis.get_xlim()[1], 1))
    _key(figure, references=True)
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
            label="error (lower is better); dashed: real training patients",
        )
        axis.set_title(title)
        axis.set_xlim(left=0)
    _canary(axes.flat[3], seeds)
    _key(figure, references=False)
    return figure


def _canary(axis: Any, seeds: Frame) -> None:
    """The mean for each number of copies, with a line from the lowest to the highest seed."""
    rows(axis, [look(method) for method in METHODS])
    for place, method in enumerate(METHODS):
        for shift, (label, (shape, size)) in zip((-0.28, 0, 0.28), CANARIES.items(), strict=True):
            found = seed_values(seeds, "canary", method, "canary_exposure", label)
            if found:
                style = marker(look(method), size) | {"marker": shape}
                reach = [min(found), max(found)]
                axis.plot(reach, [place + shift] * 2, color=style["color"], lw=0.9)
                axis.plot(float(np.mean(found)), place + shift, **style)
    axis.set_title("(d) Canary")
    axis.set_xlabel("share of synthetic records near the canary (lower is better)")


def _curves(pyplot: Any, frames: Mapping[str, Frame], _: Frame) -> Any:
    figure = pyplot.figure(figsize=(11.5, 4.4))
    grid = figure.add_gridspec(2, 3, height_ratios=(2.6, 1), width_ratios=(1, 1, 1.15))
    roc, recall = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[:, 1])
    calibration = figure.add_subplot(grid[0, 2])
    counts = figure.add_subplot(grid[1, 2], sharex=calibration)
    for method in METHODS[1:]:
        style, suffix = line_style(look(method)), look(method).suffix
        frame = frames[f"roc_curves_{suffix}"]
        roc.plot(frame.numbers("fpr"), frame.numbers("tpr"), **style)
        frame = frames[f"pr_curves_{suffix}"]
        recall.plot(frame.numbers("recall"), frame.numbers("precision"), **style)
        _calibration(calibration, counts, method, frames[f"calibration_curves_{suffix}"])
    roc.plot([0, 1], [0, 1], color="black", lw=0.8, ls=":")
    roc.set(xlabel="false positive rate", ylabel="true positive rate", title="(a) ROC")
    recall.set(xlabel="recall", ylabel="precision", title="(b) Precision and recall")
    for axis in (roc, recall):
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axis.set_box_aspect(1)
        axis.set_anchor("N")
    _calibration_axes(calibration, counts)
    handles, labels = roc.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


def _calibration(axis: Any, counts: Any, method: str, frame: Frame) -> None:
    """Bins as markers whose area is the number of patients, which is also plotted below."""
    style = look(method)
    x, y, patients = (np.array(frame.numbers(c)) for c in ("predicted", "observed", "patients"))
    shown = np.maximum(x, LOWEST_RISK)
    axis.plot(shown, y, **(line_style(style) | {"lw": 1.0, "alpha": 0.7}))
    face = style.colour if style.private else "white"
    axis.scatter(shown, y, s=6 + 0.5 * patients, c=face, edgecolors=style.colour, zorder=3)
    drawn = {k: v for k, v in marker(style, 4).items() if k[0] == "m"}
    counts.plot(shown, patients, **(line_style(style) | {"lw": 1.0} | drawn))


def _calibration_axes(axis: Any, counts: Any) -> None:
    risk = np.geomspace(LOWEST_RISK, 1, 100)
    axis.plot(risk, risk, color="black", lw=0.8, ls=":")
    axis.set(
        title="(c) Calibration, with patients per bin",
        xscale="log",
        xlim=(LOWEST_RISK * 0.8, 1.25),
        ylim=(-0.04, 1.04),
        ylabel="observed event rate",
    )
    axis.tick_params(labelbottom=False)
    counts.set(xlabel="predicted risk (logarithmic)", ylabel="patients", yscale="log")
    ticks = (0.0001, 0.001, 0.01, 0.1, 1)
    counts.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    counts.set_yticks((1, 10, 100), ("1", "10", "100"))
    for one in (axis, counts):
        one.minorticks_off()
        one.grid(color="#e3e3e3", lw=0.6)
        one.set_axisbelow(True)


def _key(figure: Any, *, references: bool) -> None:
    """One legend below the panels."""
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
        shown.append(Line2D([], [], **RANDOM_RANKING, label="chance (d)"))
    else:
        shown.append(Line2D([], [], color=grey, lw=0.9, label="lowest to highest seed (d)"))
        shown += [
            Line2D([], [], marker=shape, ms=size, ls="", mfc="none", mec=grey, label=f"{label} (d)")
            for label, (shape, size) in CANARIES.items()
        ]
    figure.legend(handles=shown, loc="outside lower center", ncols=4)


STRESSED = ("temporal-pca", "dp-score", "trust")
SCALED = ("scorediff", "dp-score", "trust")


def robustness(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(2, 3, figsize=(10.5, 6.2))
    single = {
        "epsilon_auprc": ("(a) Budget and utility", "AUPRC"),
        "epsilon_membership": ("(b) Budget and attack", "attack AUROC"),
        "epsilon_autocorr": ("(c) Budget and temporal fidelity", "lag-1 autocorrelation error"),
    }
    for axis, (file, (title, label)) in zip(axes.flat, single.items(), strict=False):
        sweep(axis, {"trust": frames[file]}, "epsilon", label=label)
        budgets = frames[file].numbers("epsilon")
        axis.set_xscale("log", base=2)
        axis.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
        axis.minorticks_off()
        axis.set(title=title, xlabel="ε")
        axis.locator_params(axis="y", nbins=6)
        within_scores(axis)
        if file == "epsilon_membership":
            axis.axhline(0.5, color="black", lw=1, ls="-.", label="chance (b)")
    several = {
        "data_scarcity": (
            "scarcity",
            "(d) Fewer training patients",
            "train_patients",
            "training patients",
        ),
        "missingness_robustness": (
            "missingness",
            "(e) More missing values",
            "extra_missing_rate",
            "added missing rate",
        ),
    }
    for axis, (file, (experiment, title, x, label)) in zip(
        axes.flat[3:], several.items(), strict=False
    ):
        found = {method: frames[f"{file}_{look(method).suffix}"] for method in STRESSED}
        sweep(axis, found, x, label="AUPRC")
        settings = frames[f"{file}_{look('trust').suffix}"].numbers(x)
        reference_lines(axis, seeds, experiment, settings)
        axis.set_xticks(settings)
        axis.set(title=title, xlabel=label)
        within_scores(axis)
    _ablation_panel(axes.flat[5], frames["ablation_auprc"], seeds)
    shown = [axes.flat[place].get_legend_handles_labels() for place in (3, 1)]
    handles, labels = ([*one, *other] for one, other in zip(*shown, strict=True))
    kept = [place for place, label in enumerate(labels) if label not in labels[:place]]
    figure.legend(
        [handles[place] for place in kept],
        [labels[place] for place in kept],
        loc="outside lower center",
        ncols=len(kept),
    )
    return figure


def within_scores(axis: Any) -> None:
    """Keep an axis within 0 and 1, even if an interval of few seeds extends further."""
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, 0), min(high, 1))


def _ablation_panel(axis: Any, frame: Frame, seeds: Frame) -> None:
    style, variants = look("trust"), [str(name) for name in frame.column("variant")]
    mean, low, high = (frame.numbers(c) for c in ("mean", "lower", "upper"))
    for place, variant in enumerate(variants):
        found = seed_values(seeds, "ablation", "trust", "auprc", variant)
        below = np.full(len(found), place + SEEDS_BELOW)
        axis.scatter(found, below, s=10, color=style.colour, alpha=0.6, lw=0)
        axis.plot([low[place], high[place]], [place, place], color=style.colour, lw=1.8)
        axis.plot(mean[place], place, **marker(style, 6))
    axis.set_yticks(range(len(variants)), [name.replace(" ", "\n", 1) for name in variants])
    axis.set_ylim(len(variants) - 0.5, -0.5)
    axis.grid(axis="x", color="#e3e3e3", lw=0.6)
    axis.set(title="(f) Components", xlabel="AUPRC")
    axis.set_xlim(max(axis.get_xlim()[0], 0), min(axis.get_xlim()[1], 1))


def efficiency(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    from matplotlib.lines import Line2D

    figure, axes = pyplot.subplots(1, 3, figsize=(11.5, 3.9))
    panels = {
        "runtime_fit": ("(a) Time to fit", "fit_seconds", "seconds"),
        "peak_memory": ("(b) Peak memory", "peak_mb", "MB (traced)"),
    }
    for axis, (file, (title, metric, label)) in zip(axes, panels.items(), strict=False):
        by_method(
            axis,
            frames[file],
            seeds,
            experiment="cost",
            metric=metric,
            label=label,
            log=True,
            lines=False,
        )
        axis.set_title(title)
    axes[1].set_yticklabels([])
    for method in SCALED:
        style, frame = look(method), frames[f"scalability_{look(method).suffix}"]
        mean, least, most = (np.array(frame.numbers(c)) for c in ("seconds", "least", "most"))
        drawn = line_style(style) | {k: v for k, v in marker(style, 5).items() if k[0] == "m"}
        axes[2].errorbar(
            frame.numbers("patients_total"),
            mean,
            np.stack([mean - least, most - mean]),
            elinewidth=1.1,
            capsize=2,
            **drawn,
        )
    patients = frames[f"scalability_{look('trust').suffix}"].numbers("patients_total")
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(patients, [f"{n:,.0f}" for n in patients])
    axes[2].minorticks_off()
    plain_log(axes[2].yaxis, axes[2].set_yscale)
    axes[2].set(title="(c) Scaling", xlabel="total patients", ylabel="seconds to fit and sample")
    axes[2].grid(color="#e3e3e3", lw=0.6)
    handles, labels = axes[2].get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", lw=1.4))
    labels.append("lowest to highest seed")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure
