"""Ledger lines that several private methods share, and what their noise means."""

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt

import numpy as np

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding import rows as encoding
from longsynth.encoding.scaling import Scaling
from longsynth.methods.fact import Fact, weighted
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.lengths import AllSlots, Lengths, length_edges, lengths_of
from longsynth.schema.schema import Schema, condition_matrix, largest_norm_squared

STRATA, VALUES, MASKS, GAPS, GAP_SQUARES = "strata", "values", "masks", "gaps", "gap squares"
LENGTHS = "lengths"
LENGTHS_SHARE = Fraction(1, 20)  # a histogram is cheap to know well, and the rest waits on it


def shares(percent: Mapping[str, int], schema: Schema) -> dict[str, Fraction]:
    """Return shares of the budget out of 100; where lengths vary, all make room for them."""
    found = {name: Fraction(part, 100) for name, part in percent.items()}
    if schema.length == "full":
        return found
    return {n: f * (1 - LENGTHS_SHARE) for n, f in found.items()} | {LENGTHS: LENGTHS_SHARE}


def grid(schema: Schema) -> int:
    """Integers in one encoded unit."""
    return 1 << schema.resolved_constants.grid_bits


def value_radius_squared(schema: Schema) -> int:
    """R²: the clip radius L on the integer grid."""
    return max(int((Fraction(schema.resolved_constants.clip_radius) * grid(schema)) ** 2), 1)


def gram_radius_squared(squared: int, schema: Schema) -> int:
    """R² that a Gram line declares for rows whose norm² is at most L² = `squared`.

    A Gram line is priced at √2·R². The paper bounds the same change by the triangle inequality, at
    2·L². With R = 2^¼·L, √2·R² = √2·√2·L² = 2·L²: the ledger states the paper's number, and rows
    are held to L before, so that the claim is true with room to spare. Rounded up.
    """
    if schema.resolved_constants.gram_sensitivity == "tight":
        return squared
    return isqrt(2 * squared**2 - 1) + 1


def strata(schema: Schema) -> Statistic:
    cells = len(schema.strata)
    return Statistic(STRATA, "patients by site, group and event", "count", right=cells)


def lengths(schema: Schema) -> list[Statistic]:
    """One cell a patient; no line where all slots are used."""
    if schema.length == "full":
        return []
    cells = 2 * (len(length_edges(schema.slots)) - 1)
    return [Statistic(LENGTHS, "patients by event and slots used", "count", right=cells)]


def length_rows(batch: Cohort, schema: Schema) -> Contribution:
    edges = length_edges(schema.slots)
    place = np.searchsorted(edges, encoding.lengths(batch, schema), side="right") - 1
    event = schema.strata[encoding.strata(batch, schema), 2]
    bins = len(edges) - 1
    return Contribution(encoding.one_hot(event * bins + place, 2 * bins))


def lengths_in(bundle: Bundle) -> Lengths | AllSlots:
    """Return the lengths that a bundle holds, with the noise it states."""
    found = bundle.released.get(LENGTHS)
    if found is None:
        return lengths_of(None, 0.0, bundle.schema)
    lift = found.entry.statistic.lift
    return lengths_of(found.values / lift, found.entry.sigma / lift, bundle.schema)


def patient_facts(schema: Schema, counted: Statistic | None = None) -> list[Fact]:
    """Each patient has one stratum and one length. `counted` begins with the strata, if the line
    of that name does not."""
    by_stratum, event = counted or strata(schema), schema.strata[:, 2]
    one = by_stratum.count_weight if by_stratum.kind == "joint" else 1
    cells = np.arange(by_stratum.dimension) < len(event)
    total = {by_stratum.name: weighted(cells.astype(np.int64))}
    found = [Fact(f"'{by_stratum.name}' counts every patient once", total, one)]
    for line in lengths(schema):
        total = {LENGTHS: weighted(np.ones(line.right, np.int64))}
        found.append(Fact(f"'{LENGTHS}' counts every patient once", total, 1))
        signs = np.zeros(len(cells), np.int64)
        signs[cells] = 2 * event - 1
        by_length = one * np.repeat([1, -1], line.right // 2)
        same = {by_stratum.name: weighted(signs), LENGTHS: weighted(by_length)}
        found.append(Fact(f"'{by_stratum.name}' and '{LENGTHS}' count the same events", same))
    return found


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
    """2U - 1 is ±1, or 0: a row's norm² is at most its cells, as that of U is. Of 2U - 1 two
    integers make one unit of U."""
    size, unit = schema.layout.cells, encoding.mask_grid(schema)
    meaning = "missing, centred" if unit == 2 else "missing"
    if conditioned:
        return by_condition(MASKS, meaning, size, size, unit, schema)
    return plain_sum(MASKS, meaning, size, size, unit)


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
    sd = entry.sigma / per_unit(entry.statistic)
    mean = sd / patients
    match entry.statistic.name:
        case "strata":
            return f"±{sd:.1f} patients in each stratum"
        case "lengths":
            return f"±{sd:.1f} patients in each bin of lengths"
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
