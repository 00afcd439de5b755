"""Comparisons as people write them: conditions on patients (`age >= 65`), and public constraints
that no synthetic patient violates (`diastolic < systolic`, `cigarettes = 0 if smoker = no`)."""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats

if TYPE_CHECKING:
    from longsynth.schema.schema import Schema

COMPARED: dict[str, Callable[[Floats, float | Floats], Bools]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([^!<>=]+?)\s*(!=|<=|>=|=|<|>)\s*(.+?)\s*")
_IF = re.compile(r"(.+?)\s+if\s+(.+)")
NEAR = 1e-9  # of a step: equal, whatever the binary digits say
MOST_STEPS = 1e15  # of a grid, from zero


class NotUnderstood(ValueError):
    """A text that is no condition: the problem and the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem, self.remedy = problem, remedy


@dataclass(frozen=True, slots=True)
class Condition:
    key: str  # a label of the schema, or the name of a variable
    sign: str
    value: float  # a number, or the position of a level
    other: str = ""  # the variable that stands in the place of a value
    on_label: bool = False

    def met_by(self, numbers: Floats, others: Floats | None = None) -> Bools:
        return np.asarray(COMPARED[self.sign](numbers, self.value if others is None else others))


def parsed(
    text: str, schema: "Schema", variables: Collection[Variable], *, pairs: bool = False
) -> Condition:
    """Read `name sign value`, for a label or one of these variables; with `pairs`, also
    `name sign name`."""
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise NotUnderstood(
            "a condition is a name, one of =, !=, <, <=, >, >=, and a level or number.",
            "For example: age >= 65.",
        )
    name, sign, value = parts.groups()
    named = {v.name: v for v in variables}
    labels = ["site", *(what for what in ("group", "event") if getattr(schema, what))]
    key = name if name in named else schema.key(name)  # a primary time shares its label's name
    if key not in labels and key not in named:
        raise NotUnderstood(
            f"patients cannot be conditioned on {name!r}.",
            f"Choose one of {', '.join([*labels, *named])}.",
        )
    on_label = key not in named
    levels = schema.levels(key) if on_label else named[key].levels
    if levels is not None and value in levels:
        return Condition(key, sign, float(levels.index(value)), on_label=on_label)
    if pairs and value in named and not on_label:
        return Condition(key, sign, np.nan, value)
    if levels is not None:
        raise NotUnderstood(
            f"the schema has no {name} {value!r}.", f"Choose one of {', '.join(levels)}."
        )
    number = _number(value)
    if number is None:
        raise NotUnderstood(
            f"{name} has numbers, and {value!r} is none.", "Compare it with a number."
        )
    return Condition(key, sign, number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Constraint:
    text: str
    claim: Condition
    given: Condition | None  # it holds where this is met; None: everywhere

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.moved, self.given.key) if self.given else self.moved

    @property
    def moved(self) -> tuple[str, ...]:
        """The variables that may have to change."""
        return (self.claim.key, self.claim.other) if self.claim.other else (self.claim.key,)

    def relabelled(self, level: Callable[[str, float], str]) -> str:
        """The same text, in which `level` names the label's level after the `if`."""
        if self.given is None or not self.given.on_label:
            return self.text
        parts = _IF.fullmatch(self.text)
        name = _FORM.fullmatch(parts[2]) if parts else None
        assert parts and name  # it was parsed before
        words = level(self.given.key, self.given.value)
        return f"{parts[1]} if {name[1]} {self.given.sign} {words}"


def constraint(text: str, schema: "Schema") -> Constraint:
    """Read one constraint. Refuse what no sampler could keep."""
    parts = _IF.fullmatch(text)
    claim = parsed(parts[1] if parts else text, schema, schema.variables, pairs=True)
    given = parsed(parts[2], schema, schema.variables) if parts else None
    made = Constraint(text, claim, given)
    if claim.on_label:
        raise NotUnderstood(
            f"{claim.key} is sampled first and never changes.",
            "Turn the constraint around: put this condition after `if`.",
        )
    variables = {v.name: v for v in schema.variables}
    timed = {v.name for v in schema.variables if v.status}
    timed |= {v.status for v in schema.variables if v.status}
    for name in made.moved:
        if name in timed:
            raise NotUnderstood(
                f"{name} follows from the hazards of a time to event.",
                "Turn the constraint around: put this condition after `if`.",
            )
        if max(map(abs, variables[name].bounds)) / variables[name].step > MOST_STEPS:
            raise NotUnderstood(f"{name} is too fine for arithmetic.", "State its resolution.")
    if claim.other:
        _check_pair(claim, variables)
    else:
        _check_value(claim, variables[claim.key])
    return made


def _check_pair(claim: Condition, variables: Mapping[str, Variable]) -> None:
    one, other = variables[claim.key], variables[claim.other]
    if claim.sign in ("=", "!="):
        raise NotUnderstood(
            f"{claim.sign} between two variables cannot be kept.",
            "Leave one of them out of the schema, or use <, <=, > or >=.",
        )
    if "nominal" in (one.kind, other.kind) or one.levels != other.levels:
        raise NotUnderstood(
            f"{one.name} and {other.name} have no common order.",
            "Compare numbers with numbers, or ordinal variables with the same levels.",
        )


def _check_value(claim: Condition, v: Variable) -> None:
    low, high = v.bounds
    if not low <= claim.value <= high:
        raise NotUnderstood(
            f"{claim.value:g} lies outside the bounds of {v.name}, {low:g} to {high:g}.",
            "Correct the value, or the bounds.",
        )
    if v.kind == "nominal" and claim.sign not in ("=", "!="):
        raise NotUnderstood(f"the levels of {v.name} have no order.", "Use = or !=.")
    if claim.sign == "!=" and v.kind != "nominal" and claim.value not in (low, high):
        raise NotUnderstood(
            f"{v.name} cannot avoid a single value between others.", "Use <, <=, > or >=."
        )
    off = abs(claim.value / v.step - round(claim.value / v.step)) > NEAR
    if off and (v.resolution or v.kind != "continuous" or claim.sign == "="):
        raise NotUnderstood(
            f"{claim.value:g} is none of the values of {v.name}, which has steps of {v.step:g}.",
            "Correct the value, or the variable's resolution.",
        )
