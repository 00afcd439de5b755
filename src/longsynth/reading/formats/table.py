"""A hospital's own export, read by a recipe: CSV, Excel or Parquet, wide or long, in any number of
files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from longsynth.reading.adapter import Prepared, Request, Target, level
from longsynth.reading.columns import literal, quoted
from longsynth.reading.export import day_of, write_text
from longsynth.reading.session import Session, scan
from longsynth.schema.columns import TIME_UNITS
from longsynth.schema.recipe import (
    EXCEL_1970,
    EXCEL_DAYS,
    LABEL_OF,
    YEAR,
    Cells,
    ExportTable,
    Recipe,
    whole_week,
)
from longsynth.schema.units import Conversion, conversion
from longsynth.system.errors import Code, CohortError

MANY = 1_000_000  # more than a table has names
UNITS = 500  # different units of a column that are looked at
START = "coalesce(min(begin), min(clock) FILTER (measured), min(clock))"  # of a patient's record
# A sign where a number is censored, the number, and what stands behind it.
_NUMBER = r"^\s*[<>≤≥]?\s*([-+]?{whole}(?:{decimal}[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(.*)$"
_IN_GROUPS = r"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|[0-9]+)"  # 1,250 but not 12,50


@dataclass(frozen=True, slots=True)
class Place:
    """A column of the export that holds a target, or a part of such a column."""

    number: int
    target: Target
    column: str
    cells: Cells
    unit: str  # of the record
    date_format: str = ""  # of a date of birth
    part: int = 0  # of a split cell, from 1
    name: str = ""  # of what was measured, in a long table


def prepare(request: Request) -> Prepared:
    """Prepare `people` and `wide` (see reading/adapter.py) from the files of an export.

    Every id of the export is a patient. A static fact is the first that is known in the order of
    time. An outcome is the highest level that any row has.
    """
    files, recipe = [Path(source) for source in request.sources], request.recipe
    targets, session, step = request.targets, request.session, request.step
    if recipe is None:
        raise AssertionError("a recipe describes this format")
    notes: dict[str, Any] = {"rows_by_file": {}, "duplicate_rows_dropped": {}}
    selects, births = [], set()
    for number, table in enumerate(recipe.tables):
        step(f"reading {table.files}")
        _load(number, table, _matching(files, table), session, notes)
        places = list(_places(table, recipe, targets))
        births |= {place.target.number for place in places if place.date_format}
        selects.append(_rows(number, table, recipe, places, targets, session))
    step("reading cells")
    session.run(f"CREATE TEMP TABLE everything AS {' UNION ALL BY NAME '.join(selects)}")
    _require_ids(session)
    facts = "".join(
        f", {_one_fact(t, birth_date=t.number in births)} AS c{t.number}" for t in targets if t.once
    )
    session.run(f"""
        CREATE TEMP TABLE people AS
        SELECT id, coalesce({START}, 0.0) AS start, NULL::DOUBLE AS stop,
               NULL::DOUBLE AS age, NULL::DOUBLE AS death {facts}
        FROM everything GROUP BY id""")
    over_time = ", ".join(f"w{t.number}" for t in targets if not t.once)
    cells = ", ".join(f"any_value(w{t.number}) AS w{t.number}" for t in targets if not t.once)
    session.run(f"""
        CREATE TEMP TABLE wide AS
        SELECT id, coalesce(clock, 'nan'::DOUBLE) AS clock, {cells}
        FROM (SELECT *, row_number() OVER (PARTITION BY id, clock, about ORDER BY {over_time})
              AS turn FROM everything WHERE measured)
        GROUP BY id, clock, turn""")
    counts = session.row(
        f"SELECT {', '.join(f'count(*) FILTER (u{t.number})' for t in targets)} FROM everything"
    )
    unread = {t.name: count for t, count in zip(targets, counts, strict=True) if count}
    notes["cells_that_could_not_be_read"] = unread
    return Prepared(lambda _: False, relative=True, wide=True, notes=notes)


def _matching(files: Sequence[Path], table: ExportTable) -> list[Path]:
    matching = [path for path in files if fnmatch(path.name, table.files)]
    if not matching:
        raise CohortError(
            Code.FILE_MISSING,
            f"no file of the export is called {table.files}.",
            "Give all files of the export, or correct `files` in the recipe.",
        )
    return matching


def _load(
    number: int, table: ExportTable, files: Sequence[Path], session: Session, notes: dict[str, Any]
) -> None:
    """Define `table0`, `table1`, …: the rows of a table of the recipe, as text."""
    copies = []
    for path in files:
        copies.append(session.new_file())
        write_text(path, table, list(table.columns), copies[-1])
    united = f"({' UNION ALL '.join(f'SELECT * FROM {scan(copy)}' for copy in copies)})"
    distinct = "DISTINCT" if table.duplicates == "drop" else ""
    session.run(f"CREATE TEMP TABLE table{number} AS SELECT {distinct} * FROM {united}")
    before, after = (
        session.row(f"SELECT count(*) FROM {n}")[0] for n in (united, f"table{number}")
    )
    notes["rows_by_file"][table.files] = before
    if before > after:
        notes["duplicate_rows_dropped"][table.files] = before - after


def _require_ids(session: Session) -> None:
    without = session.row("SELECT count(*) FILTER (id IS NULL) FROM everything")[0]
    if without:
        raise CohortError(
            Code.PATIENT_IDS,
            f"{without:,} rows have no patient id.",
            "Complete the column with use: id, or remove these rows from the export.",
        )


def _places(table: ExportTable, recipe: Recipe, targets: Sequence[Target]) -> Iterator[Place]:
    by_name = {target.name: target for target in targets}
    units = {variable.name: variable.unit for variable in recipe.record.variables}
    holders: list[tuple[str, str, Cells, str, str]] = []  # target, column, cells, name, format
    for column, how in table.columns.items():
        named = (LABEL_OF[how.use],) if how.use in LABEL_OF else how.variables
        born = how.format if how.use == "birth_date" else ""
        holders += [(target, column, how, "", born) for target in named]
    for name, cells in table.names.items():
        holders += [(target, table.used("value")[0], cells, name, "") for target in cells.variables]
    for number, (target, column, cells, name, born) in enumerate(holders):
        part = cells.into.index(target) + 1 if cells.split else 0
        unit = units.get(target, "")
        yield Place(number, by_name[target], column, cells, unit, born, part, name)


def _rows(
    number: int,
    table: ExportTable,
    recipe: Recipe,
    places: Sequence[Place],
    targets: Sequence[Target],
    session: Session,
) -> str:
    """SQL for a table's rows: id, clock, begin, measured; what a row is about, so that rows about
    different things at one time become one; a value c3 or w3 for each target; and u3: there is
    something in its cell, but it cannot be read."""
    texts = [
        f"{_word(quoted(table.used('id')[0]), recipe)} AS id",
        f"{_hours(table, 'time', recipe)} AS clock",
        f"{_hours(table, 'start', recipe)} AS begin",
        *(f"{_text(place, table, recipe)} AS t{place.number}" for place in places),
        *(f"{_unit_beside(place, table)} AS b{place.number}" for place in places),
    ]
    session.run(f"CREATE TEMP TABLE text{number} AS SELECT {', '.join(texts)} FROM table{number}")
    numbers = [f"{_number(place, table)} AS n{place.number}" for place in places]
    units = [f"{_unit(place, table)} AS m{place.number}" for place in places]
    parsed = ", ".join(["*", *numbers, *units])
    session.run(f"CREATE TEMP TABLE parsed{number} AS SELECT {parsed} FROM text{number}")
    measured = "true" if table.used("time") else "false"
    if table.is_long:  # other rows of a long table are about something else
        measured = " OR ".join(f"t{place.number} IS NOT NULL" for place in places if place.name)
    named = [f"WHEN t{p.number} IS NOT NULL THEN {p.number}" for p in places if p.name]
    about = f"{number * MANY} + " + (f"CASE {' '.join(named)} END" if named else "0")
    columns = ["id", "clock", "begin", f"({measured}) AS measured", f"{about} AS about"]
    for target in targets:
        mine = [place for place in places if place.target is target]
        values = [_value(place, number, session) for place in mine]
        values.append("NULL::DOUBLE" if target.levels is None else "NULL::VARCHAR")
        present = " OR ".join(f"t{place.number} IS NOT NULL" for place in mine) or "false"
        cell = f"{'c' if target.once else 'w'}{target.number}"
        columns.append(f"coalesce({', '.join(values)}) AS {cell}")
        columns.append(f"({present}) AND {cell} IS NULL AS u{target.number}")
    return f"SELECT {', '.join(columns)} FROM parsed{number}"


def _text(place: Place, table: ExportTable, recipe: Recipe) -> str:
    """SQL for the text that a place holds, or NULL."""
    text = _word(quoted(place.column), recipe)
    if place.part:
        mark = literal(place.cells.split)
        whole = f"len(string_split({text}, {mark})) = {len(place.cells.into)}"
        part = _word(f"split_part({text}, {mark}, {place.part})", recipe)
        text = f"CASE WHEN {whole} THEN {part} ELSE '?' || {text} END"  # no number
    if place.name:
        named = literal(place.name.strip().casefold())
        text = f"CASE WHEN lower(trim({quoted(table.used('name')[0])})) = {named} THEN {text} END"
    return text


def _unit_beside(place: Place, table: ExportTable) -> str:
    column = place.cells.unit_column or "".join(table.used("unit") if place.name else ())
    return f"nullif(trim({quoted(column)}), '')" if column else "NULL::VARCHAR"


def _pattern(table: ExportTable) -> str:
    groups = _IN_GROUPS.format(mark=re.escape(table.thousands))
    whole = groups if table.thousands else "[0-9]+"
    return literal(_NUMBER.format(decimal=re.escape(table.decimal), whole=whole))


def _number(place: Place, table: ExportTable) -> str:
    """SQL for the number in a text; what is censored stands for itself, its half or nothing."""
    text = f"t{place.number}"
    digits = f"regexp_extract({text}, {_pattern(table)}, 1)"
    if table.thousands:
        digits = f"replace({digits}, {literal(table.thousands)}, '')"
    number = f"TRY_CAST(replace({digits}, {literal(table.decimal)}, '.') AS DOUBLE)"
    below, above = {
        "limit": (number, number),
        "half": (f"{number} / 2", number),
        "missing": ("NULL::DOUBLE", "NULL::DOUBLE"),
    }[place.cells.censored]
    sign = f"left({text}, 1)"
    return (
        f"CASE WHEN {sign} IN ('<', '≤') THEN {below} WHEN {sign} IN ('>', '≥') THEN {above} "
        f"ELSE {number} END"
    )


def _unit(place: Place, table: ExportTable) -> str:
    """SQL for the unit of a number: behind it, beside it, of its column, or the record's."""
    i, own = place.number, literal(place.cells.unit or place.unit)
    return f"coalesce(nullif(trim(regexp_extract(t{i}, {_pattern(table)}, 2)), ''), b{i}, {own})"


