"""Outcomes and groups: what a study is about, and for whom it must be right.

A schema may list any number of `outcomes` and `groups`. The first outcome is the primary one. If it
has levels, it becomes the label `event`; the first group becomes the label `group`. Together with
the site they form the strata, by which methods count patients. Every other outcome and group
becomes a static variable with a role. A time to event is a static variable too: the time, with the
name of the label that says how it ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from longsynth.schema.columns import HOURS, Labels
from longsynth.schema.mapping import Source
from longsynth.schema.variable import Bands, Level, Variable, check_bands
from longsynth.system.text import ColumnName, Meaning, Unit, VariableName
from longsynth.system.yaml_text import FrozenModel, InvalidField

FEW = 60  # a count with at most so many values has a level for each
Kind = Literal["binary", "categorical", "ordinal", "count", "continuous", "time_to_event"]
# What an entry becomes: a categorical outcome is nominal, and a count ordinal or continuous.
OutcomeKind = Literal["binary", "nominal", "ordinal", "continuous", "time_to_event"]
Model = TypeVar("Model", bound=BaseModel)


class Entry(FrozenModel):
    """What outcomes and groups have in common."""

    name: VariableName
    meaning: Meaning = ""
    column: ColumnName = ""  # the name in the files, if it is another
    levels: tuple[Level, ...] | None = Field(default=None, min_length=2, max_length=60)
    source: Source | None = None  # where `longsynth import` finds it

    def label(self) -> Labels:
        """The same as a label, which takes part in the strata."""
        named = {"column": self.column or self.name, "levels": self.levels or ("0", "1")}
        more = {"name": self.name, "meaning": self.meaning, "source": self.source}
        return _built(Labels, **named, **more)


class GroupEntry(Entry):
    """Patients whom the results must serve: sex, age bands, insurance."""

    levels: tuple[Level, ...] = Field(min_length=2, max_length=60)
    bands: Bands = ()  # cut points, if the column holds numbers

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Bands have names of their own, unless levels are given."""
        cuts = given.get("bands") if isinstance(given, dict) else None
        if not isinstance(cuts, list | tuple) or not cuts or "levels" in given:
            return given
        if not all(isinstance(cut, int | float) for cut in cuts):
            return given  # a mistake that is reported with its place
        inner = (f"{a:g} to under {b:g}" for a, b in pairwise(cuts))
        return {**given, "levels": [f"under {cuts[0]:g}", *inner, f"{cuts[-1]:g} and over"]}

    @model_validator(mode="after")
    def _one_level_per_band(self) -> Self:
        check_bands(self.bands, self.levels)
        return self

    def label(self) -> Labels:
        return super().label().model_copy(update={"bands": self.bands})

    def variable(self) -> Variable:
        kind = "binary" if len(self.levels) == 2 else "nominal"
        facts = {"kind": kind, "levels": self.levels, "bands": self.bands}
        return static_variable(self, "group", **facts)


class Status(FrozenModel):
    """How a time to event ended."""

    column: ColumnName
    levels: tuple[Level, ...] = Field(min_length=2, max_length=12)  # the first: censored
    source: Source | None = None


class OutcomeEntry(Entry):
    kind: Kind
    unit: Unit = ""
    bounds: tuple[float, float] | None = None
    bounds_from: Meaning = ""
    centre: float | None = None
    scale: float | None = Field(default=None, gt=0)
    transform: Literal["none", "log"] = "none"
    resolution: float | None = Field(default=None, gt=0)
    horizon: float | None = Field(default=None, gt=0)  # time to event: later ones are censored
    status: Status | None = None  # time to event
    # Time to event: whether it counts from time zero of the record, which then ends with it.
    origin: Literal["record", "elsewhere"] = "record"
    otherwise: ColumnName = ""  # time to event: the column with the time where the first has none

    @model_validator(mode="after")
    def _complete(self) -> Self:
        timed = self.kind == "time_to_event"
        for what in ("horizon", "status"):
            if timed != (getattr(self, what) is not None):
                verb = "needs" if timed else "has no"
                raise InvalidField(f"an outcome of kind {self.kind} {verb} {what}", what)
        if timed and self.unit not in HOURS:
            raise InvalidField(f"a time is in one of {', '.join(HOURS)}", "unit")
        if not timed and self.origin != "record":
            raise InvalidField("only a time to event has one", "origin")
        if self.kind == "categorical" and self.levels is None:
            raise InvalidField("a categorical outcome needs its levels", "levels")
        list(self.variables())  # their own rules
        return self

    @property
    def stratified(self) -> Labels | None:
        """The label that it becomes if it is the primary outcome."""
        if self.status is not None:
            named = {"column": self.status.column, "levels": self.status.levels}
            more = {"name": self.name, "meaning": self.meaning, "source": self.status.source}
            return _built(Labels, **named, **more)
        return self.label() if self.kind in ("binary", "categorical") else None

    def variables(self, *, status: str = "") -> Iterator[Variable]:
        """The static variables that it becomes. `status` names the label that says how a time to
        event ended, if that is not a variable of its own."""
        match self.kind:
            case "binary":
                yield static_variable(self, "outcome", kind="binary", levels=self.levels)
            case "categorical":
                yield static_variable(self, "outcome", kind="nominal", levels=self.levels)
            case "ordinal":
                numbers = self._numbers if self.levels is None else {"levels": self.levels}
                yield static_variable(self, "outcome", kind="ordinal", **numbers)
            case "count" if self.bounds and self.bounds[1] - self.bounds[0] < FEW:
                yield static_variable(self, "outcome", kind="ordinal", **self._numbers)
            case "count":
                steps = {"kind": "continuous", "resolution": self.resolution or 1.0}
                yield static_variable(self, "outcome", **self._numbers, **steps)
            case "continuous":
                steps = {"kind": "continuous", "resolution": self.resolution}
                yield static_variable(self, "outcome", **self._numbers, **steps)
            case "time_to_event":
                yield from self._time(status)

    @property
    def _numbers(self) -> dict[str, Any]:
        keys = ("unit", "bounds_from", "centre", "scale", "transform")
        given = {key: getattr(self, key) for key in keys}
        return given | ({"bounds": self.bounds} if self.bounds else {})

    def _time(self, status: str) -> Iterator[Variable]:
        assert self.status is not None and self.horizon is not None  # for mypy
        if not status:
            kind = "binary" if len(self.status.levels) == 2 else "nominal"
            facts = {"levels": self.status.levels, "column": self.status.column}
            entry = Entry(name=f"{self.name}_status", source=self.status.source)
            yield static_variable(entry, "outcome", kind=kind, **facts)
        yield static_variable(
            self,
            "outcome",
            kind="continuous",
            unit=self.unit,
            bounds=(0.0, self.horizon),
            bounds_from="the horizon of the study",
            resolution=self.resolution,
            status=status or f"{self.name}_status",
            otherwise=self.otherwise,
            origin=self.origin,
        )


