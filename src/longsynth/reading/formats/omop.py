"""OMOP CDM 5.3 and 5.4, from Parquet, DuckDB or Postgres: one record a person."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from longsynth.reading.formats.cdm import Tables, by_event, needed_tables
from longsynth.reading.formats.cdm_files import Files
from longsynth.reading.mapping import Prepared, Step, Target, age, level, register_keys
from longsynth.reading.stage import Stage, scan
from longsynth.schema.schema import Schema
from longsynth.system.errors import Refused

if TYPE_CHECKING:
    from longsynth.reading.formats.cdm_postgres import Postgres

SCHEMES = ("postgresql://", "postgres://")
REMEDY = (
    "say where it is, with source: {concepts: […]}, {codes: […]}, {column: person.…} or {fact: …}"
)
EVENTS = pa.schema(
    [("id", pa.int64()), ("clock", pa.float64())]
    + [(name, pa.string()) for name in ("key", "value", "coded", "unit")]
)


def prepare_omop(
    source: str, schema: Schema, targets: Sequence[Target], stage: Stage, step: Step
) -> Prepared:
    for target in targets:
        _check(target)
    tables = needed_tables(targets)
    with _opened(source, tables, stage, step) as warehouse:
        people, events = _copied(warehouse, tables, schema, targets, stage, step)
    columns = "".join(f", {_label(t)} AS c{t.number}" for t in targets if t.codes.column)
    stage.run(f"""
        CREATE TEMP TABLE people AS
        SELECT id, start / 3600 AS start, death / 3600 AS death,
               round((stop - start) * 1e3) / 3.6e6 AS stop,
               {age("start / 3600", "year", "month", "day")} AS age {columns}
        FROM {scan([people])}""")
    stage.run(f"""
        CREATE VIEW events AS
        SELECT id, clock / 3600 AS clock, key, TRY_CAST(value AS DOUBLE) AS number,
               coalesce(coded, value) AS raw, unit FROM {scan([events])}""")
    return Prepared(by_event)


def _check(target: Target) -> None:
    source = target.codes
    column = target.once and source.column
    if not (by_event(target) or column or target.fact in ("age", "death")):
        raise target.refused(REMEDY)
    if target.fact == "occurs" and not by_event(target):
        raise target.refused("'fact: occurs' needs concepts or codes")


def _opened(
    source: str, tables: Tables, stage: Stage, step: Step
) -> "AbstractContextManager[Files | Postgres]":
    try:
        import ibis  # noqa: F401

        from longsynth.reading.formats.cdm_postgres import Postgres
    except ImportError:
        raise Refused("OMOP needs Ibis and psycopg: pip install 'longsynth[omop]'.") from None
    if source.startswith(SCHEMES):
        return Postgres(source, tables, step)
    return Files(Path(source), tables, stage, step)


def _copied(
    warehouse: "Files | Postgres",
    tables: Tables,
    schema: Schema,
    targets: Sequence[Target],
    stage: Stage,
    step: Step,
) -> tuple[Path, Path]:
    """Run the two expressions where the tables stand, and keep their rows as Parquet."""
    import ibis

    from longsynth.reading.formats import cdm_query

    made = {
        name: cdm_query.table(name, columns, warehouse.types(name))
        for name, columns in tables.items()
    }
    labels = [(f"c{t.number}", pa.string()) for t in targets if t.codes.column]
    person = pa.schema(
        [(name, pa.int64()) for name in ("id", "year", "month", "day")]
        + [(name, pa.float64()) for name in ("start", "stop", "death")]
        + labels
    )
    files = stage.new_file(), stage.new_file()
    for words, query, file, kept in (
        ("reading persons and their first visit", cdm_query.people, files[0], person),
        ("reading events", cdm_query.events, files[1], EVENTS),
    ):
        step(words)
        compiled = ibis.to_sql(query(made, schema, targets), dialect=warehouse.dialect)
        warehouse.copy(str(compiled), file, kept)
    register_keys(stage, cdm_query.keys(targets))
    return files


def _label(target: Target) -> str:
    raw = f"c{target.number}"
    if target.levels is not None:
        return level(raw, target)
    number = f"TRY_CAST({raw} AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) THEN {number} END"
