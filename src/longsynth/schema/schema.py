"""Schema: the public facts of a cohort, fixed before any patient is read."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from longsynth.schema.constants import Constants, ResolvedConstants
from longsynth.schema.layout import Layout, layout_of
from longsynth.schema.mapping import Dataset, Source
from longsynth.schema.variable import Aggregate, Level, Variable
from longsynth.system.text import MEANING, ColumnName, Meaning, Title, VariableName
from longsynth.system.yaml_text import FrozenModel, InvalidField

TIME_UNITS = {"seconds": 1 / 3600, "minutes": 1 / 60, "hours": 1.0, "days": 24.0}
STABLE = 1e12  # constants that stabilise a model lie within this factor of one


class SlotRule(FrozenModel):
    """How rows in time become slots. A slot opens with a measurement of an anchor variable and
    takes in all rows until the next opens, which is `merge` hours later at the earliest."""

    anchors: tuple[VariableName, ...] = ()  # names of variables; none: any row opens a slot
    merge: float = Field(default=0.0, ge=0)  # hours
    horizon: float | None = Field(default=None, gt=0)  # hours; later rows are not used
    aggregate: Aggregate = "median"  # of what one variable has within a slot; median: the lower


class Column(FrozenModel):
    column: ColumnName = "patient_id"


class Time(FrozenModel):
    column: ColumnName = "time"
    unit: Literal["seconds", "minutes", "hours", "days", "timestamp"] = "hours"


class Labels(FrozenModel):
    """A column of the patient table with its public levels; anything else is the first."""

    column: ColumnName
    levels: tuple[Level, ...] = Field(min_length=1, max_length=500)
    meaning: Meaning = ""
    source: Source | None = None  # where `longsynth import` finds it

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise InvalidField("levels must differ from each other", "levels")
        return self


class Protected(FrozenModel):
    """Strata that synthesis must not lose: all that match the levels given."""

    group: Level | None = None
    event: Level | None = None
    site: Level | None = None


class Schema(FrozenModel):
    longsynth: Literal[1]  # version of this file's format
    name: Title
    slots: int = Field(ge=1, le=2000)  # T
    max_gap: float = Field(gt=0, le=1e9)  # Δ_max in hours
    length: Literal["variable", "full"] = "variable"  # full: every patient uses all slots
    slot_rule: SlotRule = SlotRule()
    patient: Column = Column()
    time: Time = Time()
    group: Labels = Labels(column="group", levels=("0", "1"))
    event: Labels = Labels(column="event", levels=("0", "1"))
    site: Labels | None = None
    protected: tuple[Protected, ...] | None = None
    variables: tuple[Variable, ...] = Field(min_length=1)
    constants: Constants = Constants()
    source: Dataset = Dataset()  # how `longsynth import` reads the whole

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Labels with a source need no column; an import writes them under their own name."""
        if not isinstance(given, dict):
            return given
        sourced = {
            what: {"column": what} | given[what]
            for what in ("group", "event", "site")
            if isinstance(given.get(what), dict) and "source" in given[what]
        }
        return given | sourced

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [v.name.casefold() for v in self.variables]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise InvalidField(
                    "two variables have this name, capitals aside", "variables", i, "name"
                )
        if all(v.static for v in self.variables):
            raise InvalidField("at least one variable must be measured over time", "variables")
        over_time = {v.name for v in self.variables if not v.static}
        for i, name in enumerate(self.slot_rule.anchors):
            if name not in over_time:
                raise InvalidField(f"{name!r} is no variable over time", "slot_rule", "anchors", i)
        for what in ("group", "event"):
            if len(getattr(self, what).levels) != 2:
                raise InvalidField("give exactly two levels, the reference first", what, "levels")
            if len(_told(getattr(self, what))) > MEANING:
                message = f"longer than {MEANING} characters together with its levels; shorten it"
                raise InvalidField(message, what, "meaning")
        for i, rule in enumerate(self.protected or ()):
            for what in ("group", "event", "site"):
                level = getattr(rule, what)
                if level is not None and level not in self.levels(what):
                    known = ", ".join(self.levels(what))
                    raise InvalidField(f"{level!r} is none of {known}", "protected", i, what)
        constants = self.constants
        if constants.missing_min >= constants.missing_max:
            raise InvalidField("missing_min must lie below missing_max", "constants", "missing_min")
        if (constants.clip_radius or 0) > 1e4:
            raise InvalidField("too large; √(T·V) always suffices", "constants", "clip_radius")
        for what in ("ridge", "eigen_floor", "eigen_cap"):
            if not 1 / STABLE <= (getattr(constants, what) or 1) <= STABLE:
                raise InvalidField(
                    f"must lie between {1 / STABLE:g} and {STABLE:g}", "constants", what
                )
        if (constants.release, constants.condition_gram) == ("joint", "released"):
            message = "a joint release needs condition_gram: derived"
            raise InvalidField(message, "constants", "condition_gram")
        if (constants.release, constants.gram_sensitivity) == ("joint", "triangle"):
            message = "a joint release needs gram_sensitivity: tight"
            raise InvalidField(message, "constants", "gram_sensitivity")
        if constants.encoding == "reference":
            for i, v in enumerate(self.variables):
                if v.kind == "continuous" and (v.centre is None or v.scale is None):
                    raise InvalidField(
                        "encoding: reference needs its centre and scale", "variables", i
                    )
                if 1e9 * (v.scale or 1) < abs(v.centre or 0):
                    raise InvalidField("too small beside its centre", "variables", i, "scale")
        return self

    def levels(self, what: str) -> tuple[str, ...]:
        if what == "site":
            return self.site.levels if self.site else ("all",)
        labels: Labels = getattr(self, what)
        return labels.levels

    @property
    def sites(self) -> tuple[str, ...]:
        return self.levels("site")

    @property
    def layout(self) -> Layout:
        channels = tuple(v.channels for v in self.variables)
        return layout_of(self.slots, channels, tuple(v.static for v in self.variables))

    @property
    def width(self) -> int:  # D: T·V, if nothing is static or nominal
        return self.layout.width

    @property
    def strata(self) -> NDArray[np.int64]:
        """(S, 3): site, group and event of each stratum; see `stratum_of`."""
        return np.array([(c, g, y) for c in range(len(self.sites)) for g in (0, 1) for y in (0, 1)])

    @property
    def protected_strata(self) -> NDArray[np.bool_]:
        """(S,): which strata the floor of eq:fair lifts; by default group and event both 1."""
        if self.protected is None:
            return np.asarray((self.strata[:, 1] == 1) & (self.strata[:, 2] == 1))
        found = np.zeros(len(self.strata), bool)
        for rule in set(self.protected):
            found |= self.matching({k: v for k, v in rule.model_dump().items() if v is not None})
        return found

    def matching(self, wanted: Mapping[str, str]) -> NDArray[np.bool_]:
        """(S,): which strata have all these levels."""
        found = np.ones(len(self.strata), bool)
        for column, what in zip(self.strata.T, ("site", "group", "event"), strict=True):
            if what in wanted:
                found &= column == self.levels(what).index(wanted[what])
        return found

    def resolved(self, patients: int, mu: float = 1.0) -> "Schema":
        """The same schema with every constant spelled out, for a plan over N patients with a
        budget of Gaussian strength μ."""
        constants = self.constants.resolved(cells=self.layout.cells, patients=patients, mu=mu)
        return self.model_copy(update={"constants": constants})

    @property
    def resolved_constants(self) -> ResolvedConstants:
        """The constants of a resolved schema."""
        if not isinstance(self.constants, ResolvedConstants):
            raise TypeError("settle the schema for a number of patients first")
        return self.constants

    def by_hand(self, patients: int, mu: float) -> dict[str, float | str]:
        """The constants of a resolved schema that are not what the rules give for N and μ."""
        return self.resolved_constants.by_hand(cells=self.layout.cells, patients=patients, mu=mu)

    def canonical(self) -> "Schema":
        """The same cohort in the columns, units and labels that longsynth itself writes."""
        site = Labels(column="site", levels=self.sites)
        plain = [v.model_copy(update=_PLAIN) for v in self.variables]
        rules = self.protected and [
            Protected(
                group=_position(self.group, r.group),
                event=_position(self.event, r.event),
                site=r.site,
            )
            for r in self.protected
        ]
        return self.model_copy(
            update={
                "patient": Column(),
                "time": Time(),
                "slot_rule": SlotRule(),
                "group": _numbered("group", self.group),
                "event": _numbered("event", self.event),
                "site": site.model_copy(update={"meaning": self.site.meaning if self.site else ""}),
                "protected": tuple(rules) if rules is not None else None,
                "variables": tuple(plain),
                "source": Dataset(),
            }
        )


_PLAIN = {"column": "", "aggregate": None, "source": None}  # a variable as longsynth writes it


def _numbered(column: str, labels: Labels) -> Labels:
    """The same labels as 0 and 1; what they stand for goes into the meaning."""
    return Labels(column=column, levels=("0", "1"), meaning=_told(labels))


def _told(labels: Labels) -> str:
    first, second = labels.levels
    named = "" if labels.levels == ("0", "1") else f"0 is {first}, 1 is {second}"
    return "; ".join(filter(None, (labels.meaning, named)))


def _position(labels: Labels, level: str | None) -> str | None:
    return None if level is None else str(labels.levels.index(level))


def stratum_of(
    site: NDArray[np.int64], group: NDArray[np.int64], event: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each patient's row in `Schema.strata`."""
    return (site * 2 + group) * 2 + event
