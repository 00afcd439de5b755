"""A description of a cohort in a few hundred numbers: shares, quantiles, correlations and how
values develop over time. For synthetic patients it is public; for real ones it stays internal. Bins
depend on the schema alone, so that descriptions of two cohorts can be plotted together."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.audit.cox import incidence
from longsynth.schema.outcomes import Outcome
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import LABEL_ORDER, Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats

CHANCES = (0.1, 0.5, 0.9)  # of a band along a record
LAGS = 6


def describe(schema: Schema, patients: Trajectories, *, along: bool = True) -> dict[str, Any]:
    """Return weighted shares and correlations and, with `along`, also how values develop over time.
    Scales depend on the schema alone."""
    view = _View(schema, patients)
    return {
        "variables": [_variable(schema, view, v, along) for v in range(len(schema.variables))],
        "gaps": _gaps(schema, view),
        "lengths": _lengths(schema, view),
        "strata": _strata(schema, view),
        "times": [_times(schema, view, o) for o in schema.outcomes if o.kind == "time_to_event"],
        "correlations": _correlations(schema, view),
        "autocorrelations": _autocorrelations(schema, view) if along else {},
    }


class _View:
    """Values within bounds, and where they were observed."""

    def __init__(self, schema: Schema, patients: Trajectories) -> None:
        low, high = np.array([v.bounds for v in schema.variables]).T
        used = np.arange(schema.slots) < np.asarray(patients.length)[:, None]
        values = np.asarray(patients.values, dtype=np.float64)
        self.used: Bools = used
        self.cells: Bools = schema.layout.up_to(np.asarray(patients.length))
        self.observed: Bools = np.asarray(patients.observed & self.cells & np.isfinite(values))
        self.values: Floats = np.clip(np.nan_to_num(values), low, high)
        gaps = np.nan_to_num(np.where(used, patients.gaps, 0.0))
        self.gaps: Floats = np.clip(gaps, 0.0, schema.max_gap)
        self.length: NDArray[np.int64] = np.asarray(patients.length)
        self.labels = {w: np.asarray(getattr(patients, w)) for w in ("group", "event", "site")}
        weight = getattr(patients, "weight", None)
        count = len(self.length)
        self.weight: Floats = np.ones(count) if weight is None else np.asarray(weight, np.float64)

    def parts(self) -> dict[str, Bools]:
        """Everybody, and two sides of event and of group: the first level, and all others."""
        everybody = {"all": np.ones(len(self.length), bool)}
        return everybody | {
            f"{what}{side}": (self.labels[what] > 0) == (side > 0)
            for what in ("event", "group")
            for side in (0, 1)
        }


def _variable(schema: Schema, view: _View, v: int, along: bool) -> dict[str, Any]:
    variable, observed = schema.variables[v], view.observed[:, :, v]
    values, weight = (
        view.values[:, :, v][observed],
        np.broadcast_to(view.weight[:, None], observed.shape),
    )
    if variable.kind == "continuous":
        edges = variable_edges(variable)
        parts = histogram(values, weight[observed], edges)
        scale: dict[str, Any] = {"edges": rounded(edges)}
    else:
        names = level_names(variable)
        code = np.clip((values - variable.bounds[0]).round().astype(np.int64), 0, len(names) - 1)
        scale, parts = {"levels": names}, shares(code, weight[observed], len(names))
    middle = rounded(np.full(3, np.nan))
    if len(values) and weight[observed].sum() > 0 and variable.kind != "nominal":
        middle = rounded(quantiles(values, weight[observed], (0.05, 0.5, 0.95)))
    return {
        **scale,
        "shares": parts,
        "middle": middle,
        "missing": {name: _missing(view, rows, v) for name, rows in view.parts().items()},
        "bands": _bands(schema, view, v) if along and _has_bands(variable) else {},
    }


def _has_bands(variable: Variable) -> bool:
    return not variable.static and variable.kind != "nominal"


def _missing(view: _View, rows: Bools, v: int) -> float | None:
    weight = np.where(rows, view.weight, 0.0)[:, None]
    cells = float((weight * view.cells[:, :, v]).sum())
    observed = float((weight * view.observed[:, :, v]).sum())
    return rounded(np.array([1 - observed / cells if cells > 0 else np.nan]))[0]


def _bands(schema: Schema, view: _View, v: int) -> dict[str, Any]:
    """By part: for each block of slots, three quantiles, or the share of "yes" for a binary
    variable."""
    binary = schema.variables[v].kind == "binary"
    blocks, by_part = blocks_of(schema), {}
    for name, rows in view.parts().items():
        lines: list[list[float | None]] = []
        for start, end in pairwise(blocks):
            observed = view.observed[:, start:end, v] & rows[:, None]
            weight = np.broadcast_to(view.weight[:, None], observed.shape)[observed]
            values = view.values[:, start:end, v][observed]
            if observed.any(axis=1).sum() < FEWEST or weight.sum() <= 0:
                lines.append([None] * 3)
            elif binary:
                share = float(np.average(values, weights=weight))
                lines.append(rounded(np.array([np.nan, share, np.nan])))
            else:
                lines.append(rounded(quantiles(values, weight, CHANCES)))
        by_part[name] = [list(line) for line in zip(*lines, strict=True)]
    return by_part


def _gaps(schema: Schema, view: _View) -> dict[str, Any]:
    """Hours between consecutive slots; the first slot has no gap."""
    used = view.used.copy()
    used[:, 0] = False
    weight = np.broadcast_to(view.weight[:, None], used.shape)[used]
    edges = edges_of(0.0, schema.max_gap)
    return {"edges": rounded(edges), "shares": histogram(view.gaps[used], weight, edges)}


def _lengths(schema: Schema, view: _View) -> dict[str, Any]:
    """Slots in use, one bin each or a few together, by event."""
    edges = edges_of(0.0, float(schema.slots + 1), least=1.0)
    return {
        "edges": rounded(edges),
        "shares": {
            name: histogram(view.length[rows].astype(np.float64), view.weight[rows], edges)
            for name, rows in view.parts().items()
            if not name.startswith("group")
        },
    }


def _strata(schema: Schema, view: _View) -> dict[str, Any]:
    event, weight = (view.labels["event"] > 0).astype(np.float64), view.weight
    counts = dict(zip(LABEL_ORDER, schema.label_sizes, strict=True))
    rates = {
        name: float(np.average(event[rows], weights=weight[rows]))
        if weight[rows].sum() > 0
        else np.nan
        for name, rows in view.parts().items()
        if not name.startswith("event")
    }
    return {
        **{w: shares(view.labels[w].astype(np.int64), weight, n) for w, n in counts.items()},
        "rates": {name: rounded(np.array([rate]))[0] for name, rate in rates.items()},
    }


def _times(schema: Schema, view: _View, outcome: Outcome) -> dict[str, Any]:
    """The share of patients who ended in each way, by time; censored patients are accounted for."""
    assert outcome.variable is not None and outcome.levels is not None  # for mypy
    known = view.observed[:, 0, outcome.variable]
    status = view.labels["event"]
    if outcome.status is not None:
        known = known & view.observed[:, 0, outcome.status]
        status = view.values[:, 0, outcome.status].round()
    at = np.linspace(0.0, schema.variables[outcome.variable].bounds[1], MOST_BINS + 1)
    time, weight = view.values[:, 0, outcome.variable][known], view.weight[known]
    curves = incidence(time, status[known].astype(np.int64), weight, len(outcome.levels) - 1, at)
    return {"at": rounded(at), "curves": [rounded(curve) for curve in curves]}


def _correlations(schema: Schema, view: _View) -> dict[str, Any]:
    """Between patients' means, and with the event; the upper triangle by rows."""
    chosen = [v for v, variable in enumerate(schema.variables) if variable.kind != "nominal"]
    count = view.observed[:, :, chosen].sum(axis=1)
    total = np.where(view.observed, view.values, 0.0)[:, :, chosen].sum(axis=1)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    columns = np.column_stack([means, view.labels["event"] > 0])
    names = [schema.variables[v].name for v in chosen]
    pairs = zip(*np.triu_indices(columns.shape[1], 1), strict=True)
    values = [correlation(columns[:, i], columns[:, j], view.weight) for i, j in pairs]
    return {"names": names, "pairs": rounded(np.array(values))}