def static_variable(entry: Entry, role: str, **facts: Any) -> Variable:
    column = facts.pop("column", entry.column)
    named = {"name": entry.name, "column": column, "source": entry.source}
    return _built(Variable, **named, role=role, static=True, **facts)


def _built(model: type[Model], **facts: Any) -> Model:
    """Build a part from an entry; a mistake is one of the entry."""
    try:
        return model(**facts)
    except ValidationError as error:
        raise _at_its_place(error) from None


def _at_its_place(error: ValidationError, *place: str | int) -> InvalidField:
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    below = getattr(cause, "place", ())
    return InvalidField(str(cause or first["msg"]), *place, *first["loc"], *below)


def expanded(given: dict[str, Any]) -> dict[str, Any]:
    """Return a schema's content with labels and static variables in the place of `outcomes` and
    `groups`."""
    rest = {key: value for key, value in given.items() if key not in ("outcomes", "groups")}
    added: list[Variable] = []
    if "outcomes" in given:
        _alone(given, "outcomes", "event")
        outcomes = _entries(given["outcomes"], OutcomeEntry, "outcomes")
        rest["event"] = outcomes[0].stratified if outcomes else None
        for i, outcome in enumerate(outcomes):
            if i == 0 and rest["event"] is not None:
                if outcome.status is not None:
                    added += outcome.variables(status="event")
            else:
                added += outcome.variables()
    if "groups" in given:
        _alone(given, "groups", "group")
        groups = _entries(given["groups"], GroupEntry, "groups")
        rest["group"] = groups[0].label() if groups else None
        added += [group.variable() for group in groups[1:]]
    if added and isinstance(given.get("variables"), list | tuple):
        rest["variables"] = [*given["variables"], *added]
    return rest


def _alone(given: dict[str, Any], many: str, one: str) -> None:
    if one in given:
        raise InvalidField(f"{many} takes the place of {one}; give one of them", many)


def _entries(listed: Any, model: type[Model], what: str) -> list[Model]:
    if not isinstance(listed, list | tuple):
        raise InvalidField("give a list", what)
    entries = []
    for i, entry in enumerate(listed):
        try:
            entries.append(model.model_validate(entry))
        except ValidationError as error:
            raise _at_its_place(error, what, i) from None
    return entries


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome of a schema, wherever it is kept: in the label `event`, or in static variables."""

    name: str
    kind: OutcomeKind
    primary: bool
    levels: tuple[str, ...] | None  # of a time to event: how it ended, censored first
    unit: str = ""
    meaning: str = ""
    variable: int | None = None  # its place among the variables; None: it is the label `event`
    status: int | None = None  # of a time to event, likewise


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a schema: the label `group`, or a static variable."""

    name: str
    levels: tuple[str, ...]
    meaning: str = ""
    variable: int | None = None  # None: it is the label `group`


def outcomes_of(event: Labels | None, variables: tuple[Variable, ...]) -> tuple[Outcome, ...]:
    """List the outcomes, the primary one first."""
    place = {v.name: i for i, v in enumerate(variables)}
    statuses = {v.status for v in variables if v.status}
    listed: list[Outcome] = []
    if event is not None and "event" not in statuses:
        kind: Literal["binary", "nominal"] = "binary" if len(event.levels) == 2 else "nominal"
        listed.append(
            Outcome(event.name or "event", kind, True, event.levels, meaning=event.meaning)
        )
    for i, v in enumerate(variables):
        if v.role != "outcome" or v.name in statuses:
            continue
        first = not listed
        if not v.status:
            listed.append(Outcome(v.name, v.kind, first, v.levels, v.unit, variable=i))
            continue
        by_label = v.status == "event"
        levels = event.levels if by_label and event else variables[place[v.status]].levels
        status = None if by_label else place[v.status]
        listed.append(Outcome(v.name, "time_to_event", first, levels, v.unit, "", i, status))
    return tuple(listed)


def groups_of(group: Labels | None, variables: tuple[Variable, ...]) -> tuple[Group, ...]:
    listed = [Group(group.name or "group", group.levels, group.meaning)] if group else []
    return (
        *listed,
        *(
            Group(v.name, v.levels or ("0", "1"), variable=i)
            for i, v in enumerate(variables)
            if v.role == "group"
        ),
    )
