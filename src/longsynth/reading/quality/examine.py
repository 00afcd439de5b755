"""Whether a cohort is fit to be fitted: findings per column and per table, red, amber or green.

Everything here is a raw fact about patients, for the data steward only. No finding quotes a cell.
Counts come from single passes over the tables, in SQL that adds up over parts of a table, so that
Spark gives the same numbers. What does not add up, such as duplicates, is counted on one machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from longsynth.reading.quality.counts import bin_counts, bins, cell_counts, label_counts
from longsynth.reading.quality.findings import (
    Colour,
    QualityFinding,
    marks,
    of_import,
    of_label,
    of_tables,
    of_variable,
)
from longsynth.reading.quality.lines import FileLines
from longsynth.reading.quality.units import other_units, units_known
from longsynth.schema.columns import LABELS
from longsynth.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Quality:
    """The findings, worst first."""

    patients: int
    findings: tuple[QualityFinding, ...]
    counts: dict[str, Any]  # of what reading changed; see `CohortFolder.repairs`
    histograms: dict[str, tuple[int, ...]] = field(default_factory=dict)  # below, BINS, above

    @property
    def colours(self) -> dict[str, int]:
        return {c.value: sum(f.colour == c for f in self.findings) for c in Colour}

    @property
    def colour(self) -> Colour:
        return next((c for c in Colour if self.colours[c]), Colour.GREEN)


class Readable(Protocol):
    """A cohort that can be examined, here or on Spark."""

    @property
    def schema(self) -> Schema: ...

    @property
    def patients(self) -> int: ...

    def repairs(self) -> dict[str, Any]: ...

    def counted(self, rows: Mapping[str, str], people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the cells of the two tables, by name."""
        ...

    def distinct(self) -> dict[str, int] | None:
        """Count rows that repeat another, and what each variable has of different values, up to
        two; None where counts are added up over parts."""
        ...


def examine(source: Readable, folder: Path, *, histograms: bool = False) -> Quality:
    """Examine a cohort. `folder` has the files whose lines the remedies name."""
    schema = source.schema
    others = {v.name: tuple(other_units(v)) for v in schema.variables} if units_known() else {}
    queries: dict[bool, dict[str, str]] = {False: {}, True: label_counts(schema)}
    for v in schema.variables:
        queries[v.static] |= cell_counts(v, others.get(v.name, ()))
        if histograms:
            queries[v.static] |= bin_counts(v)
    numbers = source.counted(queries[False], queries[True])
    repairs, distinct = source.repairs(), source.distinct()
    lines = FileLines(folder, schema)
    found = [
        *of_tables(schema, source.patients, repairs, distinct, numbers, lines),
        *of_import(folder, lines),
    ]
    for what in LABELS:
        if getattr(schema, what) is not None:
            found += of_label(schema, what, repairs, source.patients, numbers, lines)
    for v in schema.variables:
        found += of_variable(v, others.get(v.name, ()), numbers, distinct, lines)
    if not units_known():
        words = "Units were not examined: the package pint is not installed."
        found.append(QualityFinding("units", "units", Colour.GREEN, 0.0, words))
    found += marks(lines)
    order = {colour: i for i, colour in enumerate(Colour)}
    found.sort(key=lambda f: (order[f.colour], -f.percent))
    bars = {
        v.name: tuple(numbers[f"{v.name} bin {i}"] for i in range(bins(v) + 2))
        for v in schema.variables
        if histograms
    }
    return Quality(source.patients, tuple(found), repairs, bars)
