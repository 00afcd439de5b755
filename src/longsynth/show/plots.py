"""Two plots of real against synthetic patients. They show real patients: internal only."""

from pathlib import Path
from typing import Any

import numpy as np

from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.audit_plots import REAL, STYLE, SYNTHETIC
from longsynth.show.compare import weights
from longsynth.system.text import figure as plain


def plot_all(
    schema: Schema, real: Trajectories, synthetic: Trajectories, folder: Path
) -> list[Path]:
    """Write both plots, or none where matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        figures = {
            "distributions.png": _distributions(pyplot, schema, real, synthetic),
            "trajectories.png": _trajectories(pyplot, schema, real, synthetic),
        }
        for name, figure in figures.items():
            figure.text(
                0.99,
                -0.02,
                "shows real patients: internal, not for release",
                ha="right",
                fontsize=8,
                color=REAL,
            )
            figure.savefig(folder / name, dpi=150, bbox_inches="tight")
            pyplot.close(figure)
    return [folder / name for name in figures]


def _panels(pyplot: Any, schema: Schema, title: str) -> tuple[Any, list[Any]]:
    columns = min(3, max(len(schema.variables), 1))
    rows = max(-(-len(schema.variables) // columns), 1)
    figure, axes = pyplot.subplots(
        rows,
        columns,
        figsize=(3.6 * columns, 2.6 * rows + 0.6),
        layout="constrained",
        squeeze=False,
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    flat = list(axes.ravel())
    for axis in flat[len(schema.variables) :]:
        axis.set_axis_off()
    for axis, variable in zip(flat, schema.variables, strict=False):
        axis.set_title(variable.name.replace("_", " "), loc="left")
        axis.set_xlabel(plain(variable.unit))
    return figure, flat


def _named(variable: Variable) -> list[str] | None:
    return [plain(level) for level in variable.levels] if variable.levels else None


def _distributions(pyplot: Any, schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    figure, axes = _panels(pyplot, schema, "How often each value was recorded")
    for v, variable in enumerate(schema.variables):
        low, high = variable.bounds
        continuous = variable.kind == "continuous"
        edges = np.linspace(low, high, 61) if continuous else np.arange(low - 0.5, high + 1)
        for cohort, colour, label in ((real, REAL, "real"), (synthetic, SYNTHETIC, "synthetic")):
            seen = cohort.observed[:, :, v]
            weight = np.broadcast_to(weights(cohort)[:, None], seen.shape)[seen]
            share, _ = np.histogram(cohort.values[:, :, v][seen], edges, weights=weight)
            share = 100 * share / max(share.sum(), 1e-300)
            if continuous:
                filled = cohort is real
                axes[v].stairs(
                    share,
                    edges,
                    color=colour,
                    fill=filled,
                    alpha=0.45 if filled else 1,
                    lw=1.6,
                    label=label,
                )
            else:
                shift = -0.2 if cohort is real else 0.2
                axes[v].bar(
                    edges[:-1] + 0.5 + shift,
                    share,
                    0.38,
                    color=colour,
                    alpha=0.6 if cohort is real else 1,
                    label=label,
                )
                axes[v].set_xticks(np.arange(low, high + 1), _named(variable))
        axes[v].set_ylabel("% of observations")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _trajectories(pyplot: Any, schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    """Of what is static there is no course, and of levels without an order no mean."""
    courses = [v for v, x in enumerate(schema.variables) if not x.static and x.kind != "nominal"]
    shown = schema.model_copy(update={"variables": tuple(schema.variables[v] for v in courses)})
    figure, panels = _panels(pyplot, shown, "Mean course with and without the event")
    axes, slots = dict(zip(courses, panels, strict=False)), np.arange(1, schema.slots + 1)
    for v in courses:
        variable = schema.variables[v]
        for cohort, colour, label in ((real, REAL, "real"), (synthetic, SYNTHETIC, "synthetic")):
            for event, line in ((1, "-"), (0, "--")):
                chosen = cohort.event == event
                if not chosen.any():
                    continue
                seen = cohort.observed[chosen, :, v]
                weight = np.where(seen, weights(cohort)[chosen][:, None], 0.0)
                values = np.where(seen, cohort.values[chosen, :, v], 0.0)
                total = weight.sum(axis=0)
                mean = np.divide(
                    (weight * values).sum(axis=0),
                    total,
                    out=np.full(len(total), np.nan),
                    where=total > 0,
                )
                name = f"{label}, {'event' if event else 'no event'}"
                axes[v].plot(slots, mean, line, color=colour, lw=1.8, label=name)
        axes[v].set_xlabel("slot")
        axes[v].set_ylabel(
            plain(variable.unit) or ("share" if variable.kind == "binary" else "level")
        )
    if courses:
        panels[0].legend(frameon=False, fontsize=7)
    return figure
