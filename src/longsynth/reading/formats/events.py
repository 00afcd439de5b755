"""Tables as CSV or Parquet: a patient table, and one of events (long) or of observations (wide)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longsynth.reading.adapter import (
    START,
    STOP,
    Prepared,
    Request,
    Target,
    age,
    check_moments,
    check_units,
    define_moments,
    keys_of,
    level,
    moment,
    register_keys,
    since_start,
)
from longsynth.reading.columns import hours, id_cast, quoted
from longsynth.reading.parquet import is_number, is_stamp, is_text, type_name
from longsynth.reading.session import Session, Table
from longsynth.schema.columns import Time
from longsynth.schema.mapping import Codes, Dataset
from longsynth.system.errors import Code, CohortError, SchemaError

READS = ("column", "codes", "pattern")  # of a start and an end


def prepare(request: Request) -> Prepared:
    """Read `patients` and either `events` or `observations`, each as .parquet or .csv."""
    folder, schema, targets = Path(request.source), request.schema, request.targets
    session, step = request.session, request.step
    if not folder.is_dir():
        raise CohortError(
            Code.SOURCE_INCOMPLETE, f"{folder} is not a folder.", "Give the folder with the tables."
        )
    layout, timed = schema.source, schema.time.column
    check_moments(layout, start=READS, end=(*READS, "hours"))
    start, end = layout.start.column, layout.end.column
    long = any((folder / f"events.{end}").is_file() for end in ("parquet", "csv"))
    indexed = layout.start.named
    relative = bool(start) or indexed
    stamps = schema.time.unit == "timestamp" and not relative
    if (indexed or layout.end.named) and not long:
        raise SchemaError(
            Code.MAPPING_UNUSABLE,
            "source: codes of a start or an end need a table of events.",
            "Name a column of the patient table instead.",
        )
    for target in targets:
        _check(target, long=long, stamps=stamps, unit=schema.source.unit)
    over_time = [t for t in targets if not t.once]
    dated = {t.fact: t.column for t in targets if t.fact in ("age", "death")}
    once = [t for t in targets if t.once and not (long and t.codes.named) and t.fact not in dated]

    step("reading patients")
    patient = schema.patient.column
    marks = list(dict.fromkeys(c for t in once for c in (t.column, t.otherwise) if c))
    times = list(dict.fromkeys(filter(None, (start, end, *dated.values()))))
    people = _table(session, folder, "patients", [patient, *marks, *times])
    _require_cells(people, "patients", marks)
    name = "events" if long else "observations"
    step(f"reading {name}")
    names = schema.source
    cells = [names.variable, names.value, *([names.unit] if names.unit else [])]
    cells = cells if long else [t.column for t in over_time]
    rows = _table(session, folder, name, [patient, timed, *cells])
    _require_cells(rows, name, cells)

    key = id_cast(rows.types[patient], people.types[patient]).format(quoted(patient))

    def hours_in(column: str | None, otherwise: str = "NULL::DOUBLE") -> str:
        at = Time(column=column, unit=schema.time.unit) if column else None
        return _hours(at, people) if at else otherwise

    columns = "".join(f", {_first_number(t)} AS c{t.number}" for t in once)
    own = "NULL::DOUBLE" if indexed else hours_in(start, "0.0")
    session.run(f"""
        CREATE TEMP TABLE listed AS
        SELECT {key} AS id, {own} AS begin, {hours_in(end)} AS finish,
               {hours_in(dated.get("age"))} AS birth, {hours_in(dated.get("death"))} AS death
               {columns} FROM {people.scan}""")
    at = _hours(schema.time, rows)
    notes: dict[str, Any] = {"csv": {"patients.csv": people.notes, f"{name}.csv": rows.notes}}
    notes["cells_that_could_not_be_read"] = _unread(session, people, once, _cell)
    if not long:
        notes["cells_that_could_not_be_read"] |= _unread(session, rows, over_time, _converted)
        values = ", ".join(f"{_converted(t)} AS w{t.number}" for t in over_time)
        session.run(f"""
            CREATE VIEW wide AS SELECT {key} AS id, {at} AS clock, {values} FROM {rows.scan}""")
        _define_people(session, layout, schema.time.unit)
        return Prepared(lambda _: False, relative, stamps, wide=True, notes=notes)
    unit = f"CAST({quoted(names.unit)} AS VARCHAR)" if names.unit else "NULL::VARCHAR"
    value = quoted(names.value)
    session.run(f"""
        CREATE VIEW events AS
        SELECT {key} AS id, {at} AS clock, CAST({quoted(names.variable)} AS VARCHAR) AS key,
               TRY_CAST({value} AS DOUBLE) AS number, CAST({value} AS VARCHAR) AS raw,
               {unit} AS unit FROM {rows.scan}""")
    by_name = [t for t in targets if t not in once and t.fact not in dated]
    wanted = {t.number: _codes(t) for t in by_name} | {START: layout.start, STOP: layout.end}
    step("matching names")
    register_keys(session, keys_of(session.texts("SELECT DISTINCT key FROM events"), wanted))
    _define_people(session, layout, schema.time.unit)
    return Prepared(lambda t: t in by_name, relative, stamps, notes=notes)


def _define_people(session: Session, layout: Dataset, unit: str) -> None:
    by_key = (
        "SELECT id, clock, NULL::DOUBLE AS until FROM events JOIN keys USING (key) WHERE target"
    )
    opened = "SELECT id, begin AS clock, NULL::DOUBLE AS until FROM listed"
    closed = "SELECT id, finish AS clock FROM listed" if layout.end.column else ""
    opened = f"{by_key} = {START}" if layout.start.named else opened
    closed = f"{by_key} = {STOP}" if layout.end.named else closed
    define_moments(session, opened, closed, layout.end.hours)
    born = moment("birth")
    years = age("start", f"year({born})", f"month({born})", f"day({born})")
    session.run(f"""
        CREATE TEMP TABLE people AS
        SELECT l.* EXCLUDE (begin, finish, birth), m.start, {since_start("m.stop")} AS stop,
               {years if unit == "timestamp" else "(start - birth) / 8766"} AS age
        FROM listed AS l LEFT JOIN moments AS m ON m.id = l.id""")


def _check(target: Target, *, long: bool, stamps: bool, unit: str) -> None:
    source = target.codes
    if target.fact == "occurs" and not (long and source.named):
        raise target.refused(
            "'fact: occurs' needs codes or a pattern, and a table of events", "Add them."
        )
    if source.within is not None and stamps:
        raise target.refused("'within' needs a start", "Add source: {start: {column: …}}.")
    if long:
        check_units(target, unit)
    elif len(source.units) > 1:
        raise target.refused(
            "its units cannot be converted: a column of a wide table has one unit", "Give one unit."
        )


def _codes(target: Target) -> Codes:
    return target.codes if target.codes.named else Codes(codes=(target.column,))


def _unread(
    session: Session, table: Table, targets: Sequence[Target], cell: Callable[[Target], str]
) -> dict[str, int]:
    """Count, by name, the cells that are neither empty nor a number or level. Raw facts."""
    if not targets:
        return {}
    each = [f"count({quoted(t.column)}) - count({cell(t)})" for t in targets]
    counts = session.row(f"SELECT {', '.join(each)} FROM {table.scan}")
    return {t.name: number for t, number in zip(targets, counts, strict=True) if number}


def _table(session: Session, folder: Path, name: str, needed: Sequence[str]) -> Table:
    path, text = folder / f"{name}.parquet", folder / f"{name}.csv"
    if path.is_file():
        return session.parquet(path, path.name, needed)
    if text.is_file():
        return session.csv(text, text.name, needed)
    missing = name if name == "patients" else "events or observations"
    raise CohortError(
        Code.SOURCE_INCOMPLETE, f"{folder} has no {missing} as .parquet or .csv.", "Add the table."
    )


def _require_cells(table: Table, name: str, columns: Sequence[str]) -> None:
    for column in columns:
        kind = table.types[column]
        if not (is_number(kind) or is_text(kind)):
            raise CohortError(
                Code.COLUMN_TYPE,
                f"column {column!r} of {name} is stored as {type_name(kind)}.",
                "Store it as numbers or text.",
            )


def _hours(time: Time, table: Table) -> str:
    """SQL for a time in hours: NULL where the cell is empty, NaN where it cannot be read."""
    column, kind = quoted(time.column), table.types[time.column]
    read = hours(time, kind)
    if is_stamp(kind):
        return f"CASE WHEN isfinite({column}) THEN {column} END"
    return f"CASE WHEN {column} IS NOT NULL THEN coalesce({read}, 'nan'::DOUBLE) END"


def _cell(target: Target) -> str:
    """SQL for a number or a level in a column."""
    column = quoted(target.column)
    number = f"TRY_CAST({column} AS DOUBLE)"
    if target.levels is not None:
        return level(f"CAST({column} AS VARCHAR)", target, number)
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def _first_number(target: Target) -> str:
    """SQL for a cell of the patient table, or that of the column which counts otherwise."""
    if not target.otherwise:
        return _cell(target)
    other = replace(target, column=target.otherwise, otherwise="")
    return f"coalesce({_cell(target)}, {_cell(other)})"


def _converted(target: Target) -> str:
    for factor, more in target.codes.units.values():
        if target.levels is None:
            return f"{_cell(target)} * {factor!r} + {more!r}"
    return _cell(target)
