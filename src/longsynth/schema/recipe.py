"""Recipe: how a hospital's own export becomes a cohort. A person reads and corrects it once; the
next export of the same form needs no more.

`record` says what the cohort will hold: a schema, with public bounds that nobody takes from the
data. `tables` says where the export holds it, file by file and column by column.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from longsynth.schema.columns import Labels
from longsynth.schema.from_names import marked_lines
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, SchemaError
from longsynth.system.text import COLUMN, ColumnName, LevelText, Title, Unit, VariableName
from longsynth.system.yaml_text import Format, FrozenModel, InvalidField

Use = Literal[
    "id",  # the patient
    "time",  # of the row
    "start",  # of the record: admission, inclusion; without it a patient's first measured row
    "variable",  # a measurement over time
    "static",  # a fact about the patient
    "birth_date",  # from which the age at the start follows
    "group",
    "outcome",
    "site",
    "unit",  # of the value beside it, in a long table or by `unit_column`
    "name",  # of what was measured, in a long table
    "value",  # of it
    "ignore",
]
LABEL_OF = {"group": "group", "outcome": "event", "site": "site"}  # a use: the record's name
YEAR = 365.2425 * 24  # hours
EXCEL_DAYS = "excel"  # a date as Excel counts days: 45397.5 is noon of 15 April 2024
TYPED_DATE = "%Y-%m-%d %H:%M:%S"  # how dates of a workbook or a Parquet file are read
EXCEL_1970 = 25569  # the first of January 1970
PER_PATIENT = ("static", "birth_date", "group", "outcome", "site")


def _one_character(text: str) -> str:
    if len(text) != 1 or text in "\"'\r\n" or text.isalnum():
        raise ValueError("a separator is one character such as , ; | or a tab")
    return text


def whole_week(date_format: str) -> tuple[str, str]:
    """Return a date format that names a day, and what to add to a cell: 2024-W15 is its Monday."""
    monday = "%V" in date_format and "%u" not in date_format
    return (f"{date_format}-%u", "-1") if monday else (date_format, "")


def _is_date_format(text: str) -> bool:
    form, some = whole_week(text)[0], datetime(2024, 4, 15, 12)
    try:
        return datetime.strptime(some.strftime(form), form).date() == some.date()
    except (ValueError, re.error):
        return False


class UnitRule(FrozenModel):
    """Numbers beyond a limit can only be in another unit: a temperature above 45 is in °F."""

    above: float | None = None
    below: float | None = None
    unit: Unit

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise InvalidField("give either above or below")
        return self


class Cells(FrozenModel):
    """What stands in a column, or under a name of a long table, and how it is read."""

    variable: VariableName = ""  # of the record; a static variable's or measurement's own name
    split: str = Field(default="", max_length=3)  # between several numbers, as in 147/94
    into: tuple[VariableName, ...] = ()  # the variables that they are
    unit: Unit = ""  # of the export; without it the record's
    unit_column: ColumnName = ""
    rules: tuple[UnitRule, ...] = ()
    decimals: int | None = Field(default=None, ge=0, le=15)  # a synthetic export has no more
    censored: Literal["limit", "half", "missing"] = "limit"  # what "<5" becomes: 5, 2.5, nothing
    levels: dict[str, LevelText] = Field(
        default_factory=dict
    )  # what the export writes: the level of the record

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.split) != (len(self.into) > 1):
            raise InvalidField("split needs into: [first, second], and into needs split", "split")
        if self.split and self.variable:
            raise InvalidField("into names the variables; remove this", "variable")
        if self.unit and self.unit_column:
            raise InvalidField("give one unit, or the column that holds it", "unit_column")
        return self

    @property
    def variables(self) -> tuple[str, ...]:
        return self.into or ((self.variable,) if self.variable else ())


class ExportColumn(Cells):
    use: Use
    format: Annotated[str, Field(max_length=100)] = ""  # of a date, as strptime has it, or excel
    time_unit: Literal["", "seconds", "minutes", "hours", "days"] = ""  # of a time that is a number

    @model_validator(mode="after")
    def _fits_its_use(self) -> Self:
        named = self.use in ("variable", "static", "birth_date")
        if named != bool(self.variables):
            needed = "name the variable of the record" if named else "nothing has a variable here"
            raise InvalidField(f"use: {self.use}: {needed}", "variable")
        if self.use in ("time", "start") and bool(self.format) == bool(self.time_unit):
            raise InvalidField("a time has either a format or a time_unit", "format")
        if self.format and self.format != EXCEL_DAYS and not _is_date_format(self.format):
            raise InvalidField("write a date format such as '%d.%m.%Y %H:%M'", "format")
        if self.use == "birth_date" and not self.format:
            raise InvalidField("a date of birth needs its format, such as '%d.%m.%Y'", "format")
        return self


class ExportTable(FrozenModel):
    """One file of the export, or several of the same form."""

    files: Annotated[
        str, Field(min_length=1, max_length=COLUMN)
    ]  # a name or a pattern: visits*.csv
    form: Literal["csv", "excel", "parquet"] = "csv"
    encoding: Annotated[str, Field(max_length=40)] = "utf-8"
    separator: Annotated[str, AfterValidator(_one_character)] = ","
    header: int = Field(default=1, ge=1, le=1000)  # the line that names the columns
    sheet: Annotated[str, Field(max_length=COLUMN)] = ""  # of a workbook; without it the first
    decimal: Literal[".", ","] = "."
    thousands: Literal["", ".", ",", " ", "'"] = ""
    duplicates: Literal["drop", "keep"] = "drop"  # rows that are the same in every column
    columns: dict[str, ExportColumn] = Field(min_length=1, max_length=5000)
    names: dict[str, Cells] = Field(
        default_factory=dict
    )  # a long table: by the text in the column with use: name

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.thousands == self.decimal:
            raise InvalidField("must differ from the decimal mark", "thousands")
        for use in ("id", "time", "start", "name", "value", "unit"):
            same = self.used(use)
            if len(same) > 1 and not (use == "unit" and not self.is_long):
                raise InvalidField(f"two columns have use: {use}; keep one", "columns", same[1])
        if not self.used("id"):
            raise InvalidField("one column must have use: id", "columns")
        if self.is_long != bool(self.used("value")) or self.is_long != bool(self.names):
            raise InvalidField("a long table needs use: name, use: value and `names`", "columns")
        measured = self.is_long or self.used("variable")
        if measured and not self.used("time"):
            raise InvalidField("measurements need a column with use: time", "columns")
        for name, column in self.columns.items():
            if column.unit_column and column.unit_column not in self.columns:
                raise InvalidField("there is no such column", "columns", name, "unit_column")
        return self

    @property
    def is_long(self) -> bool:
        return bool(self.used("name"))

    def used(self, *uses: str) -> list[str]:
        return [name for name, column in self.columns.items() if column.use in uses]


class Recipe(FrozenModel):
    longsynth_recipe: Literal[1]  # version of this file's format
    record: Schema
    missing: tuple[str, ...] = ()  # words for nothing, beside empty cells
    tables: tuple[ExportTable, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="before")
    @classmethod
    def _version(cls, given: Any) -> Any:
        """A recipe has one version; its record need not repeat the schema's."""
        if isinstance(given, dict) and isinstance(given.get("record"), dict):
            return given | {"record": {"longsynth": 1} | given["record"]}
        return given

    @model_validator(mode="after")
    def _complete(self) -> Self:
        record = self.record
        if record.codes:
            raise InvalidField("a recipe cannot fill codes; use `import events`", "record", "codes")
        over_time = {v.name for v in record.variables if not v.static}
        static = {v.name for v in record.variables if v.static}
        filled: set[str] = set()
        for t, table in enumerate(self.tables):
            for name, column in table.columns.items():
                self._check(
                    column,
                    static if column.use in PER_PATIENT else over_time,
                    filled,
                    ("tables", t, "columns", name),
                )
                filled.add(column.use)
            for name, cells in table.names.items():
                if not cells.variables:
                    raise InvalidField("name the variable", "tables", t, "names", name, "variable")
                self._check(cells, over_time, filled, ("tables", t, "names", name))
        lacking = [
            v.name for v in record.variables if v.name not in filled and not record.numbers_of(v)
        ]
        if lacking:
            raise InvalidField(f"no column holds {lacking[0]!r}", "tables")
        for use, what in (("group", "group"), ("outcome", "event")):
            label: Labels | None = getattr(record, what)
            if label and label.bands:
                if use in filled or not record.numbers_of(label):
                    message = (
                        "bands follow from a static variable with the numbers; name it instead"
                    )
                    raise InvalidField(message, "record", what)
            elif label and use not in filled and what in record.model_fields_set:
                raise InvalidField(f"no column has use: {use}, but the record has {what}", "tables")
        if ("site" in filled) != (record.site is not None):
            raise InvalidField(
                "a column with use: site and `site` in the record go together", "tables"
            )
        return self

    def _check(
        self, cells: Cells, known: set[str], filled: set[str], place: tuple[str | int, ...]
    ) -> None:
        for variable in cells.variables:
            if variable not in known:
                raise InvalidField(f"{variable!r} is no such variable of the record", *place)
        filled |= set(cells.variables)

    @property
    def title(self) -> Title:
        return self.record.name

    @property
    def has_dates(self) -> bool:
        return any(column.format for table in self.tables for column in table.columns.values())

    @property
    def schema_of_cohort(self) -> Schema:
        """The record, and what an import by this recipe makes true: without a start of its own, a
        record starts with its first row."""
        from_first_row = not any(table.used("start") for table in self.tables)
        if not from_first_row or self.record.slot_rule.anchors:
            return self.record
        time = self.record.time.model_copy(update={"first": "zero"})
        return self.record.model_copy(update={"time": time})


_FORMAT = Format(
    Recipe,
    "recipe",
    "longsynth_recipe: 1",
    "longsynth recipe new",
    SchemaError,
    Code.RECIPE_INVALID,
)


def load_recipe(path: Path) -> tuple[Recipe, str]:
    """Return a recipe that is ready for use, and its text. Open marks are refused."""
    text = _FORMAT.decode(_FORMAT.read(path), str(path))
    return parse_recipe(text, str(path)), text


def parse_recipe(text: str, where: str) -> Recipe:
    if marked := marked_lines(text):
        first = next(i for i, line in enumerate(text.splitlines(), 1) if marked_lines(line))
        raise SchemaError(
            Code.MARKS_OPEN,
            f"{where} has {marked} lines that are marked CHECK or FILL IN. The first is line "
            f"{first}.",
            "Decide each of them, and remove its mark.",
        )
    return _FORMAT.parse(text, where)
