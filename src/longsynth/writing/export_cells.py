"""The cells of an export: what reading/formats/table.py reads, written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import ceil, log10

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from longsynth.schema.recipe import (
    EXCEL_1970,
    EXCEL_DAYS,
    LABEL_OF,
    PER_PATIENT,
    TYPED_DATE,
    YEAR,
    Cells,
    ExportColumn,
    ExportTable,
    Recipe,
)
from longsynth.schema.record import Trajectories
from longsynth.schema.units import Conversion, conversion
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only
from longsynth.system.errors import Code, Refused
from longsynth.writing.own import TIME_DECIMALS, stepped, times_in, used_slots

Texts = NDArray[np.object_]  # None: an empty cell
GOLDEN = 0.6180339887498949  # its multiples spread birthdays over the year
MOST_DECIMALS = 15
EXACT_DECIMALS = 6  # more, where another unit would move a value past a constraint
EXCEL_DECIMALS = 4  # of a day: 9 seconds
HOUR = 3_600_000_000  # microseconds
CALENDAR = np.datetime64("0001-01-02", "us"), np.datetime64("9999-12-31", "us")
_FINEST = {  # in hours
    EXCEL_DAYS: 1 / 60, "%f": 1e-6 / 3600, "%S": 1 / 3600, "%M": 1 / 60, "%H": 1.0, "%I": 1.0,
    "%d": 24.0, "%u": 24.0, "%V": 168.0,
}  # fmt: skip


def export_table(
    table: ExportTable,
    recipe: Recipe,
    chunk: Trajectories,
    numbers: Ints,
    start: date,
    exact: frozenset[str] = frozenset(),
) -> pa.Table:
    """Return the rows of one table, with its columns in the order of the recipe. Exact variables,
    which constraints name, keep all their decimals in any unit."""
    rows = _Rows.of(table, recipe, chunk, numbers, start, exact)
    return pa.table({name: rows.stored(name, how) for name, how in table.columns.items()})


def export_ids(numbers: Ints) -> list[str]:
    return [f"S{number:06d}" for number in numbers]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a table: a patient and a slot each and, in a long table, one of its names."""

    table: ExportTable
    recipe: Recipe
    chunk: Trajectories
    numbers: Ints  # of the patients
    start: np.datetime64
    patient: Ints  # (R,), position in the chunk
    slot: Ints  # (R,)
    name: Ints  # (R,), position in `names`; past its end: none
    exact: frozenset[str]  # variables

    __repr__ = sizes_only

    @classmethod
    def of(
        cls,
        table: ExportTable,
        recipe: Recipe,
        chunk: Trajectories,
        numbers: Ints,
        start: date,
        exact: frozenset[str],
    ) -> "_Rows":
        """One row per slot, per observation of a long table, or per patient. Every patient has a
        row in some table, so that nobody is lost; in a long table only if no other table has
        them, because such a row says nothing."""
        there = used_slots(chunk)[:, :, None]
        there[:, 0] |= not table.is_long
        if table.is_long:
            seen = [
                chunk.observed[:, :, _places(recipe, cells)].any(axis=2)
                for cells in table.names.values()
            ]
            there = there & np.stack([*seen, np.zeros_like(seen[0])], axis=2)
            if all(other.is_long for other in recipe.tables):
                there[:, 0, -1] = ~there.any(axis=(1, 2))
        elif not table.used("time"):
            there[:, 1:] = False
        patient, slot, name = np.nonzero(there)
        begin = np.datetime64(start, "us")
        return cls(table, recipe, chunk, numbers, begin, patient, slot, name, exact)

    def stored(self, name: str, how: ExportColumn) -> pa.Array:
        """A column as text or, in files that have types and where all cells are numbers or
        dates, as these."""
        texts, decimal = self._column(name, how), self.table.decimal
        if self.table.form != "csv" and how.format == TYPED_DATE:
            dates = (None if text is None else datetime.fromisoformat(text) for text in texts)
            return pa.array(list(dates), pa.timestamp("us"))
        if self.table.form == "csv" or not self._is_numeric(how):
            return pa.array(texts, pa.string())
        numbers = (None if text is None else float(text.replace(decimal, ".")) for text in texts)
        return pa.array(list(numbers), pa.float64())

    def _is_numeric(self, how: ExportColumn) -> bool:
        if how.use not in ("variable", "static", "value"):
            return bool(how.time_unit) or how.format == EXCEL_DAYS
        written = self.table.names.values() if how.use == "value" else (how,)
        variables = self.recipe.record.variables
        return all(
            not (cells.split or cells.levels or variables[place].levels)
            for cells in written
            for place in _places(self.recipe, cells)
        )

    def _column(self, name: str, how: ExportColumn) -> Texts:
        """The text of a column's cells."""
        match how.use:
            case "id":
                return _objects(export_ids(self.numbers))[self.patient]
            case "time" | "start":
                return self._times(how)
            case "group" | "outcome" | "site":
                label = LABEL_OF[how.use]
                words = _spelled(how, self.recipe.record.levels(label))
                codes: Ints = getattr(self.chunk, label)[self.patient]
                return np.asarray(words[codes])
            case "birth_date":
                return self._born(how)
            case "variable" | "static":
                return self._values(how)
            case "unit":
                return self._unit(name)
            case "name":
                return _objects([*self.table.names, None])[self.name]
            case "value":
                return self._named(self._values)
        return self._same(None)

    def _same(self, text: str | None) -> Texts:
        return _objects([text] * len(self.patient))

    def _times(self, how: ExportColumn) -> Texts:
        unit, at_start = how.time_unit, how.use == "start"
        since = times_in(unit, self.chunk) if unit else stepped(self.chunk, _step(how.format))
        at = since[self.patient, self.slot] * (not at_start)
        if unit:
            return _numerals(at, TIME_DECIMALS[unit], self.table.decimal)
        return _dates(self.start, at, how.format, self.table.decimal)

    def _born(self, how: ExportColumn) -> Texts:
        """A day that gives the age at the start of the record."""
        place = _places(self.recipe, how)[0]
        age = np.nan_to_num(self.chunk.values[:, 0, place])
        birthday = 0.05 + 0.9 * ((self.numbers * GOLDEN) % 1)  # part of a year since the last one
        from_first_row = not any(table.used("start") for table in self.recipe.tables)
        hours = stepped(self.chunk, 24.0)[:, 0] * from_first_row
        days = np.rint((hours - (np.floor(age) + birthday) * YEAR) / 24)
        texts = _dates(self.start, days * 24, how.format, self.table.decimal)
        born = _kept(texts, self.chunk.observed[:, 0, place])
        return np.asarray(born[self.patient])

    def _values(self, how: Cells) -> Texts:
        """The text of what a column, or a name of a long table, holds."""
        static = isinstance(how, ExportColumn) and how.use in PER_PATIENT
        slot = 0 * self.slot if static else self.slot
        places = _places(self.recipe, how)  # several: 121/71 is there or not by its first number
        seen = self.chunk.observed[self.patient, slot, places[0]]
        if not static:
            seen = seen & (slot < self.chunk.length[self.patient])
        parts: list[Texts] = []
        for place in places:
            values = self.chunk.values[self.patient, slot, place]
            seen = seen & np.isfinite(values)
            variable = self.recipe.record.variables[place]
            if variable.name in self.exact:  # what is missing was not held to any constraint
                seen = seen & self.chunk.observed[self.patient, slot, place]
            parts.append(_shown(how, variable, values, self.table, variable.name in self.exact))
        return _kept(_objects(map(how.split.join, zip(*parts, strict=True))), seen)

    def _unit(self, column: str) -> Texts:
        """The unit of the cells that this column stands beside."""
        if self.table.is_long:
            return self._named(lambda cells: self._same(self._unit_of(cells)))
        beside = (how for how in self.table.columns.values() if how.unit_column == column)
        how = next(beside, None)
        if how is None:
            return self._same(None)
        known = [text is not None for text in self._values(how)]
        return _kept(self._same(self._unit_of(how)), np.array(known, dtype=bool))

    def _unit_of(self, cells: Cells) -> str | None:
        variable = self.recipe.record.variables[_places(self.recipe, cells)[0]]
        return cells.unit or variable.unit or None

    def _named(self, of: Callable[[Cells], Texts]) -> Texts:
        """In a long table: what each row's name asks for."""
        texts = self._same(None)
        for position, cells in enumerate(self.table.names.values()):
            mine = self.name == position
            texts[mine] = of(cells)[mine]
        return texts


