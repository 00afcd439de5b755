"""OMOP tables where they are: a folder of Parquet, a DuckDB database, or Postgres.

Postgres is read in one snapshot through a cursor on the server. The password comes from PGPASSWORD
or a password file, never from the address: others can see command lines.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.adapter import Step, moment
from longsynth.reading.columns import literal, quoted
from longsynth.reading.formats.omop import (
    IBIS,
    STRICT,
    TAKES,
    Column,
    Kind,
    Kinds,
    Role,
    Tables,
    check_types,
    missing,
)
from longsynth.reading.parquet import is_text
from longsynth.reading.session import Session
from longsynth.system.errors import Code, CohortError, Refused, without_cells

SQL = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}
ROWS = 20_000  # per fetch
POSTGRES_KINDS: dict[int, Kind] = {  # of Postgres's built-in types
    **dict.fromkeys((20, 21, 23), "integer"),
    **dict.fromkeys((700, 701), "float"),
    1700: "decimal",
    16: "boolean",
    **dict.fromkeys((25, 1042, 1043), "text"),
    1082: "date",
    1114: "timestamp",
    1184: "zoned",
}
POSTGRES_TYPES: dict[Kind, str] = {
    "integer": "int64",
    "float": "float64",
    "decimal": "decimal",
    "boolean": "boolean",
    "text": "string",
    "date": "date",
    "timestamp": "timestamp",
    "zoned": "timestamp('UTC')",
}


class Files:
    """Tables that DuckDB reads itself. Each becomes a view in the model's own types."""

    dialect = "duckdb"

    def __init__(self, source: Path, tables: Tables, session: Session, step: Step) -> None:
        self._session, self._tables = session, tables
        self._scans: dict[str, str] = {}
        self.kinds: Kinds = {}
        (self._open_folder if source.is_dir() else self._open_database)(source, step)
        check_types(tables, self.kinds, TAKES)
        self._define()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The session closes what was opened."""

    def types(self, table: str) -> dict[str, str]:
        """The Ibis types of the views."""
        return {c.name: IBIS[c.role] for c in self._tables[table] if c.name in self.kinds[table]}

    def _define(self) -> None:
        for name, columns in self._tables.items():
            kinds = self.kinds[name]
            cells = [
                f"{_cell(quoted(c.name), c.role, kinds[c.name], self._copied)} AS {quoted(c.name)}"
                for c in columns
                if c.name in kinds
            ]
            scan = self._scans[name]
            self._session.run(
                f"CREATE VIEW {quoted(name)} AS SELECT {', '.join(cells)} FROM {scan}"
            )

    def copy(self, query: str, target: Path, schema: pa.Schema) -> None:
        cells = ", ".join(
            f"CAST({quoted(f.name)} AS {SQL[f.type]}) AS {quoted(f.name)}" for f in schema
        )
        self._session.run(
            f"COPY (SELECT {cells} FROM ({query})) TO {literal(target)} (FORMAT parquet)"
        )

    def _open_folder(self, folder: Path, step: Step) -> None:
        self._copied = True
        for name, columns in self._tables.items():
            path = folder / f"{name}.parquet"
            if not path.is_file():
                raise missing(name, str(folder))
            step(f"reading {name}")
            wanted = [c.name for c in columns]
            table = self._session.parquet(path, path.name, [], wanted)
            self._scans[name] = table.scan
            self.kinds[name] = {column: _arrow_kind(kind) for column, kind in table.types.items()}

    def _open_database(self, path: Path, step: Step) -> None:
        self._copied = False
        if not path.is_file():
            raise CohortError(
                Code.SOURCE_INCOMPLETE,
                f"{path} is neither a folder of Parquet tables, nor a DuckDB file, nor a "
                "postgresql:// address.",
                "Give one of these.",
            )
        step("opening the database")
        with without_cells(f"{path} cannot be opened as a DuckDB database."):
            self._session.connection.execute(
                f"ATTACH {literal(path.absolute())} AS omop (READ_ONLY)"
            )
            listed = self._session.connection.execute("""
                SELECT table_schema, table_name, column_name, data_type
                FROM information_schema.columns WHERE table_catalog = 'omop'""").fetchall()
        for name, columns in self._tables.items():
            homes = sorted({schema for schema, table, _, _ in listed if table.lower() == name})
            if not homes:
                raise missing(name, str(path))
            if len(homes) > 1:
                raise CohortError(
                    Code.SOURCE_INCOMPLETE,
                    f"{path} has table {name} in several schemas.",
                    "Keep one.",
                )
            own = {
                column.lower(): _duckdb_kind(kind)
                for schema, table, column, kind in listed
                if (schema, table.lower()) == (homes[0], name)
            }
            self._scans[name] = f"omop.{quoted(homes[0])}.{quoted(name)}"
            self.kinds[name] = {c.name: own[c.name] for c in columns if c.name in own}


class Postgres:
    """One read-only transaction. Close it when everything is copied."""

    dialect = "postgres"

    def __init__(self, url: str, tables: Tables, step: Step) -> None:
        try:
            address = urlsplit(url)
            secret = address.password
        except ValueError:
            raise Refused(
                Code.DATABASE_UNREADABLE,
                "the address of the database is malformed.",
                "Give postgresql://user@host:port/database.",
            ) from None
        if secret is not None or "password=" in address.query:
            raise Refused(
                Code.DATABASE_UNREADABLE,
                "the address contains a password, which others can see in a list of processes.",
                "Remove it and set PGPASSWORD.",
            )
        self.where = f"database {address.path.strip('/') or 'by default'}"
        step("opening the database")
        with without_cells(
            f"{self.where} cannot be opened.",
            "Check that the server runs, that address and user are right, and that PGPASSWORD is "
            "set.",
        ):
            self._connection = psycopg.connect(url)
        try:
            with self._guard():
                self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                self._connection.read_only = True
                self._connection.execute("SET TIME ZONE 'UTC'")
            self.kinds = {name: self._kinds(name, columns) for name, columns in tables.items()}
            check_types(tables, self.kinds, STRICT)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def types(self, table: str) -> dict[str, str]:
        return {column: POSTGRES_TYPES[kind] for column, kind in self.kinds[table].items()}

    def copy(self, query: str, target: Path, schema: pa.Schema) -> None:
        with (
            self._guard(),
            self._connection.cursor(name="longsynth") as cursor,
            pq.ParquetWriter(target, schema) as writer,
        ):
            cursor.execute(query)
            order = [column.name for column in cursor.description or ()]
            while rows := cursor.fetchmany(ROWS):
                columns = dict(zip(order, zip(*rows, strict=True), strict=True))
                arrays = [pa.array(columns[f.name], f.type) for f in schema]
                writer.write_table(pa.table(arrays, schema=schema))

    def _kinds(self, name: str, columns: tuple[Column, ...]) -> dict[str, Kind]:
        with self._guard():
            (there,) = self._connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() or (
                None,
            )
            if there is None:
                raise missing(name, self.where)
            description = (
                self._connection.execute(f"SELECT * FROM {name} LIMIT 0").description or ()
            )
        kinds = {c.name: POSTGRES_KINDS.get(c.type_code, "other") for c in description}
        return {c.name: kinds[c.name] for c in columns if c.name in kinds}

    def _guard(self) -> AbstractContextManager[None]:
        return without_cells(
            f"{self.where} stopped answering, or does not let this user read.",
            "Try again, or ask for the right to SELECT.",
        )


def _cell(column: str, role: Role, kind: Kind, copied: bool) -> str:
    """SQL for a cell in the model's type. In a copy, time stamps are hours since 1970."""
    match role:
        case "id" | "whole":
            return f"TRY_CAST({column} AS BIGINT)"
        case "stamp" if copied and kind in ("date", "timestamp", "zoned"):
            return moment(column)
        case "stamp":
            return f"TRY_CAST({column} AS TIMESTAMP)"
        case "number" if kind == "float":
            return f"CAST(CAST({column} AS DOUBLE) AS VARCHAR)"
        case _:
            return f"CAST({column} AS VARCHAR)"


def _arrow_kind(kind: pa.DataType) -> Kind:
    t = pa.types
    tests: dict[Kind, bool] = {
        "integer": t.is_integer(kind),
        "float": t.is_floating(kind),
        "decimal": t.is_decimal(kind),
        "boolean": t.is_boolean(kind),
        "text": is_text(kind),
        "date": t.is_date32(kind),
        "zoned": t.is_timestamp(kind) and kind.tz is not None,
        "timestamp": t.is_timestamp(kind),
        "null": t.is_null(kind),
    }
    return next((name for name, fits in tests.items() if fits), "other")


def _duckdb_kind(kind: str) -> Kind:
    whole = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
    known: dict[str, Kind] = {
        **dict.fromkeys(whole, "integer"),
        "FLOAT": "float",
        "DOUBLE": "float",
        "BOOLEAN": "boolean",
        "VARCHAR": "text",
        "DATE": "date",
        "TIMESTAMP": "timestamp",
        "TIMESTAMP_S": "timestamp",
        "TIMESTAMP_MS": "timestamp",
        "TIMESTAMP_NS": "timestamp",
        "TIMESTAMP WITH TIME ZONE": "zoned",
    }
    return "decimal" if kind.startswith("DECIMAL") else known.get(kind, "other")
