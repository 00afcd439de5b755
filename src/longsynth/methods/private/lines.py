"""Ledger lines that several private methods share, and what their noise means."""

from fractions import Fraction

import numpy as np

from longsynth.conditions import condition_matrix, largest_norm_squared
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.scaling import Scaling
from longsynth.schema import Schema

STRATA, VALUES, MASKS, GAPS, GAP_SQUARES = "strata", "values", "masks", "gaps", "gap squares"


def grid(schema: Schema) -> int:
    """Integers in one encoded unit."""
    return 1 << schema.fixed.grid_bits


def value_radius_squared(schema: Schema) -> int:
    """R²: the clip radius L on the integer grid."""
    return max(int((Fraction(schema.fixed.clip_radius) * grid(schema)) ** 2), 1)


def strata(schema: Schema) -> Statistic:
    cells = len(schema.strata)
    return Statistic(STRATA, "patients by site, group and event", "count", right=cells)


def by_condition(
    name: str, meaning: str, right: int, right_squared: int, grid: int, schema: Schema
) -> Statistic:
    """A sum of condition ⊗ vector."""
    conditions = condition_matrix(schema)
    return Statistic(
        name,
        f"condition × {meaning}",
        "cross",
        right=right,
        right_squared=right_squared,
        left=conditions.shape[1],
        left_squared=largest_norm_squared(conditions),
        grid=grid,
    )


def plain_sum(name: str, meaning: str, right: int, right_squared: int, grid: int) -> Statistic:
    """A sum of vectors: a cross with a left side of one."""
    return Statistic(
        name, meaning, "cross", right, right_squared, left=1, left_squared=1, grid=grid
    )


def values(schema: Schema) -> Statistic:
    squared = value_radius_squared(schema)
    return by_condition(VALUES, "encoded value", schema.width, squared, grid(schema), schema)


def masks(schema: Schema, *, conditioned: bool) -> Statistic:
    """2U - 1 is ±1: every row has norm² T·V, and two integers make one unit of U."""
    size = schema.width
    if conditioned:
        return by_condition(MASKS, "missing, centred", size, size, 2, schema)
    return plain_sum(MASKS, "missing, centred", size, size, 2)


def gaps(schema: Schema, *, conditioned: bool) -> Statistic:
    size, q = schema.slots, grid(schema)
    if conditioned:
        return by_condition(GAPS, "log gap", size, size * q**2, q, schema)
    return plain_sum(GAPS, "log gap", size, size * q**2, q)


def gap_squares(schema: Schema) -> Statistic:
    """r² - ½ lies within ±½, so the radius is half as large."""
    size, q = schema.slots, grid(schema)
    return plain_sum(GAP_SQUARES, "squared log gap by slot, centred", size, size * q**2 // 4, q)


def blur(entry: Entry, schema: Schema, patients: int) -> str:
    """Say what the noise on a shared line means."""
    sd = entry.sigma / (entry.statistic.unit * entry.statistic.lift)
    mean = sd / patients
    match entry.statistic.name:
        case "strata":
            return f"±{sd:.1f} patients in each stratum"
        case "values":
            return f"±{_percent(mean)} % of a half range in each mean{_example(schema, mean)}"
        case "masks":
            return f"±{_percent(mean)} percentage points in each missing rate"
        case "gaps":
            factor = np.expm1(min(mean * np.log1p(schema.max_gap) / 2, 20.0))
            return f"±{_percent(factor)} % of (1 h + gap) in each mean gap"
        case "gap squares":
            return f"±{mean:.2g} in each mean square of a log gap"
        case _:
            return f"±{mean:.2g} in each mean"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 1 else f"{100 * share:,.0f}"


def _example(schema: Schema, mean: float) -> str:
    """One variable to make a share of a half range tangible."""
    half = Scaling(schema).half_ranges()
    for variable, width in zip(schema.variables, half, strict=True):
        if variable.kind == "continuous" and np.isfinite(width):
            return f" ({variable.name}: ±{mean * width:.2g} {variable.unit})".replace(" )", ")")
    return ""
