"""The attacks of an audit beside their controls and, where they were run, its canaries."""

from pathlib import Path
from typing import Any

import numpy as np

from longsynth.audit.result import REFITS, SYNTHETIC, TRAINING, AuditResult, Source
from longsynth.audit.score import Score
from longsynth.show.audit_plots import FAINT, REAL, STYLE
from longsynth.show.audit_plots import SYNTHETIC as RED

ATTACKS = {
    "mia_auc": "nearest neighbour",
    "mia_auc_control": "  the same on outsiders only",
    "mia_density_auc": "density ratio",
    "mia_density_auc_control": "  the same on outsiders only",
}
FOUND = {"canary_auroc_4": "four copies", "canary_auroc_1": "one copy"}
EXPOSED = {
    "canary_exposure_4": "four copies",
    "canary_exposure_1": "one copy",
    "canary_exposure_control": "none planted",
}


def plot_attacks(result: AuditResult, folder: Path) -> list[Path]:
    """Write attacks.png, or nothing where matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return []
    path, canaries = folder / "attacks.png", result.of("attacks", Source(REFITS))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12 if canaries else 6, 3.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, 3 if canaries else 1, squeeze=False)[0]
        _membership(axes[0], result)
        if canaries:
            _found(axes[1], canaries)
            _exposed(axes[2], canaries)
        figure.suptitle(
            "How far these attacks got; others may get further (dotted: chance)",
            x=0.01,
            ha="left",
            fontsize=11,
        )
        figure.savefig(path, dpi=150)
    return [path]


def _membership(axis: Any, result: AuditResult) -> None:
    axis.set_title("Members told from outsiders (AUROC)", loc="left")
    for name, colour, shift in ((TRAINING, REAL, 0.12), (SYNTHETIC, RED, -0.12)):
        scores = result.of("attacks", Source(name))
        _dots(axis, [scores[m] for m in ATTACKS], colour, shift, name)
    _rows(axis, list(ATTACKS.values()), 0.5)
    axis.set_xlim(0, 1.02)
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _found(axis: Any, scores: dict[str, Score]) -> None:
    axis.set_title("Canaries: fits told apart (AUROC)", loc="left")
    _dots(axis, [scores[m] for m in FOUND], RED, 0, "found")
    bounds = [scores.get(m.replace("auroc", "auroc_bound")) for m in FOUND]
    known = [(score.value, row) for row, score in enumerate(bounds) if score is not None]
    if known:
        axis.scatter(*zip(*known, strict=True), marker="|", s=260, color=REAL, label="ε allows")
    _rows(axis, list(FOUND.values()), 0.5)
    axis.set_xlim(0, 1.02)
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _exposed(axis: Any, scores: dict[str, Score]) -> None:
    axis.set_title("Canaries: share of records nearby", loc="left")
    shown = [scores[m] for m in EXPOSED]
    _dots(axis, shown, RED, 0, "")
    _rows(axis, list(EXPOSED.values()), scores["canary_baseline"].value)
    ends = [s.upper if np.isfinite(s.upper) else s.value for s in shown]
    axis.set_xlim(-0.002, 1.1 * max(*ends, 2 * scores["canary_baseline"].value))


def _dots(axis: Any, scores: list[Score], colour: str, shift: float, label: str) -> None:
    value = np.array([s.value for s in scores])
    ends = np.array([[s.lower, s.upper] for s in scores]).T
    reach = np.nan_to_num(np.abs(ends - value))
    place = np.arange(len(scores)) + shift
    look = {"color": colour, "fmt": "o", "ms": 5, "lw": 1.4, "label": label or None}
    axis.errorbar(value, place, xerr=reach, clip_on=False, **look)


def _rows(axis: Any, names: list[str], chance: float) -> None:
    axis.plot([chance, chance], [-0.5, len(names) - 0.5], ":", color=FAINT, zorder=0)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -1.1)  # room for a legend
