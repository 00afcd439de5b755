"""Where a cohort's tables keep what a record is made of: the id, the time, labels and codes.

The column of a variable is part of the variable, see `Variable.column`.
"""

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from longsynth.schema.mapping import Source
from longsynth.schema.variable import RESERVED, Bands, Level, check_bands
from longsynth.system.text import ColumnName, Meaning, VariableName
from longsynth.system.yaml_text import FrozenModel, InvalidField

LABELS = ("group", "event", "site")  # the labels of a patient, by their keys in the schema
TIME_UNITS = {"seconds": 1 / 3600, "minutes": 1 / 60, "hours": 1.0, "days": 24.0}  # in hours
HOURS = TIME_UNITS | {"weeks": 168.0, "months": 730.5, "years": 8766.0}  # in one unit of time


class PatientColumn(FrozenModel):
    column: ColumnName = "patient_id"


class Time(FrozenModel):
    column: ColumnName = "time"
    unit: Literal["seconds", "minutes", "hours", "days", "timestamp"] = "hours"
    first: Literal["any", "zero"] = "any"  # zero: every patient's first row is at time 0
    resolution: float | None = Field(default=None, gt=0, le=1e9)  # hours: what times are steps of
    gap_centre: float | None = Field(default=None, gt=0, le=1e9)  # hours from slot to slot, usually
    gap_scale: float | None = Field(default=None, gt=0, le=1e9)  # and how far gaps differ

    @model_validator(mode="after")
    def _usual_gap(self) -> Self:
        if (self.gap_centre is None) != (self.gap_scale is None):
            raise InvalidField("give gap_centre and gap_scale, or neither", "gap_centre")
        return self


class Labels(FrozenModel):
    """A column of the patient table with its public levels. Any other cell counts as the first
    level."""

    column: ColumnName
    levels: tuple[Level, ...] = Field(min_length=1, max_length=500)
    name: Meaning = ""  # what people call it, if not by its key in the schema
    meaning: Meaning = ""
    bands: Bands = ()  # cut points: the column holds numbers, and a level is a band of them
    source: Source | None = None  # where `longsynth import` finds it

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise InvalidField("levels must differ from each other", "levels")
        check_bands(self.bands, self.levels)
        return self

    @property
    def coded_meaning(self) -> str:
        """The meaning of levels that are written as 0, 1, …"""
        coded = tuple(map(str, range(len(self.levels))))
        named = ", ".join(f"{i} is {level}" for i, level in zip(coded, self.levels, strict=True))
        return "; ".join(filter(None, (self.meaning, "" if self.levels == coded else named)))

    def numbered(self, column: str) -> "Labels":
        """The same levels, written as 0, 1, … in this column."""
        coded = tuple(map(str, range(len(self.levels))))
        return Labels(column=column, levels=coded, name=self.name, meaning=self.coded_meaning)


class CodeList(FrozenModel):
    """Codes from a public list that a patient has or has not in each slot: medications, procedures,
    diagnoses. Each row of the table holds one code; a slot has all codes of its rows."""

    name: VariableName
    levels: tuple[Level, ...] = Field(min_length=2, max_length=500)
    cap: int = Field(ge=1)  # different codes of one patient that count; those given first
    meanings: dict[Level, Meaning] = Field(default={})
    column: ColumnName = ""  # the name in the files, if it is another
    source: Source | None = None  # where `longsynth import` finds it

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.name.casefold() in RESERVED:
            raise InvalidField(
                f"{self.name!r} is a column of the cohort format; use another", "name"
            )
        if len(set(self.levels)) < len(self.levels):
            raise InvalidField("levels must differ from each other", "levels")
        if self.name in self.levels:
            raise InvalidField("no code may have the name of the list", "levels")
        if self.cap > len(self.levels):
            raise InvalidField(f"the list has {len(self.levels)} codes, which is fewer", "cap")
        for code in self.meanings:
            if code not in self.levels:
                raise InvalidField("is not one of its levels", "meanings", code)
        return self


class TimeUnit(NamedTuple):
    name: str  # plural
    hours: float


UNITS = tuple(TimeUnit(name, HOURS[name]) for name in ("years", "months", "days", "hours"))
FEWEST = 4  # of a unit in a span: with fewer, most numbers would be fractions


def time_unit(*spans: float | None) -> TimeUnit:
    """The unit in which a reader is told times up to the shortest of these public spans in hours,
    such as a schema's `max_gap` and horizon; None is no limit."""
    span = min(s for s in spans if s is not None)
    return next((unit for unit in UNITS if span >= FEWEST * unit.hours), UNITS[-1])
