"""OMOP tables in files: a folder of Parquet, or one DuckDB database."""

from pathlib import Path
from typing import Self

import pyarrow as pa

from longsynth.reading.formats.cdm import (
    IBIS,
    TAKES,
    Kind,
    Kinds,
    Role,
    Tables,
    check_types,
    missing,
)
from longsynth.reading.mapping import Step, moment
from longsynth.reading.plain import is_text
from longsynth.reading.sql import literal, quoted
from longsynth.reading.stage import Stage
from longsynth.system.errors import CohortError
from longsynth.system.reader_errors import without_cells


class Files:
    """Tables that DuckDB reads itself. Each becomes a view in the model's own types."""

    dialect = "duckdb"

    def __init__(self, source: Path, tables: Tables, stage: Stage, step: Step) -> None:
        self._stage, self._tables = stage, tables
        self._scans: dict[str, str] = {}
        self.kinds: Kinds = {}
        (self._open_folder if source.is_dir() else self._open_database)(source, step)
        check_types(tables, self.kinds, TAKES)
        self._define()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The stage closes what was opened."""

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
            self._stage.run(f"CREATE VIEW {quoted(name)} AS SELECT {', '.join(cells)} FROM {scan}")

    def copy(self, query: str, target: Path, schema: pa.Schema) -> None:
        cells = ", ".join(
            f"CAST({quoted(f.name)} AS {SQL[f.type]}) AS {quoted(f.name)}" for f in schema
        )
        self._stage.run(
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
            table = self._stage.parquet(path, path.name, [], wanted)
            self._scans[name] = table.scan
            self.kinds[name] = {column: _arrow_kind(kind) for column, kind in table.types.items()}

    def _open_database(self, path: Path, step: Step) -> None:
        self._copied = False
        if not path.is_file():
            raise CohortError(
                f"{path} is neither a folder of Parquet tables, nor a DuckDB file, nor a "
                "postgresql:// address: give one of these."
            )
        step("opening the database")
        with without_cells(f"{path} cannot be opened as a DuckDB database: is it one, and whole?"):
            self._stage.run(f"ATTACH {literal(path.absolute())} AS omop (READ_ONLY)")
            listed = self._stage.connection.execute("""
                SELECT table_schema, table_name, column_name, data_type
                FROM information_schema.columns WHERE table_catalog = 'omop'""").fetchall()
        for name, columns in self._tables.items():
            homes = sorted({schema for schema, table, _, _ in listed if table.lower() == name})
            if not homes:
                raise missing(name, str(path))
            if len(homes) > 1:
                raise CohortError(f"{path} has table {name} in several schemas: keep one.")
            own = {
                column.lower(): _duckdb_kind(kind)
                for schema, table, column, kind in listed
                if (schema, table.lower()) == (homes[0], name)
            }
            self._scans[name] = f"omop.{quoted(homes[0])}.{quoted(name)}"
            self.kinds[name] = {c.name: own[c.name] for c in columns if c.name in own}


SQL = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}


def _cell(column: str, role: Role, kind: Kind, copied: bool) -> str:
    """SQL for a cell in the model's type. In a copy, stamps are hours since 1970."""
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
