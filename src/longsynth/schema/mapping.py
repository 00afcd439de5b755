"""Where an import finds what a schema names: codes, concepts, columns and units, all of it public.

None of this reaches a cohort folder or a release. A format uses the keys that it knows, so one
schema can describe the same patients in several formats.
"""

import re
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from longsynth.system.text import COLUMN, CodeText, ColumnName, LevelText, Unit
from longsynth.system.yaml_text import FrozenModel

EventTable = Literal[
    "measurement",
    "observation",
    "condition_occurrence",
    "drug_exposure",
    "procedure_occurrence",
]
Resource = Literal[
    "Observation",
    "Condition",
    "MedicationRequest",
    "MedicationAdministration",
    "Procedure",
    "Encounter",
]
GROUPS = {"value", "unit"}  # names of groups that a pattern may have


def _text(value: object) -> object:
    """A code may look like a number; it is compared as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _conversion(value: object) -> object:
    """A bare number is a factor."""
    pair = tuple(value) if isinstance(value, list | tuple) else (value, 0.0)
    if len(pair) != 2 or any(type(x) not in (int, float) for x in pair):
        raise ValueError("give a factor, or [factor, offset]; both are numbers")
    return pair


EventCode = Annotated[CodeText, BeforeValidator(_text)]
Level = Annotated[LevelText, BeforeValidator(_text)]
Conversion = Annotated[tuple[float, float], BeforeValidator(_conversion)]  # x·factor + offset


class Codes(FrozenModel):
    """Codes of events, word for word or by a pattern that a whole code must match."""

    codes: tuple[EventCode, ...] = ()
    pattern: CodeText = ""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            groups = set(re.compile(pattern).groupindex)
        except (re.error, OverflowError) as error:
            raise ValueError(f"not a regular expression: {error}") from None
        if groups - GROUPS:
            raise ValueError("its groups may be named 'value' and 'unit' only")
        return pattern

    @property
    def named(self) -> bool:
        return bool(self.codes or self.pattern)

    def groups(self) -> set[str]:
        return set(re.compile(self.pattern).groupindex)


class Source(Codes):
    """Where a variable or a label comes from."""

    concepts: tuple[int, ...] = ()  # OMOP: standard or source concepts
    table: EventTable = "measurement"  # OMOP: of these concepts
    resource: Resource = "Observation"  # FHIR: of these codes
    # OMOP: person.gender_concept_id; FHIR: Patient.gender
    column: str = Field(default="", pattern=r"^$|^\w+\.\w+$", max_length=COLUMN)
    fact: Literal["age", "death", "occurs"] | None = None
    within: float | None = Field(default=None, gt=0)  # hours since the start of the record
    units: dict[Unit, Conversion] = Field(
        default={}
    )  # from the data's unit, or "", to the schema's
    convert: bool = False  # every other unit that UCUM can convert too
    censored: Literal["limit", "half", "missing"] = "limit"  # what "<5" becomes: 5, 2.5, nothing
    values: dict[CodeText, Level] = Field(default={})  # from text or number in the data

    @field_validator("units")
    @classmethod
    def _applicable(cls, units: dict[str, Any]) -> dict[str, Any]:
        for factor, _ in units.values():
            if factor == 0 or not isfinite(1 / factor):
                raise ValueError("a factor of zero turns every value into one; give another")
        return units


class End(Codes):
    """What closes a record; without it, the visit or encounter that opened the record does."""

    column: ColumnName = ""  # of the patient table; OMOP: of a table, as in death.death_date
    concepts: tuple[int, ...] = ()  # OMOP
    table: EventTable = "measurement"  # OMOP: of these concepts
    resource: Resource = "Encounter"  # FHIR: of these codes
    hours: float | None = Field(default=None, gt=0)  # since the start, at the latest


class Moment(Codes):
    """What opens a record: the first such event, visit or encounter, or a column."""

    column: ColumnName = ""  # as of End
    concepts: tuple[int, ...] = ()  # OMOP: of an index event
    table: EventTable = "measurement"  # OMOP: of these concepts
    resource: Resource = "Encounter"  # FHIR: of these codes
    visits: tuple[int, ...] = ()  # OMOP: concepts of visits; none: any visit
    min_hours: float = Field(default=0.0, ge=0)  # a shorter visit or encounter does not count
    part_of: bool | None = None  # FHIR: whether the encounter must be part of another, or must not


class Dataset(FrozenModel):
    """How the source as a whole is laid out."""

    start: Moment = Moment()
    end: End = End()
    variable: ColumnName = "variable"  # columns of a long table
    value: ColumnName = "value"
    unit: ColumnName = ""  # of a long table, or an extra column of MEDS data
