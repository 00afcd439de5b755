"""OMOP CDM 5.3 and 5.4, from Parquet, DuckDB or Postgres: one record per person. This file has the
part of the common data model that an import reads; query.py and sources.py need optional packages.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from longsynth.reading.adapter import (
    Prepared,
    Request,
    Target,
    age,
    check_moments,
    level,
    register_keys,
)
from longsynth.reading.session import scan
from longsynth.schema.mapping import Dataset
from longsynth.system.errors import Code, CohortError, Refused, SchemaError

if TYPE_CHECKING:
    from longsynth.reading.formats.omop.sources import Files, Postgres

Role = Literal["id", "whole", "number", "stamp", "text"]
Kind = Literal[
    "integer", "float", "decimal", "text", "boolean", "date", "timestamp", "zoned", "null", "other"
]
TAKES: dict[Role, tuple[Kind, ...]] = {
    "id": ("integer", "null"),  # 64-bit hashes: a float cannot represent them all
    "whole": ("integer", "float", "decimal", "null"),
    "number": ("integer", "float", "decimal", "null"),
    "stamp": ("date", "timestamp", "zoned", "text", "null"),
    "text": ("integer", "float", "decimal", "text", "boolean", "null"),
}
IBIS: dict[Role, str] = {  # the types in which Ibis knows them
    "id": "int64",
    "whole": "int64",
    "number": "string",
    "stamp": "timestamp",
    "text": "string",
}
STRICT: dict[Role, tuple[Kind, ...]] = TAKES | {  # where casting one cell could end a query
    "whole": ("integer",),
    "stamp": ("date", "timestamp", "zoned"),
}
SHOULD: dict[Role, str] = {
    "id": "whole numbers",
    "whole": "whole numbers",
    "number": "numbers",
    "stamp": "dates or time stamps",
    "text": "text or numbers",
}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    role: Role
    needed: bool = True


Tables = dict[str, tuple[Column, ...]]
Kinds = dict[str, dict[str, Kind]]  # by table and column: how they are stored


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The columns of an event table."""

    concept: str
    source_concept: str
    source_value: str
    stamp: str
    date: str
    text: str = ""  # of a value, in a table with value_as_number and a unit


def _event_table(prefix: str, moment: str, text: str = "") -> EventColumns:
    return EventColumns(
        concept=f"{prefix}_concept_id",
        source_concept=f"{prefix}_source_concept_id",
        source_value=f"{prefix}_source_value",
        stamp=f"{moment}_datetime",
        date=f"{moment}_date",
        text=text,
    )


EVENTS = {
    "measurement": _event_table("measurement", "measurement", "value_source_value"),
    "observation": _event_table("observation", "observation", "value_as_string"),
    "condition_occurrence": _event_table("condition", "condition_start"),
    "drug_exposure": _event_table("drug", "drug_exposure_start"),
    "procedure_occurrence": _event_table("procedure", "procedure"),
}
PERSON = (
    Column("person_id", "id"),
    Column("year_of_birth", "whole"),
    Column("month_of_birth", "whole", needed=False),
    Column("day_of_birth", "whole", needed=False),
)
VISIT = (
    Column("visit_occurrence_id", "id"),
    Column("person_id", "id"),
    Column("visit_concept_id", "whole"),
    Column("visit_start_date", "stamp"),
    Column("visit_start_datetime", "stamp", needed=False),
    Column("visit_end_date", "stamp"),
    Column("visit_end_datetime", "stamp", needed=False),
)
DEATH = (
    Column("person_id", "id"),
    Column("death_date", "stamp"),
    Column("death_datetime", "stamp", needed=False),
)
MOMENTS = ("observation_period", "visit_occurrence", "person", "death")  # with times of a record
LABELLED = ("person", "visit_occurrence", "care_site")  # tables whose columns may be labels


def by_event(target: Target) -> bool:
    """Whether it comes from rows of an event table."""
    mapped = bool(target.codes.concepts or target.codes.codes)
    return mapped and target.fact not in ("age", "death") and not target.codes.column


def needed_tables(targets: Sequence[Target], layout: Dataset) -> Tables:
    """The tables and columns that the schema's mapping asks for."""
    tables = {"person": PERSON, "visit_occurrence": VISIT}
    for what, moment in (("start", layout.start), ("end", layout.end)):
        if moment.concepts:
            tables[moment.table] = _event_columns(EVENTS[moment.table])
        elif moment.column:
            table, _, column = moment.column.partition(".")
            if table not in MOMENTS or not column:
                raise SchemaError(
                    Code.MAPPING_UNUSABLE,
                    f"source.{what}: {moment.column!r} is no column with times of a record.",
                    f"Name a column of {', '.join(MOMENTS)}, for example "
                    "observation_period.observation_period_start_date.",
                )
            known = tables.get(table, (Column("person_id", "id"),))
            tables[table] = _with(known, Column(column, "stamp"))
    if any(t.fact == "death" for t in targets):
        tables["death"] = DEATH + tables.get("death", ())[1:]
        tables["death"] = tuple({c.name: c for c in tables["death"]}.values())
    for name in dict.fromkeys(t.codes.table for t in targets if by_event(t)):
        tables[name] = _event_columns(EVENTS[name])
    for target in targets:
        if target.codes.column:
            table, column = _label_place(target)
            if table == "care_site":
                site = Column("care_site_id", "id")
                tables["visit_occurrence"] = _with(tables["visit_occurrence"], site)
                tables.setdefault(table, (site,))
            tables[table] = _with(tables[table], Column(column, "text"))
    return tables


def _label_place(target: Target) -> tuple[str, str]:
    table, _, column = target.codes.column.partition(".")
    if table not in LABELLED:
        raise target.refused(
            "its column is in no table that has labels",
            f"Name a column of {', '.join(LABELLED)}, for example person.gender_concept_id.",
        )
    return table, column


def _with(columns: tuple[Column, ...], more: Column) -> tuple[Column, ...]:
    return columns if any(c.name == more.name for c in columns) else (*columns, more)


def _event_columns(names: EventColumns) -> tuple[Column, ...]:
    columns = (
        Column("person_id", "id"),
        Column(names.concept, "whole"),
        Column(names.source_concept, "whole", needed=False),
        Column(names.source_value, "text", needed=False),
        Column(names.date, "stamp"),
        Column(names.stamp, "stamp", needed=False),
    )
    valued = (
        Column("value_as_number", "number"),
        Column("value_as_concept_id", "whole", needed=False),
        Column("unit_concept_id", "whole", needed=False),
        Column("unit_source_value", "text", needed=False),
        Column(names.text, "text", needed=False),
        Column("operator_concept_id", "whole", needed=False),
    )
    return columns + valued if names.text else columns


def check_types(tables: Tables, kinds: Kinds, takes: dict[Role, tuple[Kind, ...]]) -> None:
    """Refuse a table that lacks a needed column, or has one of a type that cannot be read."""
    for table, columns in tables.items():
        for column in columns:
            kind = kinds[table].get(column.name)
            if kind is None and column.needed:
                raise CohortError(
                    Code.COLUMN_MISSING,
                    f"table {table} has no column {column.name}, which the OMOP model has.",
                    "Add it.",
                )
            if kind is not None and kind not in takes[column.role]:
                raise CohortError(
                    Code.COLUMN_TYPE,
                    f"{table}.{column.name} is stored as {kind}.",
                    f"Store it as {SHOULD[column.role]}.",
                )
    zones = {
        kind == "zoned": f"{table}.{column.name}"
        for table, columns in tables.items()
        for column in columns
        if (kind := kinds[table].get(column.name)) in ("timestamp", "zoned")
        or (kind == "text" and column.name.endswith("_datetime"))
    }
    if len(zones) > 1:
        raise CohortError(
            Code.COLUMN_TYPE,
            f"{zones[True]} has a time zone and {zones[False]} has none, so the hours between them "
            "are unknown.",
            "Store all time stamps with a zone, or all without.",
        )


def missing(table: str, where: str) -> CohortError:
    return CohortError(
        Code.SOURCE_INCOMPLETE,
        f"{where} has no table {table}, which the schema's mapping needs.",
        "Add it.",
    )


SCHEMES = ("postgresql://", "postgres://")
REMEDY = "Add source: {concepts: […]}, {codes: […]}, {column: person.…} or {fact: …}."
EVENT_ROWS = pa.schema(
    [("id", pa.int64()), ("clock", pa.float64())]
    + [(name, pa.string()) for name in ("key", "value", "coded", "said", "unit")]
)


def prepare(request: Request) -> Prepared:
    session = request.session
    for target in request.targets:
        _check(target)
    layout = request.schema.source
    check_moments(layout, start=("visits", "min_hours", "concepts", "column"))
    tables = needed_tables(request.targets, layout)
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
               coalesce(nullif(coded, '0'), value, said) AS raw, unit FROM {scan(events)}""")
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
        ("reading persons and when their records start", query.people, files[0], person),
        ("reading events", query.events, files[1], EVENT_ROWS),
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
