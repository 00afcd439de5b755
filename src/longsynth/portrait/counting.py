"""Counting with weights: shares, quantiles and correlations. None stands for too few to say."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST = 10  # patients behind a quantile or a correlation
DIGITS = 5


def rounded(values: Floats) -> list[float | None]:
    """Five digits, so that a portrait is light and the same on every machine."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in np.ravel(values)]


def shares(codes: NDArray[np.int64], weight: Floats, bins: int) -> list[float | None]:
    """The share of weight in each bin; zeros where there is none at all."""
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
    """NaN where too few are known or one of them does not vary."""
    known = np.isfinite(x) & np.isfinite(y) & (weight > 0)
    if known.sum() < FEWEST:
        return np.nan
    share = weight[known] / weight[known].sum()
    x, y = x[known] - share @ x[known], y[known] - share @ y[known]
    spread = np.sqrt((share @ x**2) * (share @ y**2))
    return float(share @ (x * y) / spread) if spread > 1e-9 else np.nan