def _places(recipe: Recipe, cells: Cells) -> list[int]:
    names = [variable.name for variable in recipe.record.variables]
    return [names.index(name) for name in cells.variables]


def _shown(
    how: Cells, variable: Variable, values: Floats, table: ExportTable, exact: bool
) -> Texts:
    """Words for levels, or numbers in the export's unit."""
    most = MOST_DECIMALS if how.decimals is None or exact else how.decimals
    if variable.levels is not None:
        words = _spelled(how, variable.levels)
        place = np.clip(np.nan_to_num(np.rint(values)), 0, len(words) - 1)
        return np.asarray(words[place.astype(np.int64)])
    if how.levels:
        meanings = {float(meant): written for written, meant in reversed(how.levels.items())}
        numerals = _numerals(values, min(variable.decimals, most), table.decimal)
        pairs = zip(values.tolist(), numerals, strict=True)
        return _objects(meanings.get(value, numeral) for value, numeral in pairs)

    def written(unit: str) -> Texts:
        numbers, places = _converted(values, unit, variable, exact)
        return _numerals(numbers, min(places, most), table.decimal)

    texts = written(how.unit or variable.unit)
    for rule in how.rules:  # a number beyond the limit would be read in the rule's unit
        numbers = _converted(values, how.unit or variable.unit, variable, exact)[0]
        beyond = numbers > rule.above if rule.above is not None else numbers < (rule.below or 0)
        texts = np.where(beyond, written(rule.unit), texts)
    return texts