def _word(column: str, recipe: Recipe) -> str:
    """SQL for a cell without blanks at its ends; NULL if it is empty or a word for missing."""
    words = ", ".join(literal(word.casefold()) for word in ("", *recipe.missing))
    return f"CASE WHEN lower(trim({column})) NOT IN ({words}) THEN trim({column}) END"


def _value(place: Place, table: int, session: Session) -> str:
    """SQL for the number or the level that a cell stands for, or NULL."""
    text, target = f"t{place.number}", place.target
    if place.date_format:
        return _stamp(text, place.date_format)  # the age follows once the start is known
    if target.levels is not None or place.cells.levels:
        known = " ".join(
            f"WHEN lower({text}) = {literal(written.casefold())} THEN {literal(meant)}"
            for written, meant in place.cells.levels.items()
        )
        meant = f"CASE {known} ELSE {text} END" if known else text
        return level(meant, target) if target.levels else f"TRY_CAST({meant} AS DOUBLE)"
    return _converted(place, table, session)


def _converted(place: Place, table: int, session: Session) -> str:
    """SQL for a number in the record's unit. A rule decides where a number cannot be in the unit
    that is given for it. A number in a unit that nobody knows is not read."""
    number, unit = f"n{place.number}", f"m{place.number}"
    factors: dict[str, Conversion] = {}
    if place.cells.unit:
        factors[place.cells.unit] = _required(place.cells.unit, place)
    for written in session.texts(f"SELECT DISTINCT {unit} FROM parsed{table} LIMIT {UNITS}"):
        factor = conversion(written, place.unit, place.target.name)
        if factor is not None:
            factors[written] = factor
    cases = " ".join(
        f"WHEN {literal(written)} THEN {number} * {a!r} + {b!r}"
        for written, (a, b) in factors.items()
    )
    value = f"CASE {unit} {cases} END" if cases else "NULL::DOUBLE"
    for rule in place.cells.rules:
        a, b = _required(rule.unit, place)
        beyond = f"> {rule.above!r}" if rule.above is not None else f"< {rule.below!r}"
        value = f"CASE WHEN {number} {beyond} THEN {number} * {a!r} + {b!r} ELSE {value} END"
    return f"nullif(nullif({value}, 'inf'::DOUBLE), 'nan'::DOUBLE)"


