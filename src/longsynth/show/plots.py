"""Two plots that compare real with synthetic patients. They show real patients: internal only."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.show.audit_plots import REAL, STYLE, SYNTHETIC
from longsynth.system.arrays import Floats
from longsynth.system.text import figure as literal


def plot_all(
    schema: Schema, real: Trajectories, synthetic: Trajectories, folder: Path
) -> list[Path]:
    """Write both plots, or none if matplotlib is not installed."""
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
            warning = "shows real patients: internal, not for release"
            figure.text(0.99, -0.02, warning, ha="right", fontsize=8, color=REAL)
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
        axis.set_xlabel(literal(variable.unit))
    return figure, flat


def _distributions(pyplot: Any, schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    figure, axes = _panels(pyplot, schema, "How often each value was recorded")
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


def _trajectories(pyplot: Any, schema: Schema, real: Trajectories, synthetic: Trajectories) -> Any:
    """Means over time. Static variables do not change, and unordered levels have no mean."""
    varying = [v for v, x in enumerate(schema.variables) if not x.static and x.kind != "nominal"]
    shown = schema.model_copy(update={"variables": tuple(schema.variables[v] for v in varying)})
    figure, axes = _panels(pyplot, shown, "Mean over time, with and without the event")
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
    rows = cohort.event == event
    observed = cohort.observed[rows, :, v]
    weight = np.where(observed, weights(cohort)[rows][:, None], 0.0)
    values = np.where(observed, cohort.values[rows, :, v], 0.0)
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