def _autocorrelations(schema: Schema, view: _View) -> dict[str, Any]:
    """Pooled over patients, by the number of slots between two readings."""
    lags = list(range(1, min(LAGS, schema.slots - 1) + 1))
    by_variable = {}
    for v, variable in enumerate(schema.variables):
        if not _has_bands(variable):
            continue
        values = np.where(view.observed[:, :, v], view.values[:, :, v], np.nan)
        weight = np.broadcast_to(view.weight[:, None], values.shape)
        by_variable[variable.name] = rounded(
            np.array(
                [
                    correlation(
                        values[:, :-lag].ravel(), values[:, lag:].ravel(), weight[:, lag:].ravel()
                    )
                    for lag in lags
                ]
            )
        )
    return {"lags": lags, "variables": by_variable}


MOST_BINS = 60
MOST_BLOCKS = 24  # of consecutive slots, for plots over time


def nice_width(span: float, most: int) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that needs no more bins."""
    power = 10.0 ** np.floor(np.log10(span / most))
    return float(next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= most + 1e-9))


def edges_of(low: float, high: float, least: float = 0.0) -> Floats:
    """Bins of a round width, so that values recorded as whole numbers fill them evenly."""
    width = max(nice_width(high - low, MOST_BINS), least)
    inner = np.arange(np.floor(low / width) + 1, np.ceil(high / width)) * width
    inside = inner[(inner > low + 1e-9 * width) & (inner < high - 1e-9 * width)]
    return np.concatenate([[low], inside, [high]])


def variable_edges(variable: Variable) -> Floats:
    low, high = variable.bounds
    if variable.transform == "log":
        return np.asarray(np.geomspace(low, high, MOST_BINS + 1))
    return edges_of(low, high)


def level_names(variable: Variable) -> list[str]:
    """The levels of a variable, in order."""
    if variable.levels:
        return list(variable.levels)
    low, high = variable.bounds
    return [f"{level:g}" for level in np.arange(low, high + 1)]


def blocks_of(schema: Schema) -> Floats:
    """(blocks + 1,): where each block of slots begins, and the end of the last."""
    count = min(schema.slots, MOST_BLOCKS)
    return np.unique(np.linspace(0, schema.slots, count + 1).round().astype(np.int64))


FEWEST = 10  # patients behind a quantile or a correlation
DIGITS = 5


def rounded(values: Floats) -> list[float | None]:
    """Five digits, so that a description is small and the same on every machine."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in np.ravel(values)]