def _required(given: str, place: Place) -> Conversion:
    factor = conversion(given, place.unit, place.target.name)
    if factor is None:
        raise CohortError(
            Code.UNIT_UNKNOWN,
            f"column {place.column!r}: {given!r} cannot be converted to {place.unit!r}.",
            "Correct the unit in the recipe, or the variable's unit in its record.",
        )
    return factor


def _hours(table: ExportTable, use: str, recipe: Recipe) -> str:
    """SQL for a time in hours: since 1970 for dates, or by the export's own count."""
    for name in table.used(use):
        column, text = table.columns[name], _word(quoted(name), recipe)
        if column.time_unit:
            number = f"TRY_CAST(replace({text}, {literal(table.decimal)}, '.') AS DOUBLE)"
            return f"{number} * {TIME_UNITS[column.time_unit]!r}"
        if column.format == EXCEL_DAYS:
            text = f"replace({text}, {literal(table.decimal)}, '.')"
        return _stamp(text, column.format)
    return "NULL::DOUBLE"


def _stamp(text: str, date_format: str) -> str:
    """SQL for hours since 1970; a date may lack the time of day that its format has."""
    if date_format == EXCEL_DAYS:
        return f"(TRY_CAST({text} AS DOUBLE) - {EXCEL_1970}) * 24"
    date_format, day = whole_week(date_format)
    formats = ", ".join(map(literal, dict.fromkeys((date_format, day_of(date_format)))))
    return f"epoch_us(try_strptime({text} || {literal(day)}, [{formats}])) / 3600e6"


def _one_fact(target: Target, *, birth_date: bool) -> str:
    """SQL aggregate: what is known about a patient, from all rows."""
    column = f"c{target.number}"
    if birth_date:
        return f"floor(({START} - min({column})) / {YEAR!r})"
    if target.name == "event" and target.levels:
        ranks = " ".join(f"WHEN {literal(t)} THEN {i}" for i, t in enumerate(target.levels))
        return f"arg_max({column}, CASE {column} {ranks} END)"
    return f"first({column} ORDER BY clock NULLS FIRST) FILTER ({column} IS NOT NULL)"
