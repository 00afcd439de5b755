"""Schema: the public facts of a cohort, fixed before any patient is read.

It joins four parts, each with its own file: the record (here, variable.py and record.py), the
columns of the tables (columns.py), where an import finds each of them (mapping.py), and the
constants of the methods (constants.py). file.py reads and writes all of it as YAML.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from longsynth.schema.columns import HOURS, LABELS, CodeList, Labels, PatientColumn, Time
from longsynth.schema.conditions import NotUnderstood, constraint
from longsynth.schema.constants import Constants, ResolvedConstants
from longsynth.schema.constraints import Knot, knots, require_solution
from longsynth.schema.mapping import Dataset
from longsynth.schema.outcomes import Group, Outcome, expanded, groups_of, outcomes_of
from longsynth.schema.record import Layout, layout_of
from longsynth.schema.variable import Aggregate, Level, Variable
from longsynth.system.text import MEANING, Meaning, Title, VariableName
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


class Visits(FrozenModel):
    """A public plan of visits. Slot k is the k-th planned visit, whether or not it took place."""

    planned: tuple[float, ...] = Field(min_length=1, max_length=2000)  # times since time zero
    unit: Literal["hours", "days", "weeks", "months", "years"]
    window: float = Field(gt=0)  # how far a visit may be from its planned time

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.planned[0] < 0 or any(b <= a for a, b in pairwise(self.planned)):
            raise InvalidField("planned times rise, from zero or later", "planned")
        if any(b - a <= 2 * self.window for a, b in pairwise(self.planned)):
            message = "windows of two visits must not touch: less than half of the time between"
            raise InvalidField(message, "window")
        return self

    @property
    def hours(self) -> NDArray[np.float64]:
        return np.array(self.planned) * HOURS[self.unit]

    @property
    def window_hours(self) -> float:
        return self.window * HOURS[self.unit]


MOST_CODES = 500  # of all lists together
MOST_STRATA = 4096  # sites × levels of the group × levels of the event
LABEL_ORDER = ("site", "group", "event")  # of the columns of `Schema.strata`
PAIRS = ((0, 1), (0, 2), (1, 2))  # of these columns


class Schema(FrozenModel):
    longsynth: Literal[1]  # version of this file's format
    name: Title
    slots: int = Field(ge=1, le=2000)  # T
    max_gap: float = Field(gt=0, le=1e9)  # Δ_max in hours
    length: Literal["variable", "full"] = "variable"  # full: every patient uses all slots
    slot_rule: SlotRule = SlotRule()
    visits: Visits | None = None  # None: visits follow no plan
    patient: PatientColumn = PatientColumn()
    time: Time = Time()
    group: Labels | None = Labels(column="group", levels=("0", "1"))
    event: Labels | None = Labels(column="event", levels=("0", "1"))
    site: Labels | None = None
    protected: tuple[dict[str, Level], ...] | None = None  # combinations that sampling keeps
    variables: tuple[Variable, ...] = Field(min_length=1)
    codes: tuple[CodeList, ...] = ()
    constraints: tuple[Meaning, ...] = ()  # that no synthetic patient violates
    constants: Constants = Constants()
    source: Dataset = Dataset()  # how an import reads the source as a whole

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Outcomes and groups become labels and static variables. A label with a source needs no
        column: an import writes it under its own name."""
        if not isinstance(given, dict):
            return given
        given = expanded(given)
        sourced = {
            what: {"column": what} | given[what]
            for what in LABELS
            if isinstance(given.get(what), dict) and "source" in given[what]
        }
        return given | sourced

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [v.name.casefold() for v in self.variables]
        names += [listed.name.casefold() for listed in self.codes]
        for i, name in enumerate(names):
            if name in names[:i]:
                problem, after = (
                    "two variables have this name, capitals aside",
                    i - len(self.variables),
                )
                place = ("codes", after) if after >= 0 else ("variables", i)
                raise InvalidField(problem, *place, "name")
        if len(self.code_names) > MOST_CODES:
            problem = f"all lists together have {len(self.code_names):,} codes, and {MOST_CODES:,} "
            raise InvalidField(problem + "are the most; leave rare ones out", "codes")
        if all(v.static for v in self.variables):
            raise InvalidField("at least one variable must be measured over time", "variables")
        over_time = {v.name for v in self.variables if not v.static}
        for i, name in enumerate(self.slot_rule.anchors):
            if name not in over_time:
                raise InvalidField(f"{name!r} is no variable over time", "slot_rule", "anchors", i)
        for what in LABELS:
            label = getattr(self, what)
            if what != "site" and label and len(label.levels) < 2:
                raise InvalidField("give at least two levels, the reference first", what, "levels")
            if label and len(label.coded_meaning) > MEANING and what != "site":
                message = f"longer than {MEANING} characters together with its levels; shorten it"
                raise InvalidField(message, what, "meaning")
        self._consistent_visits()
        self._consistent_roles()
        self._consistent_constraints()
        if len(self.strata) > MOST_STRATA:
            raise InvalidField(
                f"sites, levels of the group and levels of the event give {len(self.strata):,} "
                f"combinations, and {MOST_STRATA:,} are the most; make one of them coarser"
            )
        if self.constants.encoding == "reference":
            for i, v in enumerate(self.variables):
                if v.kind == "continuous" and (v.centre is None or v.scale is None):
                    raise InvalidField(
                        "encoding: reference needs its centre and scale", "variables", i
                    )
                if 1e9 * (v.scale or 1) < abs(v.centre or 0):
                    raise InvalidField("too small beside its centre", "variables", i, "scale")
        return self

    def _consistent_roles(self) -> None:
        names = {v.name for v in self.variables if v.static and v.kind in ("binary", "nominal")}
        for i, v in enumerate(self.variables):
            if v.status and v.status not in names and (v.status != "event" or not self.event):
                message = f"{v.status!r} is neither the event nor a static variable with levels"
                raise InvalidField(message, "variables", i, "status")
        for i, rule in enumerate(self.protected or ()):
            if not rule:
                raise InvalidField("name at least one level", "protected", i)
            for what, level in rule.items():
                if what not in self.conditions:
                    known = ", ".join(self.conditions)
                    raise InvalidField(f"is none of {known}", "protected", i, what)
                if level not in self.conditions[what]:
                    known = ", ".join(self.conditions[what])
                    raise InvalidField(f"{level!r} is none of {known}", "protected", i, what)

    def _consistent_visits(self) -> None:
        if self.visits is None:
            return
        if len(self.visits.planned) != self.slots:
            message = f"{len(self.visits.planned)} planned visits are not {self.slots} slots"
            raise InvalidField(f"{message}; give a time for each", "visits", "planned")
        if self.slot_rule.anchors or self.slot_rule.merge:
            message = "a plan decides which rows belong together; leave anchors and merge out"
            raise InvalidField(message, "slot_rule")
        if self.time.first == "zero" and self.visits.planned[0] != 0:
            raise InvalidField("records start with the first visit, at time 0", "visits", "planned")

    def _consistent_constraints(self) -> None:
        for i, text in enumerate(self.rules):
            place = ("constraints", i) if i < len(self.constraints) else ()  # or those of bands
            try:
                constraint(text, self)
            except NotUnderstood as error:
                raise InvalidField(str(error), *place) from None
        try:
            require_solution(self.knots, self)
        except NotUnderstood as error:
            raise InvalidField(str(error), "constraints") from None

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

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What the study is about, the primary outcome first."""
        return outcomes_of(self.event, self.variables)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Whom the results must serve."""
        return groups_of(self.group, self.variables)

    @property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """Everything about a patient that has levels, by its name. A label has two names: its
        key in the schema and what people call it."""
        labels = {what: getattr(self, what) for what in LABEL_ORDER}
        named = {what: self.levels(what) for what in labels if labels[what] or what == "site"}
        named |= {label.name: label.levels for label in labels.values() if label and label.name}
        return named | {
            v.name: v.levels or ("0", "1")
            for v in self.variables
            if v.static and (v.levels is not None or v.kind == "binary")
        }

    def __repr__(self) -> str:
        return f"Schema({self.name!r}: {len(self.variables)} variables in {self.slots} slots)"

    __str__ = __repr__

    def numbers_of(self, entry: Labels | Variable) -> Variable | None:
        """The static variable whose numbers the bands of a group divide; None if there is none."""
        if not entry.bands:
            return None
        known = (v for v in self.variables if v.static and v.levels is None)
        return next((v for v in known if (v.column or v.name) == entry.column), None)

    @property
    def rules(self) -> tuple[str, ...]:
        """All constraints: those that are listed, and those of bands, which are a public function
        of a number. The number follows a label, which is sampled first; another group follows the
        number."""
        texts = []
        labels = [(e.name or what, e) for what in LABELS if (e := getattr(self, what))]
        for name, entry in (*labels, *((v.name, v) for v in self.variables)):
            if not (numeric := self.numbers_of(entry)) or not entry.levels:
                continue
            for i, cut in enumerate(entry.bands):
                for level, sign, other in zip(
                    entry.levels[i : i + 2], ("<", ">="), (">=", "<"), strict=True
                ):
                    if isinstance(entry, Labels):
                        texts.append(f"{numeric.name} {sign} {cut:.15g} if {name} = {level}")
                    else:
                        texts.append(f"{name} != {level} if {numeric.name} {other} {cut:.15g}")
        return (*self.constraints, *(text for text in texts if text not in self.constraints))

    @property
    def knots(self) -> tuple[Knot, ...]:
        """What constraints move together, in the order in which it is settled."""
        return knots([constraint(text, self) for text in self.rules], self)

    @property
    def constrained(self) -> frozenset[str]:
        """The labels and variables that constraints name."""
        return frozenset(n for knot in self.knots for c in knot.constraints for n in c.names)

    def key(self, name: str) -> str:
        """The key in the schema of a label that may be given by the name people use."""
        keys = {label.name: what for what in LABEL_ORDER if (label := getattr(self, what))}
        return keys.get(name, name)

    def levels(self, what: str) -> tuple[str, ...]:
        """The levels of the site, the group or the event; a single one where there is none."""
        label: Labels | None = getattr(self, what)
        return label.levels if label else ("all",)

    @property
    def code_names(self) -> tuple[str, ...]:
        """All codes, list by list."""
        return tuple(code for listed in self.codes for code in listed.levels)

    @property
    def steps(self) -> tuple[float, ...]:
        """The step of each variable's values in slots: its resolution, or 0 where there is none. A
        mean of several readings is finer than each of them, so it has none."""
        rule = self.slot_rule
        several = bool(rule.merge or rule.anchors or self.visits)
        return tuple(
            0.0
            if several and not v.static and (v.aggregate or rule.aggregate) == "mean"
            else v.resolution or 0.0
            for v in self.variables
        )

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
        return np.indices(self.label_sizes).reshape(len(LABEL_ORDER), -1).T.astype(np.int64)

    @property
    def counted_in_pairs(self) -> bool:
        """Whether patients are counted by pairs of labels instead of by stratum: a table of all
        three would have more cells than patients, each with its own noise."""
        return max(self.label_sizes[1:]) > 2 and min(self.label_sizes) > 1

    @property
    def label_sizes(self) -> tuple[int, int, int]:
        """Levels of the site, of the group and of the event: C, G and E."""
        return len(self.sites), len(self.levels("group")), len(self.levels("event"))

    @property
    def protected_strata(self) -> NDArray[np.bool_]:
        """(S,): which strata the floor of eq:fair lifts; by default those in which neither the
        group nor the event is at its first level."""
        if self.protected is None:
            return np.asarray((self.strata[:, 1] > 0) & (self.strata[:, 2] > 0))
        protected = np.zeros(len(self.strata), bool)
        for rule in self.protected:
            if all(self.key(what) in LABEL_ORDER for what in rule):  # others: sampling/where.py
                protected |= self.matching(rule)
        return protected

    def matching(self, wanted: Mapping[str, str]) -> NDArray[np.bool_]:
        """(S,): which strata have all these levels."""
        matching, keyed = np.ones(len(self.strata), bool), {self.key(n): n for n in wanted}
        for column, what in zip(self.strata.T, LABEL_ORDER, strict=True):
            if what in keyed:
                matching &= column == self.levels(what).index(wanted[keyed[what]])
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
                {
                    name: str(self.levels(what).index(level))
                    if (what := self.key(name)) in ("group", "event")
                    else level
                    for name, level in rule.items()
                }
                for rule in protected
            )
        cleared = {"column": "", "otherwise": "", "bands": (), "source": None}
        return self.in_own_columns().model_copy(
            update={
                "slot_rule": SlotRule(),
                "group": self.group and self.group.numbered("group"),
                "event": self.event and self.event.numbered("event"),
                "site": Labels(
                    column="site",
                    levels=self.sites,
                    meaning=self.site.meaning if self.site else "",
                ),
                "protected": protected,
                "constraints": tuple(
                    constraint(text, self).relabelled(self._canonical_level) for text in self.rules
                ),
                "variables": tuple(
                    v.model_copy(update=cleared | {"aggregate": None}) for v in self.variables
                ),
            }
        )

    def _own(self, entry: Labels | Variable, column: str) -> str:
        """The column that longsynth writes; bands stay with their numbers."""
        return numbers.name if (numbers := self.numbers_of(entry)) else column

    def _canonical_level(self, what: str, level: float) -> str:
        return self.levels(what)[int(level)] if what == "site" else str(int(level))

    def in_own_columns(self, unit: str = "hours") -> "Schema":
        """The same schema with the column names that longsynth itself writes, and no mapping."""
        labels = {
            what: label.model_copy(update={"source": None, "column": self._own(label, what)})
            for what in LABELS
            if (label := getattr(self, what)) is not None
        }
        cleared = {"source": None, "otherwise": ""}
        variables = (
            v.model_copy(update=cleared | {"column": self._own(v, "")}) for v in self.variables
        )
        unmapped = {"source": None, "column": ""}
        return self.model_copy(
            update={
                "patient": PatientColumn(),
                "codes": tuple(listed.model_copy(update=unmapped) for listed in self.codes),
                "time": Time.model_validate({"unit": unit, "first": self.time.first}),
                "variables": tuple(variables),
                "source": Dataset(),
                **labels,
            }
        )


