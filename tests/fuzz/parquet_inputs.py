"""Malformed Parquet: damaged bytes, lying footers, and columns of types that no one expects."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from numpy.random import Generator

from fuzz.cohorts import IDS, MEASURED, PEOPLE, ROWS, csv_text, number, typed, write_schema
from fuzz.mutation import DAMAGES, TOKENS, mutated, one_of
from leaks.sentinels import MARK, NUMBERS, WHOLE

LARGEST = 2**63 - 1
FLOATS = (*NUMBERS, 0.0, -0.0, 1.0, 80.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1e308)
TEXTS = (
    *(MARK, "", "1", "80", " 7 ", "x", "nan", "1e999", "\x00", "é", "x" * 2000, "x" * 70_000),
    *("2020-01-01", "2020-01-01 00:00 Nowhere/Zone", "294247-01-10 04:00:54.775807-15:59", "A"),
)


def _floats(rng: Generator, n: int) -> list[float | None]:
    return [None if rng.random() < 0.1 else one_of(rng, FLOATS) for _ in range(n)]


def _wholes(rng: Generator, n: int) -> list[int | None]:
    options = (0, 1, 2, -1, 80, *WHOLE, LARGEST, -LARGEST - 1, None)
    return [one_of(rng, options) for _ in range(n)]


def _texts(rng: Generator, n: int) -> list[str | None]:
    return [None if rng.random() < 0.1 else one_of(rng, TEXTS) for _ in range(n)]


def _not_utf8(rng: Generator, n: int) -> pa.Array:
    cells = [one_of(rng, (b"\xff", MARK.encode() + b"\xed\xa0\x80", b"1", b"")) for _ in range(n)]
    return pa.Array.from_buffers(pa.string(), n, pa.array(cells, pa.binary()).buffers())


def _stamps(rng: Generator, n: int) -> pa.Array:
    zone = one_of(rng, (None, "UTC", "America/New_York", "+05:30"))
    kind = pa.timestamp(one_of(rng, ("s", "ms", "us", "ns")), zone)
    return pa.array(
        [one_of(rng, (0, WHOLE[0], LARGEST, -LARGEST - 1, None)) for _ in range(n)]
    ).cast(kind)


def _dictionary(rng: Generator, n: int) -> pa.Array:
    made = one_of(rng, (_texts, _floats, _wholes, _stamps))(rng, n)
    return pa.array(made).dictionary_encode()


def _bare(kind: pa.DataType) -> Callable[[Generator, int], pa.Array]:
    return lambda rng, n: pa.array(rng.integers(0, 100, n)).cast(kind)


COLUMNS: tuple[Callable[[Generator, int], Any], ...] = (
    *(_floats, _wholes, _texts, _not_utf8, _stamps, _dictionary),
    *(_floats, _wholes, _texts, _not_utf8, _stamps, _dictionary),
    lambda rng, n: pa.array(_texts(rng, n)).cast(one_of(rng, (pa.large_string(), pa.binary()))),
    lambda rng, n: pa.array(_texts(rng, n), one_of(rng, (pa.string_view(), pa.binary_view()))),
    lambda rng, n: pa.nulls(n),
    lambda rng, n: [bool(b) for b in rng.integers(0, 2, n)],
    lambda rng, n: pa.array(_floats(rng, n), pa.float32()),
    lambda rng, n: pa.array([np.float16(x) for x in rng.random(n)], pa.float16()),
    lambda rng, n: [
        Decimal(one_of(rng, ("0", "1.5", "-99999999999999999999.25"))) for _ in range(n)
    ],
    lambda rng, n: pa.array([Decimal("1e60")] * n, pa.decimal256(70, 2)),
    lambda rng, n: pa.array([2**64 - 1 - i for i in range(n)], pa.uint64()),
    lambda rng, n: [[x] for x in _floats(rng, n)],
    lambda rng, n: [{MARK: x} for x in _floats(rng, n)],
    lambda rng, n: pa.array([[(MARK, 1.0)]] * n, pa.map_(pa.string(), pa.float64())),
    lambda rng, n: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64(), 2)),
    lambda rng, n: pa.array([dt.time(1, 2, 3)] * n),
    lambda rng, n: pa.array(rng.integers(-(2**31), 2**31, n), pa.int32()).cast(pa.date32()),
    lambda rng, n: pa.array([dt.date(2020, 1, 1)] * n, pa.date64()),
    lambda rng, n: pa.array([dt.timedelta(days=1)] * n),
    lambda rng, n: pa.array([MARK.encode()] * n, pa.binary(len(MARK))),
    lambda rng, n: pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"0" * 16] * n, pa.binary(16))
    ),
    lambda rng, n: pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"] * n, pa.string())),
    lambda rng, n: pa.ExtensionArray.from_storage(pa.bool8(), pa.nulls(n, pa.int8())),
    *(_bare(kind) for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64())),
)


def any_parquet(folder: Path, rng: Generator) -> None:
    """Both tables as Parquet: odd columns, odd files, or damaged bytes."""
    write_schema(folder, **_other_time(rng))
    for name, table in (("observations", ROWS), ("patients", PEOPLE)):
        path = folder / f"{name}.parquet"
        odd = rng.random() < 0.5
        write_parquet(path, _odd_table(table, rng) if odd else typed(table), rng)
        if rng.random() < (0.1 if odd else 0.5):
            path.write_bytes(damaged_parquet(path.read_bytes(), rng))
        elif rng.random() < 0.02:
            feather.write_feather(typed(table), path)
        elif rng.random() < 0.02:
            path.write_text(csv_text(table))


def parquet_cells(folder: Path, rng: Generator) -> None:
    """The cells of the first patient replaced within their columns' types: no one may notice."""
    write_schema(folder)
    for name, table in (("observations", ROWS), ("patients", PEOPLE)):
        mine = [i for i, who in enumerate(table["patient_id"]) if who == IDS[0]]
        columns: dict[str, Any] = {"patient_id": table["patient_id"]}
        for column, cells in list(table.items())[1:]:
            numbers = column in MEASURED
            others = [number(c) if numbers else None if c is None else str(c) for c in cells]
            for i in mine:
                others[i] = one_of(rng, FLOATS if numbers else TEXTS)
            columns[column] = others
            if not numbers and rng.random() < 0.3:
                columns[column] = _with_wrong_bytes(others, mine, rng)
        write_parquet(folder / f"{name}.parquet", pa.table(columns), rng)


