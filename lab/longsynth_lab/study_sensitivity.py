"""Figures of what changes a method's results and of what they cost."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from longsynth_lab.study_frames import Frame
from longsynth_lab.study_panels import (
    SEEDS_BELOW,
    by_method,
    line_style,
    marker,
    plain_log,
    reference_lines,
    seed_values,
    sweep,
)
from longsynth_lab.study_style import look

STRESSED = ("temporal-pca", "dp-score", "trust")
SCALED = ("scorediff", "dp-score", "trust")


def robustness(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(2, 3, figsize=(10.5, 6.2))
    single = {
        "epsilon_auprc": ("(a) Budget and utility", "AUPRC"),
        "epsilon_membership": ("(b) Budget and attack", "attack AUROC"),
        "epsilon_autocorr": ("(c) Budget and time", "lag-1 error"),
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
            axis.axhline(0.5, color="black", lw=1, ls="-.", label="random ranking (b)")
    several = {
        "data_scarcity": (
            "scarcity",
            "(d) Few patients",
            "train_patients",
            "training patients",
        ),
        "missingness_robustness": (
            "missingness",
            "(e) Worse charting",
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
    _ablation(axes.flat[5], frames["ablation_auprc"], seeds)
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
    """Keep an axis within 0 and 1, wherever an interval of few seeds may reach."""
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, 0), min(high, 1))


def _ablation(axis: Any, frame: Frame, seeds: Frame) -> None:
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
        "peak_memory": ("(b) Peak memory", "peak_mb", "MB, traced"),
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
    axes[2].set(title="(c) Growth", xlabel="patients in all", ylabel="seconds to fit and sample")
    axes[2].grid(color="#e3e3e3", lw=0.6)
    handles, labels = axes[2].get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", lw=1.4))
    labels.append("fastest to slowest, lowest to highest seed")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure
