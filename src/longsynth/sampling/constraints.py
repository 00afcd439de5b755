"""Public constraints on generated patients: the smallest change after which none is violated.

Every variable that a constraint can move is put on the grid on which it is written, so that no
rounding breaks a constraint later. All of this is post-processing.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from longsynth.sampling.model import Synthetic
from longsynth.schema.conditions import NEAR
from longsynth.schema.constraints import Knot, holds_where, numbers_of
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats

ENOUGH = 20  # numbers between two limits that say how such numbers are distributed
ROUNDS = 20  # of moving pairs toward each other; what is left moves the larger variable alone


def constrained(made: Synthetic, schema: Schema) -> Synthetic:
    """Return the same patients, without any violation. Missing values violate nothing."""
    if not schema.rules:
        return made
    made, named = replace(made, values=made.values.copy()), schema.constrained
    for place, v in enumerate(schema.variables):
        if v.name in named and v.kind != "nominal":
            steps = np.rint(made.values[:, :, place] / v.step)
            made.values[:, :, place] = on_grid(np.clip(steps, *v.ends), v)
    for knot in schema.knots:
        active = [holds_where(c, made, schema) for c in knot.constraints]
        settle = _nominal if knot.nominal else _ordered
        for name, numbers in settle(knot, active, made, schema).items():
            place = [v.name for v in schema.variables].index(name)
            cells = made.values[:, : numbers.shape[1], place]
            np.copyto(cells, numbers, where=made.observed[:, : numbers.shape[1], place])
    return made


def _nominal(
    knot: Knot, active: Sequence[Bools], made: Synthetic, schema: Schema
) -> dict[str, Floats]:
    """A level that is ruled out becomes the first that is not."""
    name, left = knot.variables[0].name, knot.levels_left(active)
    numbers, there = numbers_of(made, schema, name)
    level = np.clip(np.where(there, numbers, 0), 0, left.shape[-1] - 1).astype(np.int64)
    fine = np.take_along_axis(
        np.broadcast_to(left, (*level.shape, left.shape[-1])), level[..., None], axis=-1
    )
    return {name: np.where(fine[..., 0], level, left.argmax(axis=-1)).astype(np.float64)}


def _ordered(
    knot: Knot, active: Sequence[Bools], made: Synthetic, schema: Schema
) -> dict[str, Floats]:
    low, high = knot.limits(active)
    wanted = {}
    for v in knot.variables:
        numbers, there = numbers_of(made, schema, v.name)
        steps = np.where(there, numbers / v.step, 0)
        wanted[v.name] = _inside(steps, there, low[v.name], high[v.name])
    _together(knot, active, wanted)
    settled: dict[str, Floats] = {}
    for v in knot.variables:  # a smaller one comes before a larger one
        for pair in knot.pairs:
            if pair.larger == v.name:
                above = knot.above(pair, settled[pair.smaller])
                knot.raised(low, v.name, above, active[pair.number])
        settled[v.name] = np.clip(np.rint(wanted[v.name]), low[v.name], high[v.name])
    return {v.name: on_grid(settled[v.name], v) for v in knot.variables}


def _inside(steps: Floats, there: Bools, low: Floats, high: Floats) -> Floats:
    """Move numbers between their limits. Those with the same limits keep their order and get the
    distribution of the numbers that lie inside already, so that none pile up at a limit."""
    ends, moved = low + 1j * high, steps.copy()
    outside = there & ((steps < low) | (steps > high))
    for pair in np.unique(ends[outside]):
        alike = there & (ends == pair)
        fine = steps[alike & ~outside]
        if len(fine) >= ENOUGH:
            numbers = steps[alike]
            rank = np.empty(len(numbers))
            rank[np.argsort(numbers, kind="stable")] = (np.arange(len(rank)) + 0.5) / len(rank)
            moved[alike] = np.quantile(fine, rank)
    return np.clip(moved, low, high)


def _together(knot: Knot, active: Sequence[Bools], wanted: dict[str, Floats]) -> None:
    """Move the two variables of a violated pair toward each other, by their usual spread. A static
    variable stays, because one slot should not decide what holds in all of them."""
    for _ in range(ROUNDS):
        apart = 0.0
        for pair in knot.pairs:
            one, other = knot.by_name[pair.smaller], knot.by_name[pair.larger]
            step = max(one.step, other.step) if pair.strict else 0.0
            excess = wanted[one.name] * one.step - wanted[other.name] * other.step + step
            excess = np.where(active[pair.number], np.maximum(excess, 0.0), 0.0)
            mixed, spread = one.static != other.static, (_spread(one), _spread(other))
            part = float(other.static) if mixed else spread[0] ** 2 / sum(s**2 for s in spread)
            for v, way in ((one, -part), (other, 1 - part)):
                if way:
                    move = excess.max(axis=1, keepdims=True) if v.static else excess
                    wanted[v.name] = wanted[v.name] + way * move / v.step
            apart = max(apart, float(excess.max(initial=0.0)) / max(one.step, other.step))
        if apart < 0.5:
            return


def _spread(v: Variable) -> float:
    return v.scale or (v.bounds[1] - v.bounds[0]) / 6


def on_grid(steps: Floats, v: Variable) -> Floats:
    """So many steps as the number that is written: 3 steps of 0.1 are 0.3."""
    inverse = round(1 / v.step) if v.step < 1 else 0
    exact = abs(inverse * v.step - 1) < NEAR
    return np.asarray((steps / inverse if exact else steps * v.step) + 0.0)  # no -0
