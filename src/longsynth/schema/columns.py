"""Where a cohort's tables keep what a record is made of: the id, the time and the labels.

The column of a variable is part of the variable, see `Variable.column`.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from longsynth.schema.mapping import Source
from longsynth.schema.variable import Level
from longsynth.system.text import ColumnName, Meaning
from longsynth.system.yaml_text import FrozenModel, InvalidField

LABELS = ("group", "event", "site")  # the labels of a patient, by their keys in the schema
TIME_UNITS = {"seconds": 1 / 3600, "minutes": 1 / 60, "hours": 1.0, "days": 24.0}  # in hours


class PatientColumn(FrozenModel):
    column: ColumnName = "patient_id"


class Time(FrozenModel):
    column: ColumnName = "time"
    unit: Literal["seconds", "minutes", "hours", "days", "timestamp"] = "hours"
    first: Literal["any", "zero"] = "any"  # zero: every patient's first row is at time 0


class Labels(FrozenModel):
    """A column of the patient table with its public levels. Any other cell counts as the first
    level."""

    column: ColumnName
    levels: tuple[Level, ...] = Field(min_length=1, max_length=500)
    meaning: Meaning = ""
    source: Source | None = None  # where `longsynth import` finds it

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise InvalidField("levels must differ from each other", "levels")
        return self

    @property
    def coded_meaning(self) -> str:
        """The meaning of two labels that are written as 0 and 1."""
        first, second = self.levels
        named = "" if self.levels == ("0", "1") else f"0 is {first}, 1 is {second}"
        return "; ".join(filter(None, (self.meaning, named)))

    def numbered(self, column: str) -> "Labels":
        """The same two labels, written as 0 and 1 in this column."""
        return Labels(column=column, levels=("0", "1"), meaning=self.coded_meaning)