def _with_wrong_bytes(cells: list[Any], mine: list[int], rng: Generator) -> pa.Array:
    raw = [None if c is None else c.encode() for c in cells]
    for i in mine:
        raw[i] = rng.bytes(int(rng.integers(0, 12)))
    array = pa.array(raw, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), array.buffers())


def _odd_table(table: dict[str, list[Any]], rng: Generator) -> pa.Table:
    plain = typed(table)
    n = one_of(rng, (0, 1, 50, *[len(plain)] * 9))
    names, columns = list(table), [plain.column(c) for c in table]
    if n != len(plain):
        columns = [_filled(rng, c, n) for c in columns]
    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(len(columns))) if rng.random() < 0.2 else -int(rng.integers(1, 4))
        made = one_of(rng, COLUMNS)(rng, n)
        columns[at] = made if isinstance(made, pa.Array) else pa.array(made)
    action = rng.random()
    if action < 0.05:
        names[int(rng.integers(len(names)))] = names[0]
    elif action < 0.1:
        names[-1] = one_of(rng, ("", names[-1].upper(), "a.b", "x" * 3000, "\x00", "é", "filename"))
    elif action < 0.13:
        names, columns = names[:-1], columns[:-1]
    elif action < 0.15:
        names, columns = [], []
    elif action < 0.2:
        extra = int(rng.integers(1, 400))
        names += [f"c{i}" for i in range(extra)]
        columns += [pa.nulls(n, pa.int8())] * extra
    made = pa.table(columns, names)
    if rng.random() < 0.1:
        made = made.replace_schema_metadata(
            {"pandas": "{", "ARROW:schema": "x", "k": "v" * 100_000}
        )
    return made


def _filled(rng: Generator, column: pa.ChunkedArray, n: int) -> pa.Array:
    return pa.array([f"{MARK}-{i}" for i in range(n)]) if rng.random() < 0.8 else pa.nulls(n)


def _other_time(rng: Generator) -> dict[str, object]:
    if rng.random() < 0.6:
        return {}
    return {"time": {"unit": one_of(rng, ("timestamp", "timestamp", "seconds", "days"))}}


def write_parquet(path: Path, table: pa.Table, rng: Generator) -> None:
    options: dict[str, Any] = {
        "compression": one_of(rng, ("snappy", "none", "zstd", "gzip", "lz4", "brotli")),
        "use_dictionary": bool(rng.random() < 0.5),
        "data_page_version": one_of(rng, ("1.0", "2.0")),
        "row_group_size": one_of(rng, (1, 3, 1000)),
        "write_statistics": bool(rng.random() < 0.7),
        "store_schema": bool(rng.random() < 0.8),
        "write_page_checksum": bool(rng.random() < 0.2),
    }
    rare = {"version": "1.0"} if rng.random() < 0.2 else {}
    if rng.random() < 0.2:
        rare = {"use_deprecated_int96_timestamps": True}
    try:
        pq.write_table(table, path, **options, **rare)
    except pa.ArrowException:  # something that this format cannot hold
        pq.write_table(typed(ROWS), path, **options)


def damaged_parquet(whole: bytes, rng: Generator) -> bytes:
    if len(whole) < 12 or rng.random() < 0.25:
        return mutated(whole, rng)
    size = int.from_bytes(whole[-8:-4], "little")
    start = max(4, len(whole) - 8 - size)
    pages, footer = whole[4:start], whole[start:-8]
    action = rng.random()
    if action < 0.55:  # the footer says something else, and is found
        for _ in range(int(rng.integers(1, 4))):
            footer = _other_bytes(footer, rng)
    elif action < 0.75:  # the cells are damaged
        pages = _other_bytes(pages, rng)
    elif action < 0.85:
        size = int(one_of(rng, (0, 1, size + 1, 2 * size, 2**31 - 1, 2**32 - 1)))
        return whole[:-8] + size.to_bytes(4, "little") + b"PAR1"
    elif action < 0.9:
        return one_of(rng, (b"PARE", b"PAR2", b"\x00" * 4)) + whole[4:-4] + b"PARE"
    else:
        pages, footer = mutated(pages, rng), mutated(footer, rng, most=1)
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _other_bytes(content: bytes, rng: Generator) -> bytes:
    """Damage that mostly keeps what follows in its place."""
    if rng.random() < 0.8:
        return one_of(rng, DAMAGES[:3])(content, rng)
    at = int(rng.integers(len(content) + 1))
    return content[:at] + one_of(rng, TOKENS[-4:]) + content[at + 1 :]