def code_offsets(schema: Schema) -> NDArray[np.int64]:
    """(lists + 1,): where each list begins among all codes, and their number."""
    return np.cumsum([0, *(len(listed.levels) for listed in schema.codes)])


def stratum_of(labels: Sequence[NDArray[np.int64]], schema: Schema) -> NDArray[np.int64]:
    """Return each patient's row in `Schema.strata`, from site, group and event. A label out of
    range counts as the first level."""
    place = np.zeros_like(labels[0])
    for label, levels in zip(labels, schema.label_sizes, strict=True):
        place = place * levels + np.where((label >= 0) & (label < levels), label, 0)
    return place


def condition_matrix(schema: Schema) -> NDArray[np.int64]:
    """Return the condition vector c of every stratum (eq:condition), (S, p): constant, group,
    event, site, group × event, and event × last site.

    A label with k levels has k - 1 dummies, so in the paper's case G and Y have one each. With a
    single site there are no site terms. c takes finitely many values, so its norm is public and
    nothing has to be clipped.
    """
    site, group, event = schema.strata.T
    sites, groups, events = (
        [label == level for level in range(1, label.max() + 1)] for label in (site, group, event)
    )
    interactions = [g & y for g in groups for y in events]
    interactions += [y & sites[-1] for y in events if sites]
    columns = [np.ones_like(group), *groups, *events, *sites, *interactions]
    return np.stack(columns, axis=1).astype(np.int64)


def largest_norm_squared(conditions: NDArray[np.int64]) -> int:  # L_c²
    return int((conditions**2).sum(axis=1).max())


def counted_tables(schema: Schema) -> NDArray[np.int8]:
    """(S, cells): the released cells in which a patient of each stratum is counted.

    With two levels of the group and of the event, as in the paper, each stratum is a cell. With
    more, one patient is counted in three tables: site by group, site by event, group by event. All
    tables have the same number of cells; those that a smaller table lacks stay empty.
    """
    strata, sizes = schema.strata, schema.label_sizes
    if not schema.counted_in_pairs:
        return np.eye(len(strata), dtype=np.int8)
    widest = max(sizes[a] * sizes[b] for a, b in PAIRS)
    counted = np.zeros((len(strata), len(PAIRS), widest), np.int8)
    for table, (a, b) in enumerate(PAIRS):
        counted[np.arange(len(strata)), table, strata[:, a] * sizes[b] + strata[:, b]] = 1
    return counted.reshape(len(strata), -1)
