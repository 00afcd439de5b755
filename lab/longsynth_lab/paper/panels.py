"""Panels of a study's figures: private methods filled and solid, the others hollow and dashed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longsynth_lab.labels import LOOKS, Look, look
from longsynth_lab.paper.figure_data import Frame

METHODS = tuple(LOOKS)[:7]
REFERENCE_LINES = {"train on real": "--", "base rate": ":"}
SEEDS_BELOW = 0.26  # of a row: under the interval, not hidden by it
APART = 0.024  # of an axis, between the same setting of two methods
BAND = "#f3efe6"  # behind the private methods


def seed_values(
    seeds: Frame, experiment: str, method: str, metric: str, setting: str = "main"
) -> list[float]:
    """Return one number per seed, in the order of the results."""
    wanted = (experiment, metric, method, setting)
    return [float(row[5]) for row in seeds.rows if row[:4] == wanted and np.isfinite(float(row[5]))]


def by_method(
    axis: Any,
    frame: Frame,
    seeds: Frame,
    *,
    experiment: str,
    metric: str,
    label: str,
    log: bool = False,
    lines: bool = True,
) -> None:
    """One row per method: seeds as dots, their mean and its 95 % interval.

    On a logarithmic axis, where a symmetric interval means little, the line spans the lowest to the
    highest seed.
    """
    rows(axis, [look(method) for method in METHODS])
    ends = ("least", "most") if log else ("lower", "upper")
    means, lower, upper = (frame.numbers(c) for c in ("mean", *ends))
    for place, method in enumerate(METHODS):
        style = look(method)
        found = seed_values(seeds, experiment, method, metric)
        below = np.full(len(found), place + SEEDS_BELOW)
        axis.scatter(found, below, s=10, color=style.colour, alpha=0.6, lw=0)
        if np.isfinite(lower[place]):
            axis.plot([lower[place], upper[place]], [place, place], color=style.colour, lw=1.8)
        axis.plot(means[place], place, **marker(style, 7))
    for method, line in REFERENCE_LINES.items() if lines else ():
        found = seed_values(seeds, experiment, method, metric)
        if found:
            axis.axvline(float(np.mean(found)), color="black", ls=line, lw=1, zorder=0.5)
    axis.set_xlabel(label)
    if log:
        plain_log(axis.xaxis, axis.set_xscale)
    else:
        axis.locator_params(axis="x", nbins=6)


def plain_log(axis: Any, set_scale: Any) -> None:
    """A logarithmic axis labelled 0.02, 0.05, 0.1 and so on, without overlapping labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    set_scale("log")
    low, high = axis.get_view_interval()
    wide = high > 8 * low  # else 1, 2 and 5 would leave a tick or two
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if wide else range(1, 10)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def rows(axis: Any, styles: Sequence[Look]) -> None:
    """Label the rows and shade the private ones."""
    private = [place for place, style in enumerate(styles) if style.private]
    if private:
        axis.axhspan(min(private) - 0.5, max(private) + 0.5, color=BAND, zorder=0, lw=0)
    axis.set_yticks(range(len(styles)), [style.label for style in styles])
    axis.set_ylim(len(styles) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#e3e3e3", lw=0.6, zorder=0)


def marker(style: Look, size: float) -> dict[str, Any]:
    """A method's marker, filled if the method is private."""
    face = style.colour if style.private else "white"
    return {
        "marker": style.marker,
        "ms": size,
        "mfc": face,
        "mec": style.colour,
        "mew": 1.6,
        "color": style.colour,
        "ls": "",
    }


def line_style(style: Look) -> dict[str, Any]:
    return {
        "color": style.colour,
        "ls": "-" if style.private else (0, (4, 1.6)),
        "lw": 2.2 if style.label.startswith("TRUST") else 1.5,
        "label": style.label,
    }


def reference_lines(axis: Any, seeds: Frame, experiment: str, settings: Sequence[float]) -> None:
    """Lines for training on real patients and predicting the base rate at each setting."""
    for method, line in REFERENCE_LINES.items():
        means = []
        for setting in settings:
            found = seed_values(seeds, experiment, method, "auprc", f"{setting:g}")
            means.append(float(np.mean(found)) if found else np.nan)
        axis.plot(settings, means, color="black", ls=line, lw=1, label=look(method).label)


def sweep(axis: Any, frames: Mapping[str, Frame], x: str, *, label: str) -> None:
    """Lines over a setting with 95 % intervals, offset so that error bars do not overlap."""
    for place, (method, frame) in enumerate(frames.items()):
        style = look(method)
        middle = (len(frames) - 1) / 2
        settings = np.array(frame.numbers(x))
        across = settings + (place - middle) * APART * np.ptp(settings)
        mean, low, high = (np.array(frame.numbers(c)) for c in ("mean", "lower", "upper"))
        axis.errorbar(
            across,
            mean,
            np.nan_to_num(np.stack([mean - low, high - mean])),
            elinewidth=1.1,
            capsize=2,
            **(line_style(style) | {k: v for k, v in marker(style, 5).items() if k[0] == "m"}),
        )
    axis.set_ylabel(label)
    axis.grid(color="#e3e3e3", lw=0.6, zorder=0)
    axis.set_axisbelow(True)
