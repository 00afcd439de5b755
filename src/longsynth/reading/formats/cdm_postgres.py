"""OMOP tables in Postgres, read in one snapshot through a cursor on the server.

The password comes from PGPASSWORD or a password file, never from the address: command lines are
visible to others.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.formats.cdm import STRICT, Column, Kind, Tables, check_types, missing
from longsynth.reading.mapping import Step
from longsynth.system.errors import Refused
from longsynth.system.reader_errors import without_cells

ROWS = 20_000  # a fetch
KINDS: dict[int, Kind] = {  # of Postgres's built-in types
    **dict.fromkeys((20, 21, 23), "integer"),
    **dict.fromkeys((700, 701), "float"),
    1700: "decimal",
    16: "boolean",
    **dict.fromkeys((25, 1042, 1043), "text"),
    1082: "date",
    1114: "timestamp",
    1184: "zoned",
}
TYPES: dict[Kind, str] = {
    "integer": "int64",
    "float": "float64",
    "decimal": "decimal",
    "boolean": "boolean",
    "text": "string",
    "date": "date",
    "timestamp": "timestamp",
    "zoned": "timestamp('UTC')",
}


class Postgres:
    """One transaction that only reads. Close it when all is copied."""

    dialect = "postgres"

    def __init__(self, url: str, tables: Tables, step: Step) -> None:
        try:
            address = urlsplit(url)
            secret = address.password
        except ValueError:
            raise Refused(
                "the address is none: give postgresql://user@host:port/database."
            ) from None
        if secret is not None or "password=" in address.query:
            raise Refused(
                "the address holds a password, which others can see in a list of processes: remove "
                "it and set PGPASSWORD."
            )
        self.where = f"database {address.path.strip('/') or 'by default'}"
        step("opening the database")
        with without_cells(
            f"{self.where} cannot be opened: does the server run, are address and user right, and "
            "is PGPASSWORD set?"
        ):
            self._connection = psycopg.connect(url)
        try:
            with self._quiet():
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
        return {column: TYPES[kind] for column, kind in self.kinds[table].items()}

    def copy(self, query: str, target: Path, schema: pa.Schema) -> None:
        with (
            self._quiet(),
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
        with self._quiet():
            (there,) = self._connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() or (
                None,
            )
            if there is None:
                raise missing(name, self.where)
            description = (
                self._connection.execute(f"SELECT * FROM {name} LIMIT 0").description or ()
            )
        found = {c.name: KINDS.get(c.type_code, "other") for c in description}
        return {c.name: found[c.name] for c in columns if c.name in found}

    def _quiet(self) -> AbstractContextManager[None]:
        return without_cells(
            f"{self.where} stopped answering, or does not let this user read: try again, or ask "
            "for the right to SELECT."
        )