def _converted(values: Floats, unit: str, variable: Variable, exact: bool) -> tuple[Floats, int]:
    """Numbers in a unit of the export, and as many decimals as keep those of the record."""
    factor, offset = _required(unit, variable)
    places = max(variable.decimals + ceil(log10(factor)), 0)
    if exact and (factor, offset) != (1.0, 0.0):
        places = min(places + EXACT_DECIMALS, MOST_DECIMALS)
    return np.round((values - offset) / factor, places), places


def _required(unit: str, variable: Variable) -> Conversion:
    found = conversion(unit, variable.unit, variable.name)
    if found is None or not found[0] > 0:
        raise Refused(
            Code.UNIT_UNKNOWN,
            f"{variable.name}: {variable.unit!r} cannot be converted to {unit!r}.",
            "Correct the unit in the recipe, or the variable's unit in its record.",
        )
    return found


def _spelled(how: Cells, levels: Sequence[str]) -> Texts:
    """How the export writes each level: by the first of its words, or as the record has it."""
    words = {meant: written for written, meant in reversed(how.levels.items())}
    return _objects(words.get(level, level) for level in levels)


def _numerals(values: Floats, places: int, decimal: str) -> Texts:
    shown = (f"{x:.{places}f}" for x in np.nan_to_num(np.round(values, places)) + 0.0)
    return _objects(text.replace(".", decimal) for text in shown)


def _step(date_format: str) -> float:
    """The hours that a format can tell apart."""
    return next((hours for mark, hours in _FINEST.items() if mark in date_format), 24.0)


def _dates(start: np.datetime64, hours: Floats, date_format: str, decimal: str) -> Texts:
    first, last = (float((limit - start) / np.timedelta64(1, "h")) for limit in CALENDAR)
    if hours.size and not first < hours.min() <= hours.max() < last:
        raise Refused(
            Code.SAMPLE_UNUSABLE,
            "some dates would lie outside the years 1 to 9999.",
            "Choose another start date, or smaller bounds of max_gap and age.",
        )
    if date_format == EXCEL_DAYS:
        first_day = (start - np.datetime64(0, "us")) / np.timedelta64(1, "D") + EXCEL_1970
        return _numerals(first_day + hours / 24, EXCEL_DECIMALS * bool((hours % 24).any()), decimal)
    moments = start + np.rint(hours * HOUR).astype("timedelta64[us]")
    return _objects(moment.strftime(date_format) for moment in moments.astype(object))


def _kept(texts: Texts, known: Bools) -> Texts:
    kept = texts.copy()
    kept[~known] = None
    return kept


def _objects(values: Iterable[object]) -> Texts:
    listed = list(values)
    made = np.empty(len(listed), dtype=object)
    made[:] = listed
    return made
