"""What is counted in the cells of a cohort: SQL that adds up over parts of a table."""

from itertools import pairwise

from longsynth.reading.cells import cell, level_position
from longsynth.reading.quality.units import OtherUnit
from longsynth.reading.session import quoted
from longsynth.schema.columns import LABELS
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable

BINS = 24  # of a histogram, within the bounds


def edges(variable: Variable) -> list[float]:
    """The edges of a histogram's bins: they divide the public bounds, or stand for levels."""
    low, high = variable.bounds
    if variable.kind != "continuous":
        return [low - 0.5 + i for i in range(bins(variable) + 1)]
    if variable.transform == "log":
        return [low * (high / low) ** (i / BINS) for i in range(BINS + 1)]
    return [low + (high - low) * i / BINS for i in range(BINS + 1)]


def bins(variable: Variable) -> int:
    low, high = variable.bounds
    return BINS if variable.kind == "continuous" else round(high - low) + 1


def cell_counts(variable: Variable, others: tuple[OtherUnit, ...]) -> dict[str, str]:
    name, (low, high) = variable.name, variable.bounds
    counts = {
        f"{name} cells": "count(*)",
        f"{name} filled": f"count({quoted(variable.column or name)})",
        f"{name} read": _where(variable, "true"),
        f"{name} outside": _where(variable, f"({{x}} < {low!r} OR {{x}} > {high!r})"),
    }
    for other in others:
        spans = {"in": other.hump, "before": other.between}
        counts |= {
            f"{name} {place} {other.unit}": _where(
                variable, f"{{x}} > {s[0]!r} AND {{x}} < {s[1]!r}"
            )
            for place, s in spans.items()
            if s is not None
        }
    return counts


def bin_counts(variable: Variable) -> dict[str, str]:
    limits = edges(variable)
    below, above = f"{{x}} < {limits[0]!r}", f"{{x}} > {limits[-1]!r}"
    inside = [
        f"{{x}} >= {a!r} AND {{x}} {'<=' if b == limits[-1] else '<'} {b!r}"
        for a, b in pairwise(limits)
    ]
    tests = enumerate([below, *inside, above])
    return {f"{variable.name} bin {i}": _where(variable, test) for i, test in tests}


def _where(variable: Variable, test: str) -> str:
    """SQL for the number of finite values x that pass a test. NaN would be above every bound."""
    x = cell(variable)
    return f"count(CASE WHEN isfinite({x}) AND {test.format(x=x)} THEN 1 END)"


def label_counts(schema: Schema) -> dict[str, str]:
    return {
        f"{what} level {i}": f"count(CASE WHEN {level_position(label)} = {i} THEN 1 END)"
        for what in LABELS
        if (label := getattr(schema, what)) is not None
        for i in range(len(label.levels))
    }
