"""Figures of what changes a method's results and of what they cost."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from longsynth.report.study_frames import Frame
from longsynth.report.study_panels import (
    SEEDS_BELOW,
    by_method,
    line_style,
    marker,
    plain_log,
    reference_lines,
    seed_values,
    sweep,
)
from longsynth.report.study_style import look

STRESSED = ("temporal-pca", "dp-score", "trust")
SCALED = ("scorediff", "dp-score", "trust")


def robustness(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(2, 3, figsize=(10.5, 6.2))
    single = {
        "epsilon_auprc": ("(a) Budget and utility", "AUPRC"),
        "epsilon_membership": ("(b) Budget and attack", "AUROC of the membership attack"),
        "epsilon_autocorr": ("(c) Budget and time", "autocorrelation error"),
    }
    for axis, (file, (title, label)) in zip(axes.flat, single.items(), strict=False):
        sweep(axis, {"trust": frames[file]}, "epsilon", label=label, spread=0)
        budgets = frames[file].numbers("epsilon")
        axis.set_xscale("log", base=2)
        axis.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
        axis.minorticks_off()
        axis.set(title=title, xlabel="ε")
        if file == "epsilon_membership":
            axis.axhline(0.5, color="black", lw=1, ls="-.")
    several = {
        "data_scarcity": (
            "scarcity",
            "(d) Few patients",
            "train_patients",
            "training patients",
            5,
        ),
        "missingness_robustness": (
            "missingness",
            "(e) Worse charting",
            "extra_missing_rate",
            "added missing rate",
            0.006,
        ),
    }
    for axis, (file, (experiment, title, x, label, apart)) in zip(
        axes.flat[3:], several.items(), strict=False
    ):
        found = {method: frames[f"{file}_{look(method).suffix}"] for method in STRESSED}
        sweep(axis, found, x, label="AUPRC", spread=apart)
        settings = frames[f"{file}_{look('trust').suffix}"].numbers(x)
        reference_lines(axis, seeds, experiment, settings)
        axis.set_xticks(settings)
        axis.set(title=title, xlabel=label)
    _ablation(axes.flat[5], frames["ablation_auprc"], seeds)
    handles, labels = axes.flat[3].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure


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


def efficiency(pyplot: Any, frames: Mapping[str, Frame], seeds: Frame) -> Any:
    figure, axes = pyplot.subplots(1, 3, figsize=(11.5, 3.7))
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
        total = np.add(frame.numbers("fit_seconds"), frame.numbers("sample_seconds"))
        drawn = line_style(style) | {k: v for k, v in marker(style, 5).items() if k[0] == "m"}
        axes[2].plot(frame.numbers("patients_total"), total, **drawn)
    patients = frames[f"scalability_{look('trust').suffix}"].numbers("patients_total")
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(patients, [f"{n:,.0f}" for n in patients])
    axes[2].minorticks_off()
    plain_log(axes[2].yaxis, axes[2].set_yscale)
    axes[2].set(title="(c) Growth", xlabel="patients in all", ylabel="seconds to fit and sample")
    axes[2].grid(color="#e3e3e3", lw=0.6)
    handles, labels = axes[2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=len(handles))
    return figure
