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
from longsynth.encoding.rows import Encoded, Encoder
from longsynth.encoding.scaling import Scaling, grid_of, mask_grid, value_radius_squared
from longsynth.methods.codes import CODE_SHARES, code_facts, code_lines, exact_codes
from longsynth.methods.fact import Fact, weighted
from longsynth.methods.method import Line
from longsynth.methods.words import means_in_units, percent, points, spreads_in_units
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import GAP_SQUARES, GAPS, LENGTHS, MASKS, STRATA, VALUES
from longsynth.sampling.points import GRAINS, POINTS, parts_of, point_rows, pointed
from longsynth.sampling.strata import length_edges
from longsynth.sampling.times import (
    INTERVALS,
    TIMES,
    block_size,
    time_edges,
    timed_outcomes,
)
from longsynth.schema.columns import time_unit
from longsynth.schema.schema import (
    PAIRS,
    Schema,
    condition_matrix,
    counted_tables,
    largest_norm_squared,
)
from longsynth.system.arrays import Ints

LENGTHS_SHARE = Fraction(1, 20)  # a histogram is cheap to know well, and the rest depends on it
POINTS_SHARE = Fraction(1, 20)
TIMES_SHARE = Fraction(1, 10)  # likewise; a hazard is a count in each of many cells
Shares = Mapping[str, Fraction]  # of ρ, by line


def shares_of(percent: Mapping[str, int], schema: Schema) -> dict[str, Fraction]:
    """Return shares of ρ from percentages. All other lines make room for lengths and times."""
    shares = {name: Fraction(part, 100) for name, part in percent.items()}
    if schema.length == "variable":
        shares = _making_room(shares, LENGTHS, LENGTHS_SHARE)
    return with_optional_lines(shares, schema)


def with_optional_lines(shares: Shares, schema: Schema) -> dict[str, Fraction]:
    """Make room for the lines that all methods share and that only some schemas have."""
    for name, share in _optional_shares(schema).items():
        shares = _making_room(shares, name, share)
    return dict(shares)


def _optional_shares(schema: Schema) -> Shares:
    shares = {POINTS: POINTS_SHARE} if pointed(schema) else {}
    shares |= {TIMES: TIMES_SHARE} if timed_outcomes(schema) else {}
    return shares | (CODE_SHARES if schema.codes else {})


def _making_room(shares: Shares, name: str, share: Fraction) -> dict[str, Fraction]:
    return {n: f * (1 - share) for n, f in shares.items()} | {name: share}


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
    """One cell of each table per patient; see `counted_tables`."""
    counted = counted_tables(schema)
    blocks = int(counted[0].sum())
    pairs = "" if blocks == 1 else ", in pairs"
    meaning = f"patients by site, group and event{pairs}"
    return Statistic(STRATA, meaning, "count", right=counted.shape[1], blocks=blocks)


def strata(schema: Schema, shares: Shares) -> Line:
    return Line(strata_statistic(schema), shares[STRATA], _strata_rows, _strata_noise)


def _strata_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.encoder.tables.take(encoded.stratum, axis=0))


def _strata_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each stratum"


def ends(schema: Schema, shares: Shares) -> list[Line]:
    """How many slots patients use, their times to event, their point masses and their codes."""
    shared = [*_lengths(schema, shares), *_times(schema, shares), *_points(schema, shares)]
    return shared + code_lines(schema, shares)


def _points(schema: Schema, shares: Shares) -> list[Line]:
    """The parts of each patient's readings, variable by variable; no line without point masses."""
    blocks = len(pointed(schema))
    if not blocks:
        return []
    size, meaning = blocks * parts_of(schema), "readings at and between point masses, by patient"
    counted = Statistic(POINTS, meaning, "count", right=size, blocks=blocks, grid=GRAINS)
    return [Line(counted, shares[POINTS], _point_rows, _points_noise)]


def _point_rows(encoded: Encoded) -> Contribution:
    return Contribution(point_rows(encoded.batch, encoded.observed, encoded.schema))


def _points_noise(sd: float, patients: int) -> str:
    return f"±{points(sd / patients)} in the share of each point mass"


def _times(schema: Schema, shares: Shares) -> list[Line]:
    """One cell per patient and outcome; no line without times to event."""
    blocks = len(timed_outcomes(schema))
    if not blocks:
        return []
    size, meaning = blocks * block_size(schema), "patients by time to event and how it ended"
    counted = Statistic(TIMES, meaning, "count", right=size, blocks=blocks)
    return [Line(counted, shares[TIMES], time_rows, _times_noise)]


def time_rows(encoded: Encoded) -> Contribution:
    """A patient without a time counts as one who reached the horizon; without a status, as
    censored, which is the first level."""
    schema, values, observed = encoded.schema, encoded.batch.values, encoded.observed
    rows = []
    for outcome in timed_outcomes(schema):
        assert outcome.variable is not None and outcome.levels is not None  # for mypy
        horizon, place = schema.variables[outcome.variable].bounds[1], outcome.variable
        time = np.where(observed[:, 0, place], values[:, 0, place], horizon)
        interval = np.searchsorted(time_edges(horizon), time, side="right") - 1
        status = encoded.event
        if (which := outcome.status) is not None:
            known = np.where(observed[:, 0, which], values[:, 0, which], 0.0)
            status = np.rint(np.clip(known, 0, len(outcome.levels) - 1)).astype(np.int64)
        cell = status * (INTERVALS + 1) + np.clip(interval, 0, INTERVALS)
        rows.append(one_hot(cell, block_size(schema)))
    return Contribution(np.concatenate(rows, axis=1))