def shares(codes: NDArray[np.int64], weight: Floats, bins: int) -> list[float | None]:
    """The share of weight in each bin; zeros if there is no weight at all."""
    counts = np.asarray(np.bincount(codes, weight, bins)[:bins], dtype=np.float64)
    total = counts.sum()
    return rounded(counts / total if total > 0 else counts)


def histogram(values: Floats, weight: Floats, edges: Floats) -> list[float | None]:
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return shares(code, weight, len(edges) - 1)


def quantiles(values: Floats, weight: Floats, chances: tuple[float, ...]) -> Floats:
    """Weighted quantiles, halfway between neighbours in rank."""
    order = np.argsort(values, kind="stable")
    ordered, cumulative = values[order], np.cumsum(weight[order])
    middle = (cumulative - weight[order] / 2) / cumulative[-1]
    return np.asarray(np.interp(chances, middle, ordered))


def correlation(x: Floats, y: Floats, weight: Floats) -> float:
    """NaN if too few patients are known or one of the two does not vary."""
    known = np.isfinite(x) & np.isfinite(y) & (weight > 0)
    if known.sum() < FEWEST:
        return np.nan
    share = weight[known] / weight[known].sum()
    x, y = x[known] - share @ x[known], y[known] - share @ y[known]
    spread = np.sqrt((share @ x**2) * (share @ y**2))
    return float(share @ (x * y) / spread) if spread > 1e-9 else np.nan
