"""The cohort that every malformed one is made from. All its ids and cells are sentinels."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leaks.sentinels import HOURS, MARK, VALID, WILD
from support import receipt_for

SCHEMA: dict[str, Any] = {
    "longsynth": 1,
    "name": "malformed",
    "slots": 2,
    "max_gap": 48,
    "site": {"column": "site", "levels": ["A", "B", "C"]},
    "variables": [
        {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"},
        {"name": "oxygen", "kind": "binary"},
    ],
}
IDS = [f"{MARK}-{n}" for n in range(4)]
PEOPLE: dict[str, list[Any]] = {
    "patient_id": IDS,
    "group": [0, 1, f"{MARK}g", 1],
    "event": [0, 1, 1, f"{MARK}e"],
    "site": ["A", "B", f"{MARK}s", "C"],
}
ROWS: dict[str, list[Any]] = {
    "patient_id": [IDS[0], IDS[0], IDS[1], IDS[2], IDS[2], f"{MARK}-nobody"],
    "time": [HOURS[0], 8.5, HOURS[1], 1, f"{MARK}t", 3],
    "pulse": [VALID[0], 80, WILD[0], f"{MARK}p", VALID[1], 90],
    "oxygen": [0, 1, WILD[1], None, 1, 0],
}
TABLES = {"observations": ROWS, "patients": PEOPLE}
MEASURED = ("time", "pulse", "oxygen")


def csv_text(table: dict[str, list[Any]]) -> str:
    lines = [",".join(table)]
    for cells in zip(*table.values(), strict=True):
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    return "\n".join(lines) + "\n"


def write_schema(folder: Path, **changes: object) -> None:
    (folder / "schema.yaml").write_text(json.dumps(SCHEMA | changes))  # JSON is YAML too


def number(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def typed(table: dict[str, list[Any]]) -> pa.Table:
    """A table in the types that a fit accepts: text among numbers is missing."""
    columns = {
        name: [number(c) if name in MEASURED else None if c is None else str(c) for c in cells]
        for name, cells in table.items()
    }
    return pa.table(columns)


def write_typed(folder: Path) -> None:
    """Write the cohort as Parquet."""
    write_schema(folder)
    for name, table in TABLES.items():
        pq.write_table(typed(table), folder / f"{name}.parquet")
    receipt_for(folder)


def write_csv(folder: Path, **tables: bytes) -> None:
    """Write a cohort as CSV; a table not given is as above."""
    write_schema(folder)
    for name, table in TABLES.items():
        (folder / f"{name}.csv").write_bytes(tables.get(name, csv_text(table).encode()))
