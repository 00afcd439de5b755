"""Every physical type that a column of a Parquet file can have, at its extremes, and the uses for
which a fit accepts it."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support import receipt_for

PATIENTS, PER_PATIENT = 20, 3
ROWS = PATIENTS * PER_PATIENT
INF, NAN, MOST = float("inf"), float("nan"), 2**63 - 1


def _text(*cells: bytes) -> pa.Array:
    """Text, whether or not the bytes are UTF-8."""
    raw = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def _whole(kind: pa.DataType, low: int, high: int) -> pa.Array:
    return pa.array([low, high, None, 1], kind)


def _ticks(unit: str, zone: str | None = None) -> pa.Array:
    return pa.array([MOST, -MOST, 9_999_999_999_999_999, None]).cast(pa.timestamp(unit, zone))


ODD_TEXT = _text(b"", b"x" * 100_000, b"\xff\xfe", b"\x00", "\U0001f469".encode(), b"nan", b"1e999")
WHOLE = {
    f"{sign}int{bits}": _whole(
        getattr(pa, f"{sign}int{bits}")(),
        0 if sign else -(2 ** (bits - 1)),
        2**bits - 1 if sign else 2 ** (bits - 1) - 1,
    )
    for sign, bits in [("", 8), ("", 16), ("", 32), ("", 64), ("u", 8), ("u", 16), ("u", 32)]
}
REAL = {
    "float": pa.array([NAN, INF, -INF, 3.4e38, 1e-45, -0.0, None], pa.float32()),
    "double": pa.array([NAN, INF, -INF, 1.7e308, 5e-324, -0.0, None], pa.float64()),
    "bool": pa.array([True, False, None]),
    "null": pa.nulls(3),
}
TEXT = {
    "string": ODD_TEXT,
    "large_string": ODD_TEXT.cast(pa.large_binary()).view(pa.large_string()),
    "string_view": pa.array(["", "x" * 100_000, "\x00", None], pa.string_view()),
    "dictionary of strings": pa.DictionaryArray.from_arrays(range(len(ODD_TEXT)), ODD_TEXT),
}
STAMPS = {
    "timestamp[s]": pa.array([0, 253_402_300_800, None], pa.timestamp("s")),
    "timestamp[ms]": _ticks("ms"),
    "timestamp[us]": _ticks("us"),
    "timestamp[ns]": _ticks("ns"),
    "timestamp[ms, zone]": _ticks("ms", "America/New_York"),
    "timestamp[us, UTC]": _ticks("us", "UTC"),
    "date32": pa.array([2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, 86_400_000, None]).cast(pa.date64()),
}
OTHERS = {
    "uint64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "float16": pa.array(np.array([1, 65504, np.inf], np.float16)),
    "decimal128": pa.array([Decimal("9" * 36 + ".99"), None], pa.decimal128(38, 2)),
    "decimal256": pa.array([Decimal("9" * 70), None], pa.decimal256(76, 0)),
    "binary": pa.array([b"\xff", b"x" * 100_000, None]),
    "large_binary": pa.array([b"\xff", None], pa.large_binary()),
    "fixed_size_binary": pa.array([b"\xff" * 16, None], pa.binary(16)),
    "time32": pa.array([0, 86_399_999, None], pa.time32("ms")),
    "time64": pa.array([0, 86_399_999_999, None], pa.time64("us")),
    "time64[ns]": pa.array([0, 86_399_999_999_999, None], pa.time64("ns")),
    "duration": pa.array([MOST, -MOST, None], pa.duration("us")),
    "list": pa.array([[1.0], [], None]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "dictionary of whole numbers": pa.array([MOST, None]).dictionary_encode(),
}
EVERY = WHOLE | REAL | TEXT | STAMPS | OTHERS
ACCEPTED: dict[str, set[str]] = {  # by what a column is used for
    "id": {*WHOLE, *TEXT, "null", "dictionary of whole numbers"},
    "value": {*WHOLE, *REAL, "dictionary of whole numbers"},
    "time": {*WHOLE, *REAL, "dictionary of whole numbers"},
    "stamp": {*STAMPS, "null"},
    "label": {*WHOLE, *REAL, *TEXT, "dictionary of whole numbers"},
}


def _schema(**changes: Any) -> dict[str, Any]:
    pulse = {"kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
    return {
        "longsynth": 1,
        "name": "types",
        "slots": PER_PATIENT,
        "max_gap": 48,
        "site": {"column": "site", "levels": ["A", "B", "1"]},
        "variables": [{"name": "pulse"} | pulse],
    } | changes


def observations() -> dict[str, Any]:
    return {
        "patient_id": np.repeat(np.arange(PATIENTS), PER_PATIENT),
        "time": np.tile(np.arange(PER_PATIENT) * 6.0, PATIENTS),
        "pulse": np.linspace(30, 200, ROWS),
    }


def patients() -> dict[str, Any]:
    who = np.arange(PATIENTS)
    return {"patient_id": who, "group": who % 2, "event": who // 2 % 2, "site": ["A", "B"] * 10}


def repeated(cells: pa.Array, length: int) -> pa.Array:
    """A column in which every extreme stands, over and over."""
    return _taken(cells, np.arange(length) % len(cells))


def _taken(cells: pa.Array, places: np.ndarray) -> pa.Array:
    if cells.type == pa.string_view():  # which Arrow cannot take from
        return cells.cast(pa.string()).take(pa.array(places)).cast(cells.type)
    return cells.take(pa.array(places))


def write_typed(
    folder: Path,
    rows: dict[str, Any],
    people: dict[str, Any],
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Write a cohort; `options` are those of the Parquet writer, `changes` those of the schema."""
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(json.dumps(_schema(**changes)))
    pq.write_table(pa.table(rows), folder / "observations.parquet", **(options or {}))
    pq.write_table(pa.table(people), folder / "patients.parquet", **(options or {}))
    return receipt_for(folder)


def cohort_of(folder: Path, role: str, kind: str, **options: Any) -> Path:
    """A cohort in which one column of this role has this type, at its extremes."""
    cells, rows, people = EVERY[kind], observations(), patients()
    match role:
        case "id":
            people["patient_id"] = _ids_of(kind)
            ids = _taken(people["patient_id"], rows["patient_id"])
            rows["patient_id"] = pa.nulls(ROWS) if kind == "null" else ids
            return write_typed(folder, rows, people, options)
        case "value":
            rows["pulse"] = repeated(cells, ROWS)
            return write_typed(folder, rows, people, options)
        case "label":
            people["site"] = repeated(cells, PATIENTS)
            return write_typed(folder, rows, people, options)
        case "time":
            rows["time"] = repeated(cells, ROWS)
            return write_typed(folder, rows, people, options)
        case _:
            rows["time"] = repeated(cells, ROWS)
            return write_typed(folder, rows, people, options, time={"unit": "timestamp"})


def _ids_of(kind: str) -> pa.Array:
    """Distinct ids of a type, its extremes among them; anything where there can be no ids."""
    cells = EVERY[kind]
    if kind in WHOLE:
        low, high = cells[0].as_py(), cells[1].as_py()
        return pa.array([low, high, *range(2, PATIENTS)], cells.type)
    names = pa.array([f"patient {i} \U0001f469" for i in range(PATIENTS)])
    match kind:
        case "string" | "null":
            return names
        case "large_string":
            return names.cast(pa.large_string())
        case "string_view":
            return names.cast(pa.string_view())
        case "dictionary of strings":
            return names.dictionary_encode()
        case "dictionary of whole numbers":
            return pa.array(np.arange(PATIENTS) - MOST).dictionary_encode()
    return repeated(cells, PATIENTS)
