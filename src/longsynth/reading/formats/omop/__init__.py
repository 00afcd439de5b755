"""OMOP CDM 5.3 and 5.4, from Parquet, DuckDB or Postgres: one record per person."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from longsynth.reading.adapter import Prepared, Request, Target, age, level, register_keys
from longsynth.reading.formats.omop.model import Tables, by_event, needed_tables
from longsynth.reading.session import scan
from longsynth.system.errors import Code, Refused

if TYPE_CHECKING:
    from longsynth.reading.formats.omop.sources import Files, Postgres

SCHEMES = ("postgresql://", "postgres://")
REMEDY = "Add source: {concepts: […]}, {codes: […]}, {column: person.…} or {fact: …}."
EVENTS = pa.schema(
    [("id", pa.int64()), ("clock", pa.float64())]
    + [(name, pa.string()) for name in ("key", "value", "coded", "unit")]
)


def prepare(request: Request) -> Prepared:
    session = request.session
    for target in request.targets:
        _check(target)
    tables = needed_tables(request.targets)
    with _opened(request, tables) as warehouse:
        people, events = _copied(warehouse, tables, request)
    columns = "".join(f", {_label(t)} AS c{t.number}" for t in request.targets if t.codes.column)
    session.run(f"""
        CREATE TEMP TABLE people AS
        SELECT id, start / 3600 AS start, death / 3600 AS death,
               round((stop - start) * 1e3) / 3.6e6 AS stop,
               {age("start / 3600", "year", "month", "day")} AS age {columns}
        FROM {scan(people)}""")
    session.run(f"""
        CREATE VIEW events AS
        SELECT id, clock / 3600 AS clock, key, TRY_CAST(value AS DOUBLE) AS number,
               coalesce(coded, value) AS raw, unit FROM {scan(events)}""")
    return Prepared(by_event)


def _check(target: Target) -> None:
    source = target.codes
    column = target.once and source.column
    if not (by_event(target) or column or target.fact in ("age", "death")):
        raise target.refused("nothing says where it is", REMEDY)
    if target.fact == "occurs" and not by_event(target):
        raise target.refused("'fact: occurs' needs concepts or codes", "Add them.")


def _opened(request: Request, tables: Tables) -> "AbstractContextManager[Files | Postgres]":
    try:
        import ibis  # noqa: F401

        from longsynth.reading.formats.omop.sources import Files, Postgres
    except ImportError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "OMOP needs Ibis and psycopg.",
            "Install them: pip install 'longsynth[omop]'.",
        ) from None
    if request.source.startswith(SCHEMES):
        return Postgres(request.source, tables, request.step)
    return Files(Path(request.source), tables, request.session, request.step)


def _copied(warehouse: "Files | Postgres", tables: Tables, request: Request) -> tuple[Path, Path]:
    """Run the two queries where the tables are, and keep their rows as Parquet."""
    import ibis

    from longsynth.reading.formats.omop import query

    schema, targets, session = request.schema, request.targets, request.session
    expressions = {
        name: query.table(name, columns, warehouse.types(name)) for name, columns in tables.items()
    }
    labels = [(f"c{t.number}", pa.string()) for t in targets if t.codes.column]
    person = pa.schema(
        [(name, pa.int64()) for name in ("id", "year", "month", "day")]
        + [(name, pa.float64()) for name in ("start", "stop", "death")]
        + labels
    )
    files = session.new_file(), session.new_file()
    for words, select, file, kept in (
        ("reading persons and their first visit", query.people, files[0], person),
        ("reading events", query.events, files[1], EVENTS),
    ):
        request.step(words)
        compiled = ibis.to_sql(select(expressions, schema, targets), dialect=warehouse.dialect)
        warehouse.copy(str(compiled), file, kept)
    register_keys(session, query.keys(targets))
    return files


def _label(target: Target) -> str:
    raw = f"c{target.number}"
    if target.levels is not None:
        return level(raw, target)
    number = f"TRY_CAST({raw} AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) THEN {number} END"
