"""Cohorts with planted sentinels: valid, extreme and malformed ones; also as CSV, for imports.

All have the same public facts. What differs is in the cells of the first patients, so nothing that
a command says may differ either.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leaks.sentinels import FAR_HOURS, HOURS, MARK, VALID, WHOLE, WILD
from longsynth.schema.file import dump
from support import receipt_for, small_schema

PATIENTS, SLOTS = 40, 4
MARKED = 12  # patients with sentinels in their measurements
Table = dict[str, list[Any]]
MEASURED, LABELS = ("time", "pulse", "dose", "oxygen"), ("group", "event", "site")
ODD = (  # cells that no reader expects; each holds the mark
    *(f"{MARK}", f'"{MARK}', f"{MARK}\x00\x07", f"\x1b[31m{MARK}", f"{MARK}" * 20_000),
    *(f"1,5{MARK}", f"{MARK}\r{MARK}", f" {MARK}\t", f"\ufeff{MARK}", f"2020-01-01 {MARK}"),
    *(MARK.encode() + b"\xff\xfe", b"\xed\xa0\x80" + MARK.encode()),
)


def ids(kind: str) -> list[Any]:
    """Text with the mark or, where cells are valid, whole numbers as hospitals have them."""
    if kind == "whole":
        return list(WHOLE)
    return [f"{MARK}-{n:02d}" for n in range(PATIENTS)]


def tables(kind: str, seed: int = 0, *, text: bool = False) -> tuple[Table, Table]:
    """Return observations and patients; `kind` says what stands in the marked patients' cells. As
    `text`, for CSV, measurements can be malformed too; in Parquet they have a type."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(PATIENTS), SLOTS)
    known = ids(kind)
    rows: Table = {
        "patient_id": [known[i] for i in who],
        "time": (np.tile(np.arange(SLOTS) * 6.0, PATIENTS) + rng.random(len(who))).tolist(),
        "pulse": rng.normal(90, 20, len(who)).tolist(),
        "dose": rng.integers(0, 5, len(who)).astype(float).tolist(),
        "oxygen": rng.integers(0, 2, len(who)).astype(float).tolist(),
    }
    people: Table = {
        "patient_id": known,
        "group": [str(n % 2) for n in range(PATIENTS)],
        "event": [str(n // 2 % 2) for n in range(PATIENTS)],
        "site": [("A", "B", "C")[n % 3] for n in range(PATIENTS)],
    }
    for i in range(MARKED * SLOTS):
        _mark_row(rows, i, kind if text or kind != "malformed" else "extreme")
    if kind == "malformed":
        for n in range(len(ODD) * len(LABELS)):
            _put_odd(people, n, LABELS)
    return rows, people


def _mark_row(rows: Table, i: int, kind: str) -> None:
    if kind in ("valid", "whole"):
        rows["pulse"][i] = VALID[i % len(VALID)]
        rows["time"][i] = HOURS[i % SLOTS]
    elif kind == "extreme":
        for column in ("pulse", "dose", "oxygen"):
            rows[column][i] = WILD[i % len(WILD)]
        rows["time"][i] = FAR_HOURS[i % SLOTS]
    else:
        _put_odd(rows, i, MEASURED)


def _put_odd(table: Table, i: int, columns: tuple[str, ...]) -> None:
    """One to a row: where one spoils the line, no other would be read."""
    table[columns[i // len(ODD)]][i] = ODD[i % len(ODD)]


def write_parquet(folder: Path, kind: str, seed: int = 0) -> Path:
    _start(folder)
    for name, table in zip(("observations", "patients"), tables(kind, seed), strict=True):
        columns = {column: _stored(cells) for column, cells in table.items()}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return receipt_for(folder)


def _stored(cells: list[Any]) -> pa.Array:
    """Numbers as such; otherwise text, and among it bytes that are none."""
    if not any(isinstance(cell, str | bytes) for cell in cells):
        return pa.array(cells)
    raw = pa.array([_bytes(cell) for cell in cells], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def write_csv(folder: Path, kind: str, seed: int = 0) -> Path:
    _start(folder)
    made = tables(kind, seed, text=True)
    for name, table in zip(("observations", "patients"), made, strict=True):
        lines = [",".join(table).encode()]
        lines += [b",".join(map(_bytes, cells)) for cells in zip(*table.values(), strict=True)]
        (folder / f"{name}.csv").write_bytes(b"\n".join(lines) + b"\n")
    return folder


def _bytes(cell: Any) -> bytes:
    return cell if isinstance(cell, bytes) else str(cell).encode()


def _start(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(dump(small_schema()))


COHORTS = {
    "valid parquet": (write_parquet, "valid"),
    "whole ids": (write_parquet, "whole"),
    "extreme parquet": (write_parquet, "extreme"),
    "malformed parquet": (write_parquet, "malformed"),
}


def write_fhir(folder: Path) -> Path:
    """A small FHIR export whose ids, values, names and times are sentinels."""
    folder.mkdir()
    who = f"{MARK}-1"
    patient = {"resourceType": "Patient", "id": who, "name": [{"family": MARK}]}
    loinc = {"system": "http://loinc.org", "code": "8867-4"}
    observation = {
        "resourceType": "Observation",
        "id": f"{MARK}-2",
        "status": "final",
        "subject": {"reference": f"Patient/{who}"},
        "code": {"coding": [loinc], "text": MARK},
        "effectiveDateTime": "2024-03-01T10:00:00Z",
        "valueQuantity": {
            "value": VALID[1],
            "code": "/min",
            "system": "http://unitsofmeasure.org",
        },
    }
    for resource in (patient, observation):
        file = folder / f"{resource['resourceType']}.ndjson"
        file.write_text(json.dumps(resource) + "\n", encoding="utf-8")
    return folder
