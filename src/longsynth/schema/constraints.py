"""Public constraints between variables: what has to move together, how far each variable may move,
and whether there is always a solution.

A constraint moves what stands before its `if`. Variables that are compared with each other are
moved together, as one knot; a condition belongs to an earlier knot. On its own grid, each variable
has a lowest and a highest value that leave room for all others of its knot. A schema in which they
could pass each other is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from longsynth.schema.conditions import NEAR, Condition, Constraint, NotUnderstood
from longsynth.schema.record import Trajectories
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats

if TYPE_CHECKING:
    from longsynth.schema.schema import Schema

MOST_CASES = 4096  # combinations of conditions that are examined
Name = TypeVar("Name")

Limits = tuple[dict[str, Floats], dict[str, Floats]]  # lowest and highest, in steps


@dataclass(frozen=True, slots=True)
class Pair:
    number: int  # of the constraint
    smaller: str
    larger: str
    strict: bool  # whether they must differ


def _pairs(constraints: Sequence[Constraint]) -> Iterator[Pair]:
    for number, c in enumerate(constraints):
        if c.claim.other:
            names = (c.claim.key, c.claim.other)
            smaller, larger = names if c.claim.sign[0] == "<" else names[::-1]
            yield Pair(number, smaller, larger, strict=len(c.claim.sign) == 1)


@dataclass(frozen=True)
class Knot:
    """Variables that are moved together, and the constraints on them."""

    variables: tuple[Variable, ...]  # a smaller one comes before a larger one
    constraints: tuple[Constraint, ...]

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        return {v.name: v for v in self.variables}

    @property
    def nominal(self) -> bool:
        return self.variables[0].kind == "nominal"

    @cached_property
    def pairs(self) -> list[Pair]:
        """What is smaller than what, from the smallest on."""
        order = [v.name for v in self.variables]
        return sorted(_pairs(self.constraints), key=lambda pair: order.index(pair.smaller))

    def limits(self, active: Sequence[Bools]) -> Limits:
        """Lowest and highest value of each variable, in its own steps, that leaves room for all
        others: (n, T), or (n, 1) if it is static. `active` says where each constraint holds."""
        shapes = [a.shape for a in active]
        n, slots = shapes[0][0], max(shape[1] for shape in shapes)
        low, high = {}, {}
        for v in self.variables:
            size = (n, 1 if v.static else slots)
            low[v.name], high[v.name] = (np.full(size, end) for end in v.ends)
        for c, where in zip(self.constraints, active, strict=True):
            if not c.claim.other:
                least, most = allowed(c.claim, self.by_name[c.claim.key])
                self.raised(low, c.claim.key, np.full(where.shape, least), where)
                self.lowered(high, c.claim.key, np.full(where.shape, most), where)
        for pair in self.pairs:
            self.raised(low, pair.larger, self.above(pair, low[pair.smaller]), active[pair.number])
        for pair in reversed(self.pairs):
            below = self.below(pair, high[pair.larger])
            self.lowered(high, pair.smaller, below, active[pair.number])
        return low, high

    def above(self, pair: Pair, smaller: Floats) -> Floats:
        """The least that the larger variable can be, in its own steps."""
        scaled = smaller * (self.by_name[pair.smaller].step / self.by_name[pair.larger].step)
        return np.asarray(np.floor(scaled + NEAR) + 1 if pair.strict else np.ceil(scaled - NEAR))

    def below(self, pair: Pair, larger: Floats) -> Floats:
        """The most that the smaller variable can be, in its own steps."""
        scaled = larger * (self.by_name[pair.larger].step / self.by_name[pair.smaller].step)
        return np.asarray(np.ceil(scaled - NEAR) - 1 if pair.strict else np.floor(scaled + NEAR))

    def raised(self, low: dict[str, Floats], name: str, least: Floats, where: Bools) -> None:
        """Raise a variable's lowest value where a constraint holds; a static one in any slot."""
        wanted = np.where(where, least, -np.inf)
        if self.by_name[name].static:
            wanted = wanted.max(axis=1, keepdims=True)
        low[name] = np.maximum(low[name], wanted)

    def lowered(self, high: dict[str, Floats], name: str, most: Floats, where: Bools) -> None:
        wanted = np.where(where, most, np.inf)
        if self.by_name[name].static:
            wanted = wanted.min(axis=1, keepdims=True)
        high[name] = np.minimum(high[name], wanted)

    def levels_left(self, active: Sequence[Bools]) -> Bools:
        """(…, K): the levels that a nominal variable may still have."""
        v = self.variables[0]
        level = np.arange(v.channels, dtype=np.float64)
        shape = np.broadcast_shapes(*(where.shape for where in active))
        left = np.ones((shape[0], 1 if v.static else shape[1], v.channels), bool)
        for c, where in zip(self.constraints, active, strict=True):
            held = np.where(v.static, where.any(axis=1, keepdims=True), where)
            left &= ~held[:, : left.shape[1], None] | c.claim.met_by(level)
        return left


def allowed(claim: Condition, v: Variable) -> tuple[float, float]:
    """Lowest and highest value that meets a claim about a value, in steps."""
    place, low, high = claim.value / v.step, -np.inf, np.inf
    up, down = np.ceil(place - NEAR), np.floor(place + NEAR)
    match claim.sign:
        case "=":
            low = high = up
        case ">=":
            low = up
        case ">":
            low = down + 1
        case "<=":
            high = down
        case "<":
            high = up - 1
        case "!=":  # an end of the bounds
            low, high = (down + 1, high) if claim.value == v.bounds[0] else (low, up - 1)
    return float(low), float(high)