def exact_ends(cohort: Cohort, schema: Schema) -> dict[str, Ints]:
    """The same counts, and those of point masses and codes, for a method without privacy."""
    encoded, counts = Encoder(schema)(cohort), exact_codes(cohort, schema)
    if timed_outcomes(schema):
        counts[TIMES] = time_rows(encoded).right.sum(axis=0, dtype=np.int64)
    if pointed(schema):
        counts[POINTS] = _point_rows(encoded).right.sum(axis=0, dtype=np.int64)
    return counts


def _times_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each interval of the times to event"


def _lengths(schema: Schema, shares: Shares) -> list[Line]:
    """One cell per patient; no line where all slots are used."""
    if schema.length == "full":
        return []
    cells = len(schema.levels("event")) * (len(length_edges(schema.slots)) - 1)
    counted = Statistic(LENGTHS, "patients by event and slots used", "count", right=cells)
    return [Line(counted, shares[LENGTHS], length_rows, _lengths_noise)]


def length_rows(encoded: Encoded) -> Contribution:
    edges = length_edges(encoded.schema.slots)
    place = np.searchsorted(edges, encoded.length, side="right") - 1
    bins, events = len(edges) - 1, len(encoded.schema.levels("event"))
    return Contribution(one_hot(encoded.event * bins + place, events * bins))


def _lengths_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each bin of lengths"


def patient_facts(schema: Schema, counted: Statistic | None = None) -> list[Fact]:
    """Each patient has one stratum and one length. `counted` is the line that begins with the
    strata, if it is not the line of that name."""
    by_stratum, event = counted or strata_statistic(schema), event_of_cells(schema, counted)
    one = by_stratum.count_weight if by_stratum.kind == "joint" else 1
    events = np.full(by_stratum.dimension, -1)
    events[: len(event)] = event
    total = {by_stratum.name: weighted((events >= 0).astype(np.int64))}
    facts = [Fact(f"'{by_stratum.name}' counts every patient once", total, one)]
    for line in _lengths(schema, {LENGTHS: LENGTHS_SHARE}):
        size = line.statistic.right
        total = {LENGTHS: weighted(np.ones(size, np.int64))}
        facts.append(Fact(f"'{LENGTHS}' counts every patient once", total, 1))
        levels = len(schema.levels("event"))
        for level in range(1, levels):
            signs = np.where(events < 0, 0, np.where(events == level, 1, -1))
            by_length = one * np.where(np.arange(levels) == level, -1, 1).repeat(size // levels)
            same = {by_stratum.name: weighted(signs), LENGTHS: weighted(by_length)}
            facts.append(Fact(f"'{by_stratum.name}' and '{LENGTHS}' count the same events", same))
    return facts + _time_facts(schema) + _point_facts(schema) + code_facts(schema)


def _time_facts(schema: Schema) -> list[Fact]:
    outcomes, facts = timed_outcomes(schema), []
    for i, outcome in enumerate(outcomes):
        place = np.arange(len(outcomes) * block_size(schema)) - i * block_size(schema)
        cells = (place >= 0) & (place < len(outcome.levels or ()) * (INTERVALS + 1))
        total = {TIMES: weighted(cells.astype(np.int64))}
        facts.append(Fact(f"'{TIMES}' counts every patient once", total, 1))
    return facts


def _point_facts(schema: Schema) -> list[Fact]:
    """Each patient's readings of a variable make a whole, and no variable has more parts than its
    own points make."""
    facts, width = [], parts_of(schema) if pointed(schema) else 0
    for block, i in enumerate(pointed(schema)):
        place = np.arange(len(pointed(schema)) * width) - block * width
        parts = 2 + 2 * len(schema.variables[i].point_masses)
        total = {POINTS: weighted(((place >= 0) & (place < parts)).astype(np.int64))}
        facts.append(Fact(f"'{POINTS}' counts every patient once", total, GRAINS))
    return facts


def event_of_cells(schema: Schema, counted: Statistic | None = None) -> Ints:
    """(cells,): the event of the patients in each cell that counts strata; -1 for the cells of
    tables that are left aside, so that each patient is counted once."""
    strata, tables = schema.strata, counted_tables(schema)
    if counted is not None or not schema.counted_in_pairs:
        return np.asarray(strata[:, 2])
    cells = np.where(tables.any(axis=0), strata[tables.argmax(axis=0), 2], -1)
    last = np.arange(len(cells)) >= len(cells) * (len(PAIRS) - 1) // len(PAIRS)
    return np.where(last, cells, -1)


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
    """A share of the gap and an hour more, so for one gap in a unit of time too."""
    if plan := schema.visits:
        return f"±{sd / patients * plan.window:.2g} {plan.unit} in the mean time of each visit"
    factor = np.expm1(min(sd / patients * np.log1p(schema.max_gap) / 2, 20.0))
    unit = time_unit(schema.max_gap, schema.slot_rule.horizon)
    gap = min(max(24.0, unit.hours), schema.max_gap)
    moved, name = factor * (1 + gap) / unit.hours, "h" if unit.hours == 1 else unit.name
    shown = f"{moved:.2g}" if moved < 100 else "100 or more"
    typical = f"{gap / unit.hours:g} {name if gap > unit.hours else name.removesuffix('s')}"
    return f"±{percent(factor)} in each typical gap (±{shown} {name} if it is {typical})"


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
    """Lengths, times to event and codes, and masks and gaps that know no condition."""
    return [
        *ends(schema, shares),
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
