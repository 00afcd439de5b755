"""Schema: the public facts of a cohort, fixed before any patient is read.

It joins four parts, each with its own file: the record (here, variable.py and record.py), the
columns of the tables (columns.py), where an import finds each of them (mapping.py), and the
constants of the methods (constants.py). file.py reads and writes all of it as YAML.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from longsynth.schema.columns import LABELS, Labels, PatientColumn, Time
from longsynth.schema.constants import Constants, ResolvedConstants
from longsynth.schema.mapping import Dataset
from longsynth.schema.record import Layout, layout_of
from longsynth.schema.variable import Aggregate, Level, Variable
from longsynth.system.text import MEANING, Title, VariableName
from longsynth.system.yaml_text import FrozenModel, InvalidField

if TYPE_CHECKING:
    from longsynth.schema.suggest import Given, Suggestion


class SlotRule(FrozenModel):
    """How rows in time become slots. A slot opens with a measurement of an anchor variable and
    takes all rows until the next slot opens, at least `merge` hours later."""

    anchors: tuple[VariableName, ...] = ()  # names of variables; none: any row opens a slot
    merge: float = Field(default=0.0, ge=0)  # hours
    horizon: float | None = Field(default=None, gt=0)  # hours; later rows are not used
    aggregate: Aggregate = "median"  # of a variable's values within a slot; the lower median


class Protected(FrozenModel):
    """Strata that sampling must not lose: all that match the given levels."""

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
    patient: PatientColumn = PatientColumn()
    time: Time = Time()
    group: Labels = Labels(column="group", levels=("0", "1"))
    event: Labels = Labels(column="event", levels=("0", "1"))
    site: Labels | None = None
    protected: tuple[Protected, ...] | None = None
    variables: tuple[Variable, ...] = Field(min_length=1)
    constants: Constants = Constants()
    source: Dataset = Dataset()  # how an import reads the source as a whole

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """A label with a source needs no column: an import writes it under its own name."""
        if not isinstance(given, dict):
            return given
        sourced = {
            what: {"column": what} | given[what]
            for what in LABELS
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
            if len(getattr(self, what).coded_meaning) > MEANING:
                message = f"longer than {MEANING} characters together with its levels; shorten it"
                raise InvalidField(message, what, "meaning")
        for i, rule in enumerate(self.protected or ()):
            for what in LABELS:
                level = getattr(rule, what)
                if level is not None and level not in self.levels(what):
                    known = ", ".join(self.levels(what))
                    raise InvalidField(f"{level!r} is none of {known}", "protected", i, what)
        if self.constants.encoding == "reference":
            for i, v in enumerate(self.variables):
                if v.kind == "continuous" and (v.centre is None or v.scale is None):
                    raise InvalidField(
                        "encoding: reference needs its centre and scale", "variables", i
                    )
                if 1e9 * (v.scale or 1) < abs(v.centre or 0):
                    raise InvalidField("too small beside its centre", "variables", i, "scale")
        return self

    @staticmethod
    def suggest(
        columns: "Given", patients: Iterable[str] | None = None, *, name: str = "my cohort"
    ) -> "Suggestion":
        """Suggest a schema from the names of columns, or from SDV's metadata (a dictionary or its
        JSON file). No row is read. What names cannot tell, such as bounds, stays an open mark.

        >>> import longsynth
        >>> draft = longsynth.Schema.suggest(["id", "time", "hr"], ["id", "group", "died"])
        >>> draft
        Suggestion(28 lines, 7 marks to settle; see .text)
        >>> draft.marks[3]
        '16: time: {column: time, unit: hours}  # CHECK: hours, days or another unit, or timestamp'
        """
        from longsynth.schema.suggest import suggested

        return suggested(columns, patients, name)

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
        protected = np.zeros(len(self.strata), bool)
        for rule in set(self.protected):
            protected |= self.matching(rule.model_dump(exclude_none=True))
        return protected

    def matching(self, wanted: Mapping[str, str]) -> NDArray[np.bool_]:
        """(S,): which strata have all these levels."""
        matching = np.ones(len(self.strata), bool)
        for column, what in zip(self.strata.T, ("site", "group", "event"), strict=True):
            if what in wanted:
                matching &= column == self.levels(what).index(wanted[what])
        return matching

    def resolved(self, patients: int, mu: float = 1.0) -> "Schema":
        """The same schema with every constant stated, for a plan over N patients with a budget of
        Gaussian strength μ."""
        constants = self.constants.resolved(cells=self.layout.cells, patients=patients, mu=mu)
        return self.model_copy(update={"constants": constants})

    @property
    def resolved_constants(self) -> ResolvedConstants:
        """The constants of a resolved schema."""
        if not isinstance(self.constants, ResolvedConstants):
            raise TypeError("call `resolved` with a number of patients first")
        return self.constants

    def by_hand(self, patients: int, mu: float) -> dict[str, float | str]:
        """The constants of a resolved schema that are not what the rules give for N and μ."""
        return self.resolved_constants.by_hand(cells=self.layout.cells, patients=patients, mu=mu)

    def canonical(self) -> "Schema":
        """The same cohort in the columns, units and labels that longsynth itself writes."""
        protected = self.protected
        if protected is not None:
            protected = tuple(
                r.model_copy(
                    update={
                        what: str(self.levels(what).index(level))
                        for what in ("group", "event")
                        if (level := getattr(r, what)) is not None
                    }
                )
                for r in protected
            )
        return self.in_own_columns().model_copy(
            update={
                "slot_rule": SlotRule(),
                "group": self.group.numbered("group"),
                "event": self.event.numbered("event"),
                "site": Labels(
                    column="site",
                    levels=self.sites,
                    meaning=self.site.meaning if self.site else "",
                ),
                "protected": protected,
                "variables": tuple(
                    v.model_copy(update={"column": "", "aggregate": None, "source": None})
                    for v in self.variables
                ),
            }
        )

    def in_own_columns(self, unit: str = "hours") -> "Schema":
        """The same schema with the column names that longsynth itself writes, and no mapping."""
        labels = {
            what: label.model_copy(update={"source": None, "column": what})
            for what in LABELS
            if (label := getattr(self, what)) is not None
        }
        variables = (v.model_copy(update={"source": None, "column": ""}) for v in self.variables)
        return self.model_copy(
            update={
                "patient": PatientColumn(),
                "time": Time.model_validate({"unit": unit, "first": self.time.first}),
                "variables": tuple(variables),
                "source": Dataset(),
                **labels,
            }
        )


def stratum_of(
    site: NDArray[np.int64], group: NDArray[np.int64], event: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each patient's row in `Schema.strata`."""
    return (site * 2 + group) * 2 + event


def condition_matrix(schema: Schema) -> NDArray[np.int64]:
    """Return the condition vector c of every stratum (eq:condition), (S, p): constant, G, Y, site
    dummies, G·Y, Y·last site.

    With a single site there are no dummies and no last term. c takes finitely many values, so its
    norm is public and nothing has to be clipped.
    """
    site, group, event = schema.strata.T
    last = len(schema.sites) - 1
    dummies = [site == c for c in range(1, last + 1)]
    interactions = [group * event] + ([event * (site == last)] if last else [])
    columns = [np.ones_like(group), group, event, *dummies, *interactions]
    return np.stack(columns, axis=1).astype(np.int64)


def largest_norm_squared(conditions: NDArray[np.int64]) -> int:  # L_c²
    return int((conditions**2).sum(axis=1).max())