def knots(constraints: Sequence[Constraint], schema: "Schema") -> tuple[Knot, ...]:
    """Return what is moved together, in an order in which conditions are settled before what they
    decide. Refuse circles."""
    group = {name: {name} for c in constraints for name in c.moved}
    for c in constraints:
        joined = set().union(*(group[name] for name in c.moved))
        group |= dict.fromkeys(joined, joined)
    distinct = dict.fromkeys(frozenset(names) for names in group.values())
    members = {names: [c for c in constraints if c.claim.key in names] for names in distinct}
    needs = {
        names: {other for c in own if c.given for other in members if c.given.key in other}
        for names, own in members.items()
    }
    variables, ordered = {v.name: v for v in schema.variables}, []
    for names in _settled(needs):
        pairs = list(_pairs(members[names]))
        smaller = {n: {pair.smaller for pair in pairs if pair.larger == n} for n in sorted(names)}
        order = tuple(variables[name] for name in _settled(smaller))
        ordered.append(Knot(order, tuple(members[names])))
    return tuple(ordered)


def _settled(needs: Mapping[Name, set[Name]]) -> list[Name]:
    """Each after all that it needs."""
    order: list[Name] = []
    while len(order) < len(needs):
        ready = [x for x, needed in needs.items() if x not in order and needed <= set(order)]
        if not ready:
            raise NotUnderstood(
                "these constraints go in a circle.", "Remove one of them, or turn it around."
            )
        order += ready
    return order


def require_solution(found: Sequence[Knot], schema: "Schema") -> None:
    """Refuse constraints that some combination of conditions would make impossible."""
    over_time = {v.name for v in schema.variables if not v.static}
    for knot in found:
        cases = _cases(knot, found, schema)
        mixed = any(v.static for v in knot.variables)  # then conditions of several slots hold
        active = []
        for c in knot.constraints:
            always = c.given is None or (mixed and c.given.key in over_time)
            met = [always or _met(c.given, case) for case in cases]
            active.append(np.array(met, bool)[:, None])
        if knot.nominal:
            possible = bool(knot.levels_left(active).any(axis=-1).all())
        else:
            low, high = knot.limits(active)
            possible = all((low[name] <= high[name]).all() for name in low)
        if not possible:
            raise NotUnderstood(
                f"no value meets all of: {'; '.join(c.text for c in knot.constraints)}.",
                "Correct one of them, or the bounds.",
            )


def _cases(knot: Knot, found: Sequence[Knot], schema: "Schema") -> list[dict[str, float]]:
    """Every combination of what the conditions of a knot tell apart, as long as constraints on the
    conditions themselves allow it."""
    variables = {v.name: v for v in schema.variables}
    cuts: dict[str, set[float]] = {}
    for c in knot.constraints:
        if c.given:
            cuts.setdefault(c.given.key, set()).add(c.given.value)
    tried = []
    for key, values in cuts.items():
        v = variables.get(key)
        if v is None:
            tried.append([float(level) for level in range(len(schema.levels(key)))])
        else:
            ends = sorted(values | set(v.bounds))
            tried.append([*ends, *((a + b) / 2 for a, b in pairwise(ends))])
    if prod(map(len, tried)) > MOST_CASES:
        raise NotUnderstood(
            f"{', '.join(knot.by_name)} depends on more than {MOST_CASES:,} combinations of "
            "conditions.",
            "Use fewer conditions.",
        )
    cases = [dict(zip(cuts, chosen, strict=True)) for chosen in product(*tried)]
    for c in (c for other in found for c in other.constraints if not c.claim.other):
        if c.claim.key in cuts and (c.given is None or c.given.key in cuts):
            cases = [case for case in cases if not _met(c.given, case) or _met(c.claim, case)]
    return cases


def _met(condition: Condition | None, case: Mapping[str, float]) -> bool:
    return condition is None or bool(condition.met_by(np.array(case[condition.key])))


def numbers_of(batch: Trajectories, schema: "Schema", key: str) -> tuple[Floats, Bools]:
    """A label or variable of each patient, and where it is known: (n, 1), or (n, T) over time."""
    names = [v.name for v in schema.variables]
    if key not in names:
        label = np.asarray(getattr(batch, key), np.float64)[:, None]
        return label, np.ones(label.shape, bool)
    place = names.index(key)
    slots = slice(0, 1) if schema.variables[place].static else slice(None)
    values = batch.values[:, slots, place]
    return values, batch.observed[:, slots, place] & np.isfinite(values)


def holds_where(c: Constraint, batch: Trajectories, schema: "Schema") -> Bools:
    """(n, 1 or T): where a constraint asks for something: all that it names is known, and its
    condition is met."""
    known = [numbers_of(batch, schema, name)[1] for name in c.moved]
    if c.given is not None:
        numbers, there = numbers_of(batch, schema, c.given.key)
        known.append(there & c.given.met_by(numbers))
    where = known[0]
    for part in known[1:]:
        where = where & part
    return np.asarray(where)


def violations(c: Constraint, batch: Trajectories, schema: "Schema") -> tuple[Bools, Bools]:
    """(n, 1 or T): where a constraint is violated, and where it asks for something."""
    where = holds_where(c, batch, schema)
    one = numbers_of(batch, schema, c.claim.key)[0]
    other = numbers_of(batch, schema, c.claim.other)[0] if c.claim.other else None
    with np.errstate(invalid="ignore"):
        return where & ~c.claim.met_by(one, other), where
