"""What clinical formats need to know of a schema: who is male, how old, who died, and a calendar.

Everything here follows from the public schema and the synthetic patients. Dates are invented: every
record starts at midnight of one public day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np

from longsynth.schema.catalogue import Known, folded, known
from longsynth.schema.column_words import words
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only
from longsynth.system.errors import Code, Refused
from longsynth.writing.cohort import long_rows, named_levels, text_of_levels

DAY_ZERO = "2000-01-01"  # if nobody chooses another
FIRST_YEAR, LAST_YEAR = 1900, 2200
BORN_UNKNOWN = 1900  # a year of birth that nobody takes for a real one
SECONDS_APART = 2  # between two slots: readers count in seconds
DEATH = ("death", "died", "dead", "deceas", "mortal", "verstorb", "gestorben", "deces", "decedut")
MALE, FEMALE = 1, 2


def start_of(text: str) -> date:
    """The public day on which all records start."""
    try:
        start = date.fromisoformat(text or DAY_ZERO)
    except ValueError:
        start = date.min
    if not FIRST_YEAR <= start.year <= LAST_YEAR:
        raise Refused(
            Code.OPTION_UNUSABLE,
            "the start date is not a day between 1900 and 2200.",
            "Write it as 2024-01-01.",
        )
    return start


@dataclass(frozen=True, slots=True)
class LongEvents:
    """What was observed of a variable or given of a list of codes, one entry per value. Static
    values are at the start."""

    name: str
    unit: str
    measured: bool  # a number that changes over time
    known: Known | None  # in the catalogue
    patient: Ints  # position in the chunk
    second: Ints  # since the start
    value: Floats  # NaN where there is a level
    level: list[str] | None

    __repr__ = sizes_only


@dataclass(frozen=True, slots=True)
class Clinical:
    """A schema as clinical formats see it."""

    schema: Schema
    start: date

    def sex(self, chunk: Trajectories) -> Ints:
        """(n,): MALE, FEMALE, or 0 where nothing says so."""
        for levels, codes in self._levelled(chunk):
            if (pair := _sexes(levels)) is not None:
                return np.asarray(pair)[codes]
        return np.zeros(chunk.patients, np.int64)

    @property
    def group_sexes(self) -> tuple[int, ...] | None:
        """The sex of each level of the group, if each of them is one."""
        sexes = _sexes(self.schema.group.levels) if self.schema.group else None
        return sexes if sexes and all(sexes) else None

    def _levelled(self, chunk: Trajectories) -> Iterator[tuple[tuple[str, ...], Ints]]:
        if self.schema.group:
            yield self.schema.group.levels, chunk.group
        for v, variable in enumerate(self.schema.variables):
            if variable.static and (variable.levels or variable.kind == "binary"):
                levels = variable.levels or ("male", "female")
                if variable.levels or folded(variable.name) in ("female", "isfemale"):
                    yield levels, np.nan_to_num(chunk.values[:, 0, v]).astype(np.int64)

    @property
    def age(self) -> int | None:
        """The place of the variable that is the age in years."""
        for v, variable in enumerate(self.schema.variables):
            match = known(variable.name)
            if variable.static and match and match.variable.name == "age":
                return v
        return None

    def birth(self, chunk: Trajectories) -> Ints:
        """(n,): days since 1970. Without an age in the schema, the first day of an odd year."""
        first = np.datetime64(self.start, "D").astype(np.int64)
        unknown = np.datetime64(f"{BORN_UNKNOWN}-01-01", "D").astype(np.int64)
        if self.age is None:
            return np.full(chunk.patients, unknown)
        years = chunk.values[:, 0, self.age]
        there = chunk.observed[:, 0, self.age] & np.isfinite(years)
        days = np.floor(np.clip(np.where(there, years, 0), 0, 150) * 365.2425 + 0.5) + 1
        return np.where(there, first - days.astype(np.int64), unknown)

    @property
    def deadly(self) -> bool:
        """Whether the event is the patient's death, judged by the public words for it."""
        event = self.schema.event
        if event is None or len(event.levels) != 2:
            return False
        said = folded(f"{event.name} {event.meaning} {event.column} {event.levels[1]}")
        return any(word in said for word in DEATH)

    def last_second(self, chunk: Trajectories) -> Ints:
        """(n,): of each record, since its start."""
        every = long_rows(chunk, self.schema, smallest=SECONDS_APART / 3600)
        last = np.zeros(chunk.patients, np.int64)
        np.maximum.at(last, every.patient, _seconds(every.time))
        return last

    def events(self, chunk: Trajectories) -> Iterator[LongEvents]:
        """Yield what was observed of each variable, and given of each list of codes."""
        every = long_rows(chunk, self.schema, smallest=SECONDS_APART / 3600)
        for v, (name, levels) in enumerate(named_levels(self.schema)):
            variable = self.schema.variables[v] if v < len(self.schema.variables) else None
            if variable and variable.static:
                who = np.flatnonzero(chunk.observed[:, 0, v])
                seconds, values = np.zeros(len(who), np.int64), chunk.values[who, 0, v]
            else:
                ours: Bools = every.variable == v
                who, values = every.patient[ours], every.value[ours]
                seconds = _seconds(every.time[ours])
            texts = list(map(str, text_of_levels(levels, values))) if levels else None
            measured = bool(variable and not variable.static and variable.kind == "continuous")
            unit = variable.unit if variable else ""
            yield LongEvents(name, unit, measured, known(name), who, seconds, values, texts)


def _seconds(hours: Floats) -> Ints:
    return np.rint(hours * 3600).astype(np.int64)


def _sexes(levels: tuple[str, ...]) -> tuple[int, ...] | None:
    """Which of these levels are male and female; None: they are no sexes."""
    given = [level.casefold() for level in levels]
    for male, female in words()["sex levels"]:
        if not male.isdigit() and {male.casefold(), female.casefold()} <= set(given):
            sexes = {male.casefold(): MALE, female.casefold(): FEMALE}
            return tuple(sexes.get(level, 0) for level in given)
    return None
