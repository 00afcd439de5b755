"""Point masses: single values, such as 0, that a public list says many readings have exactly.

One released line says, for each such variable, which part of its readings lies at each value and
which part between them. A method generates such a variable like any other. Its rank among all
generated readings is kept, because it carries what the reading has to do with others; numbers whose
rank lies in the part of a point get exactly its value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.bundle import Bundle
from longsynth.sampling.times import Ranks, ranks_among
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

POINTS = "point masses"
GRAINS = 60  # of one patient's readings: as many slots divide it
DOUBT = 0.2  # how far the shares of a generated sample may be from those of the patients
ALIKE = 0.01  # shares that differ by less are left as they are
FEW = 20  # generated numbers between two points that say how such numbers are distributed


def pointed(schema: Schema) -> list[int]:
    """The variables with point masses."""
    return [i for i, v in enumerate(schema.variables) if v.point_masses]


def parts_of(schema: Schema) -> int:
    """Cells of each variable in the line: no reading at all; below the first point, at it, between
    it and the next, and so on."""
    return 2 + 2 * max(len(schema.variables[i].point_masses) for i in pointed(schema))


def point_rows(batch: Trajectories, observed: Bools, schema: Schema) -> Ints:
    """(n, variables · parts): of each variable with point masses, the parts of a patient's own
    readings, in grains. They add up to GRAINS, whatever a record holds."""
    blocks, width, steps = [], parts_of(schema), schema.steps
    for i in pointed(schema):
        known = observed[:, :, i]
        values = np.where(known, batch.values[:, :, i], 0.0)
        part = _parts(values, schema, i, steps[i] / 2)
        number = known.sum(axis=1)
        inside = np.stack(
            [(known & (part == p)).sum(axis=1) for p in range(width - 1)], axis=1
        ).cumsum(axis=1)
        reached = np.rint(GRAINS * inside / np.maximum(number, 1)[:, None]).astype(np.int64)
        none = np.where(number == 0, GRAINS, 0)[:, None]
        blocks += [none, np.diff(reached, axis=1, prepend=0)]
    return np.concatenate(blocks, axis=1)


def _parts(values: Floats, schema: Schema, i: int, apart: float) -> Ints:
    """0 is below the first point, 1 at it, 2 above it, and so on. A reading out of bounds counts as
    one at the bound; one within half a step of a point is at it."""
    variable = schema.variables[i]
    low, high = variable.bounds
    near = max(apart * (1 - 1e-9), 1e-9 * (high - low))
    points, clipped = np.array(variable.point_masses), np.clip(values, low, high)
    begin = np.searchsorted(points - near, clipped, side="right")  # points that begin before it
    end = np.searchsorted(points + near, clipped, side="left")
    return np.asarray(begin + end)


@dataclass(frozen=True, slots=True)
class Point:
    """How the numbers of one variable are mapped."""

    variable: int
    static: bool
    ranks: Ranks
    knots: Floats  # ranks at which a part ends
    numbers: tuple[Ranks, ...]  # of each part: a point has one

    def placed(self, values: Floats, rng: Generator) -> None:
        """Change values (n, T, V) in place."""
        cells = values[:, : 1 if self.static else None, self.variable]
        rank = self.ranks.of(cells.ravel(), rng)
        part = np.minimum(np.searchsorted(self.knots, rank), len(self.numbers) - 1)
        begin = np.concatenate([[0.0], self.knots])[part]
        wide = np.maximum(self.knots[part] - begin, 1e-12)
        within, made = np.clip((rank - begin) / wide, 0.0, 1.0), np.empty(len(rank))
        for p, numbers in enumerate(self.numbers):
            here = part == p
            place = np.searchsorted(numbers.reached[1:], within[here])
            made[here] = numbers.numbers[np.minimum(place, len(numbers.numbers) - 1)]
        cells[...] = made.reshape(cells.shape)


def released_points(bundle: Bundle, some: Trajectories, weight: Floats) -> tuple[Point, ...]:
    """Return what maps generated numbers, from the released parts and from generated patients, who
    show the parts without it. A part is moved as far as the noise lets it be known."""
    schema = bundle.schema
    if not pointed(schema) or POINTS not in bundle.released:
        return ()
    released, shape = bundle.released[POINTS], (len(pointed(schema)), parts_of(schema))
    if bundle.ledger.budget is None:
        counts, noise = bundle.array(POINTS, *shape), 0.0
    else:
        lift = released.entry.statistic.lift
        counts, noise = (released.values / lift).reshape(shape), released.entry.sigma / lift
    observed = some.observed & schema.layout.up_to(some.length)
    generated = np.average(point_rows(some, observed, schema), axis=0, weights=weight).reshape(
        shape
    )
    made = []
    for i, row, own in zip(pointed(schema), counts, generated, strict=True):
        number = 2 * len(schema.variables[i].point_masses) + 1
        kept, before = np.maximum(row[1 : number + 1], 0.0), own[1 : number + 1]
        whole, before = max(float(kept.sum()), 1e-9), before / max(float(before.sum()), 1e-9)
        trust = 1 / (1 + (noise / whole / DOUBT) ** 2)
        wanted = trust * kept / whole + (1 - trust) * before
        if np.abs(wanted - before).max() >= ALIKE:
            made.append(_point(schema, i, some, observed[:, :, i], weight, wanted))
    return tuple(made)


def _point(
    schema: Schema, i: int, some: Trajectories, known: Bools, weight: Floats, wanted: Floats
) -> Point:
    """Between points, a number with the right rank is kept if it lies there: the rest of the
    distribution stays as it was generated."""
    variable, numbers = schema.variables[i], some.values[:, :, i][known]
    ranks = ranks_among(numbers, np.broadcast_to(weight[:, None], known.shape)[known])
    knots = np.cumsum(wanted) / wanted.sum()
    part = _parts(ranks.numbers, schema, i, schema.steps[i] / 2)
    by_rank = np.searchsorted(knots, (ranks.reached[1:] + ranks.reached[:-1]) / 2)
    mass, parts = np.diff(ranks.reached), []
    for p in range(len(wanted)):
        if p % 2:
            parts.append(_evenly(np.array([variable.point_masses[p // 2]])))
            continue
        for there in ((part == p) & (by_rank == p), part == p):
            if there.sum() >= FEW:
                parts.append(ranks_among(ranks.numbers[there], mass[there] / mass[there].sum()))
                break
        else:
            parts.append(_evenly(_between(schema, i, p // 2)))
    return Point(i, variable.static, ranks, knots, tuple(parts))


def _evenly(numbers: Floats) -> Ranks:
    return ranks_among(numbers, np.ones(len(numbers)))


def _between(schema: Schema, i: int, gap: int) -> Floats:
    """Evenly between two points, or a point and a bound; on the grid of the variable."""
    variable, step = schema.variables[i], schema.steps[i]
    ends: Sequence[float] = (variable.bounds[0], *variable.point_masses, variable.bounds[1])
    even = np.linspace(ends[gap], ends[gap + 1], 2 * FEW + 1)[1:-1:2]
    return np.round(np.rint(even / step) * step, 12) if step else even
