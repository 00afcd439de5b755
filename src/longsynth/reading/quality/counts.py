"""What is counted in the cells of a cohort: SQL that adds up over parts of a table.

Suspicious units are values that are unusual as they stand, and usual after a common conversion. A
temperature of 98.6 is no °C, but a usual °F. One value proves nothing; a hump of values around the
other unit's usual range does. The usual range is public: the centre and scale of the schema, or of
the catalogue for a variable with this name and unit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log

from longsynth.reading.columns import cell, level_position, quoted
from longsynth.schema.catalogue import known
from longsynth.schema.columns import LABELS, CodeList
from longsynth.schema.schema import Schema
from longsynth.schema.units import conversion
from longsynth.schema.variable import Variable
from longsynth.system.errors import Code, Refused

COMMON_UNITS = (
    *("°C", "°F", "kg", "lb", "g", "cm", "m", "in", "mmHg", "kPa", "mL", "L", "fraction", "%"),
    *("mmol/L", "umol/L", "mg/dL", "g/dL", "g/L", "mg/L", "10^9/L", "10^6/L"),
)
USUAL_SCALES = 2  # the usual range reaches this many scales to either side of the centre
HUMP = 2.0  # values in the other range lie this many times as dense as between the two ranges

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class OtherUnit:
    """Where values would lie if they were in another unit."""

    unit: str
    hump: Span  # its usual range, outside the usual range of the right unit
    between: Span | None  # the two ranges, where they do not touch
    ratio: float  # the width of the hump, divided by the width between; 0 where they touch

    def is_hump(self, inside: int, between: int) -> bool:
        """Whether so many values make a hump of their own, and no long tail."""
        return inside > HUMP * self.ratio * between


def other_units(variable: Variable) -> Iterator[OtherUnit]:
    """Yield the units that a variable's values may be in by mistake."""
    usual = usual_range(variable)
    if usual is None or not variable.unit:
        return
    seen: set[Span] = set()
    for unit in COMMON_UNITS:
        found = conversion(unit, variable.unit, variable.name)
        if found is None or found == (1.0, 0.0):
            continue
        factor, offset = found
        there = ((usual[0] - offset) / factor, (usual[1] - offset) / factor)
        hump = (max(there[0], usual[1]), there[1]) if there[1] > usual[1] else there
        hump = hump if there[1] > usual[1] else (there[0], min(there[1], usual[0]))
        if hump[0] >= hump[1] or hump in seen:
            continue
        seen.add(hump)
        gap = (usual[1], there[0]) if there[0] > usual[1] else (there[1], usual[0])
        between = gap if gap[0] < gap[1] else None
        ratio = _width(hump, factor, offset) / _width(between, factor, offset) if between else 0.0
        yield OtherUnit(unit, hump, between, ratio)


def usual_range(variable: Variable) -> Span | None:
    """The usual range of a variable, by the schema or else the catalogue."""
    facts = variable
    if variable.centre is None or variable.scale is None:
        entry = known(variable.name)
        if entry is None or entry.variable.unit != variable.unit:
            return None
        facts = entry.variable
    if facts.kind != "continuous" or facts.centre is None or facts.scale is None:
        return None
    reach = USUAL_SCALES * facts.scale
    if facts.transform == "log":
        ratio = 1 + reach / facts.centre
        return facts.centre / ratio, facts.centre * ratio
    return max(facts.centre - reach, variable.bounds[0]), facts.centre + reach


def _width(span: Span, factor: float, offset: float) -> float:
    """In ratios where units differ by a factor: the same patients spread wider in a larger unit."""
    if offset == 0 and span[0] > 0:
        return log(span[1] / span[0])
    return span[1] - span[0]


def units_known() -> bool:
    """Whether units can be converted here."""
    try:
        return conversion("kg", "lb") is not None
    except Refused as refusal:
        if refusal.code == Code.PACKAGE_MISSING:
            return False
        raise


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


def code_counts(listed: CodeList) -> dict[str, str]:
    column = quoted(listed.column or listed.name)
    read = f"count(CASE WHEN isfinite({cell(listed)}) THEN 1 END)"
    return {f"{listed.name} filled": f"count({column})", f"{listed.name} read": read}


def rows_with_values(schema: Schema) -> str:
    """SQL for the number of rows but those that hold nothing but a code."""
    if not schema.codes:
        return "count(*)"
    values = [quoted(v.column or v.name) for v in schema.variables if not v.static]
    codes = [quoted(c.column or c.name) for c in schema.codes]
    known = " OR ".join(f"{column} IS NOT NULL" for column in values)
    without = " AND ".join(f"{column} IS NULL" for column in codes)
    return f"count(CASE WHEN {known} OR ({without}) THEN 1 END)"


def cell_counts(
    variable: Variable, others: tuple[OtherUnit, ...], cells: str = "count(*)"
) -> dict[str, str]:
    name, (low, high) = variable.name, variable.bounds
    counts = {
        f"{name} cells": cells,
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
