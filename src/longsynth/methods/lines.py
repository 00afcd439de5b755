"""Ledger lines that several private methods share: statistic, rows, and what the noise means.

The rows are read from an `Encoded` batch. How to read these lines from a bundle is in
sampling/moments.py.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import isqrt

import numpy as np

from longsynth.encoding.record import one_hot
from longsynth.encoding.rows import Encoded
from longsynth.encoding.scaling import Scaling, grid_of, mask_grid, value_radius_squared
from longsynth.methods.fact import Fact, weighted
from longsynth.methods.method import Line
from longsynth.methods.words import means_in_units, percent, points, spreads_in_units
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.sampling.auxiliary import GAP_SQUARES, GAPS, LENGTHS, MASKS, STRATA, VALUES
from longsynth.sampling.strata import length_edges
from longsynth.schema.schema import Schema, condition_matrix, largest_norm_squared

LENGTHS_SHARE = Fraction(1, 20)  # a histogram is cheap to know well, and the rest depends on it
Shares = Mapping[str, Fraction]  # of ρ, by line


def shares_of(percent: Mapping[str, int], schema: Schema) -> dict[str, Fraction]:
    """Return shares of ρ from percentages. Where lengths vary, all other lines make room."""
    shares = {name: Fraction(part, 100) for name, part in percent.items()}
    if schema.length == "full":
        return shares
    return {n: f * (1 - LENGTHS_SHARE) for n, f in shares.items()} | {LENGTHS: LENGTHS_SHARE}


def gram_radius_squared(squared: int, schema: Schema) -> int:
    """R² that a Gram line declares for rows whose norm² is at most L² = `squared`.

    A Gram line is priced at √2·R². The paper bounds the same change by the triangle inequality, at
    2·L². With R = 2^¼·L, √2·R² = √2·√2·L² = 2·L²: the ledger states the paper's number, and rows
    are clipped to L before, so the claim holds with room to spare. Rounded up.
    """
    if schema.resolved_constants.gram_sensitivity == "tight":
        return squared
    return isqrt(2 * squared**2 - 1) + 1


def strata_statistic(schema: Schema) -> Statistic:
    cells = len(schema.strata)
    return Statistic(STRATA, "patients by site, group and event", "count", right=cells)


def strata(schema: Schema, shares: Shares) -> Line:
    return Line(strata_statistic(schema), shares[STRATA], _strata_rows, _strata_noise)


def _strata_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.strata)


def _strata_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each stratum"


def lengths(schema: Schema, shares: Shares) -> list[Line]:
    """One cell per patient; no line where all slots are used."""
    if schema.length == "full":
        return []
    cells = 2 * (len(length_edges(schema.slots)) - 1)
    counted = Statistic(LENGTHS, "patients by event and slots used", "count", right=cells)
    return [Line(counted, shares[LENGTHS], length_rows, _lengths_noise)]


def length_rows(encoded: Encoded) -> Contribution:
    edges = length_edges(encoded.schema.slots)
    place = np.searchsorted(edges, encoded.length, side="right") - 1
    bins = len(edges) - 1
    return Contribution(one_hot(encoded.event * bins + place, 2 * bins))


def _lengths_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each bin of lengths"


def patient_facts(schema: Schema, counted: Statistic | None = None) -> list[Fact]:
    """Each patient has one stratum and one length. `counted` is the line that begins with the
    strata, if it is not the line of that name."""
    by_stratum, event = counted or strata_statistic(schema), schema.strata[:, 2]
    one = by_stratum.count_weight if by_stratum.kind == "joint" else 1
    cells = np.arange(by_stratum.dimension) < len(event)
    total = {by_stratum.name: weighted(cells.astype(np.int64))}
    facts = [Fact(f"'{by_stratum.name}' counts every patient once", total, one)]
    for line in lengths(schema, {LENGTHS: LENGTHS_SHARE}):
        size = line.statistic.right
        total = {LENGTHS: weighted(np.ones(size, np.int64))}
        facts.append(Fact(f"'{LENGTHS}' counts every patient once", total, 1))
        signs = np.zeros(len(cells), np.int64)
        signs[cells] = 2 * event - 1
        by_length = one * np.repeat([1, -1], size // 2)
        same = {by_stratum.name: weighted(signs), LENGTHS: weighted(by_length)}
        facts.append(Fact(f"'{by_stratum.name}' and '{LENGTHS}' count the same events", same))
    return facts


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


def sum_of(name: str, meaning: str, right: int, right_squared: int, grid: int) -> Statistic:
    """A sum of vectors: a cross with a left side of one."""
    return Statistic(
        name, meaning, "cross", right, right_squared, left=1, left_squared=1, grid=grid
    )


def values(schema: Schema, shares: Shares) -> Line:
    squared, grid = value_radius_squared(schema), grid_of(schema)
    summed = by_condition(VALUES, "encoded value", schema.width, squared, grid, schema)
    return Line(summed, shares[VALUES], _value_rows, partial(_values_noise, schema))


def _value_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.values, encoded.conditions)


def _values_noise(schema: Schema, sd: float, patients: int) -> str:
    mean = np.full(len(schema.variables), sd / patients)
    return f"{means_in_units(schema, Scaling(schema), mean)}, in each slot"


def masks(schema: Schema, shares: Shares, *, conditioned: bool) -> Line:
    """2U - 1 is ±1, or 0: a row's norm² is at most its cells, as that of U is. Of 2U - 1 two
    integers make one unit of U."""
    size, unit = schema.layout.cells, mask_grid(schema)
    meaning = "missing, centred" if unit == 2 else "missing"
    summed = _summed(MASKS, meaning, size, size, unit, schema, conditioned)
    rows = _conditioned_masks if conditioned else _masks
    return Line(summed, shares[MASKS], rows, _masks_noise)


def _masks(encoded: Encoded) -> Contribution:
    return Contribution(encoded.missing, encoded.ones)


def _conditioned_masks(encoded: Encoded) -> Contribution:
    return Contribution(encoded.missing, encoded.conditions)


def _masks_noise(sd: float, patients: int) -> str:
    return f"±{points(sd / patients)} in each missing rate"


def gaps(schema: Schema, shares: Shares, *, conditioned: bool) -> Line:
    size, grid = schema.slots, grid_of(schema)
    summed = _summed(GAPS, "log gap", size, size * grid**2, grid, schema, conditioned)
    rows = _conditioned_gaps if conditioned else _gaps
    return Line(summed, shares[GAPS], rows, partial(_gaps_noise, schema))


def _gaps(encoded: Encoded) -> Contribution:
    return Contribution(encoded.gaps, encoded.ones)


def _conditioned_gaps(encoded: Encoded) -> Contribution:
    return Contribution(encoded.gaps, encoded.conditions)


def _gaps_noise(schema: Schema, sd: float, patients: int) -> str:
    """A share of the gap and an hour more, so for one gap in hours too."""
    factor = np.expm1(min(sd / patients * np.log1p(schema.max_gap) / 2, 20.0))
    gap = min(24.0, schema.max_gap)
    hours = f"{factor * (1 + gap):.2g}" if factor * (1 + gap) < 100 else "100 or more"
    return f"±{percent(factor)} in each typical gap (±{hours} h if it is {gap:g} h)"


def gap_squares(schema: Schema, shares: Shares) -> Line:
    """r² - ½ lies within ±½, so the radius is half as large."""
    size, grid = schema.slots, grid_of(schema)
    meaning = "squared log gap by slot, centred"
    summed = sum_of(GAP_SQUARES, meaning, size, size * grid**2 // 4, grid)
    return Line(summed, shares[GAP_SQUARES], _gap_square_rows, _gap_squares_noise)


def _gap_square_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.gap_squares, encoded.ones)


def _gap_squares_noise(sd: float, patients: int) -> str:
    return f"±{sd / patients:.2g} in how much gaps vary (mean square of a log gap, from 0 to 1)"


def unconditional(schema: Schema, shares: Shares) -> list[Line]:
    """Lengths, and masks and gaps that know no condition."""
    return [
        *lengths(schema, shares),
        masks(schema, shares, conditioned=False),
        gaps(schema, shares, conditioned=False),
        gap_squares(schema, shares),
    ]


def squares_noise(schema: Schema, sd: float, patients: int) -> str:
    """For mean squares of encoded values, and mean products."""
    mean = sd / patients
    spreads = spreads_in_units(schema, Scaling(schema), mean)
    return f"±{mean:.2g} in each mean square of a scaled value, from 0 to 1{spreads}"


def _summed(
    name: str, meaning: str, size: int, squared: int, grid: int, schema: Schema, conditioned: bool
) -> Statistic:
    if conditioned:
        return by_condition(name, meaning, size, squared, grid, schema)
    return sum_of(name, meaning, size, squared, grid)
