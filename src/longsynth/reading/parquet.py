"""Parquet columns for DuckDB and NumPy, in a form in which no single cell can stop a reader.

A Parquet file may contain text that is not UTF-8 and time stamps outside DuckDB's calendar. One
such cell would end the whole reading, and a very long one would exhaust the memory. So columns that
are not safe are copied first: text without cells that are not UTF-8 or too long, time stamps as
hours since 1970 in UTC.

When Arrow is given a Python number or list, it first loads pandas, if installed, to check for
pandas' own types. That takes longer than copying the labels of a million patients, so the usual
path through this file avoids it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.system.arrays import Floats

ROWS = 65_536  # per batch that is copied
FEW_ROWS = 1024  # per batch of text that is read cell by cell
ROWS_OF_NUMBERS = 131_072  # per batch that is read, at most
BUFFER = 1 << 18  # bytes per column read at once: row groups can have any size, and what is read
# stays in the processor's cache until it is unpacked
LONGEST = 1024  # bytes of a cell; no id, number or label needs more
INT96 = pa.binary(12)  # readers disagree about the extremes of this old kind of time stamp
SHORT = 4  # bytes per cell, at most, if a column chunk stores a list of few values
_TEXT = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
)
_PER_HOUR = {"s": 3600.0, "ms": 3600e3, "us": 3600e6, "ns": 3600e9}


def is_number(kind: pa.DataType) -> bool:
    t = pa.types
    tests = (t.is_integer, t.is_floating, t.is_decimal, t.is_boolean, t.is_null)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    return kind in _TEXT


def is_stamp(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date32(kind))


def column_types(path: Path) -> list[tuple[str, pa.DataType]]:
    """Return a Parquet file's columns; for a dictionary, the type of its values."""
    return [(field.name, _value_type(field.type)) for field in pq.read_schema(path)]


def stored_types(path: Path) -> list[tuple[str, pa.DataType]]:
    """Return the same, but a 96-bit time stamp as its 12 bytes."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
    odd = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    return [(name, INT96 if name in odd else kind) for name, kind in column_types(path)]


def type_name(kind: pa.DataType) -> str:
    """The first word of a type: names of fields and time zones may come from cells."""
    return re.split(r"\W", str(kind), maxsplit=1)[0]


def safe_file(source: Path, columns: Mapping[str, pa.DataType], copy: Path) -> Path:
    """Return the file where these columns can be read: the source if they are safe, or a copy."""
    if is_safe(source, columns):
        return source
    copy_safe(source, copy, list(columns))
    return copy


def is_safe(source: Path, columns: Mapping[str, pa.DataType]) -> bool:
    """Whether DuckDB can read these columns in place: every column that is not a number is text
    with few distinct values, which the file lists, and none of them could stop DuckDB. Checking
    the list costs far less than copying."""
    names = [name for name, kind in columns.items() if not is_number(kind)]
    if not {columns[name] for name in names} <= {pa.string(), pa.large_string()}:
        return False
    with pq.ParquetFile(source, read_dictionary=names, pre_buffer=False) as file:
        if not all(_is_short(chunk) and _is_listed(chunk) for chunk in _chunks(file, names)):
            return False
        batches = file.iter_batches(ROWS, columns=names, use_threads=False)
        return all(_is_sound(column) for batch in batches for column in batch.columns)


def copy_safe(source: Path, target: Path, columns: Sequence[str]) -> None:
    """Copy the columns, row for row."""
    listed = _listed_columns(source, columns)
    with _opened(source, listed) as file:
        schema = file.schema_arrow
        none = pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)
        rows = FEW_ROWS if set(listed) < set(_text_columns(source, columns)) else ROWS
        batches = chain([none], file.iter_batches(rows, columns=list(columns)))
        tables = (safe_table(batch, columns) for batch in batches)
        first = next(tables)
        quick = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with pq.ParquetWriter(target, first.schema, **quick) as writer:
            for table in tables:
                writer.write_table(table)


def safe_table(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
    """Return these columns of a batch in a form in which no cell can stop DuckDB."""
    return pa.Table.from_arrays([_safe_column(batch.column(c)) for c in columns], list(columns))


def _opened(source: Path, listed: Sequence[str]) -> pq.ParquetFile:
    """Open a file so that Arrow does not validate text: one wrong byte would end the reading.

    Each text of a `listed` column is in memory once, however many rows repeat it: a long text in a
    short file must not fill the memory. If all text columns are listed, Arrow validates none;
    otherwise text is read as bytes.
    """
    dense = {} if listed else {"binary_type": pa.large_binary()}
    return pq.ParquetFile(
        source,
        coerce_int96_timestamp_unit="us",
        read_dictionary=list(listed),
        pre_buffer=False,  # it would load the whole file
        buffer_size=1 << 20,
        **dense,
    )


def _listed_columns(source: Path, columns: Sequence[str]) -> list[str]:
    """The text columns if Arrow can list the values of each, or none."""
    text = _text_columns(source, columns)
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return text if all(map(_is_listed, _chunks(file, text))) else []


def _text_columns(source: Path, columns: Sequence[str]) -> list[str]:
    return [name for name, kind in column_types(source) if name in columns and is_text(kind)]


def _chunks(file: pq.ParquetFile, names: Sequence[str]) -> Iterator[pq.ColumnChunkMetaData]:
    for group in map(file.metadata.row_group, range(file.num_row_groups)):
        chunks = map(group.column, range(len(file.schema)))
        yield from (chunk for chunk in chunks if chunk.path_in_schema in names)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _safe_column(column: pa.Array) -> pa.Array:
    kind = _value_type(column.type)
    if is_text(kind):
        listed = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        return _text(listed.dictionary.cast(pa.large_binary())).take(listed.indices)
    if is_stamp(kind):
        return _hours(column)
    return column.cast(kind)


def _is_short(text: pq.ColumnChunkMetaData) -> bool:
    return bool(text.total_uncompressed_size <= SHORT * text.num_values)


def _is_listed(text: pq.ColumnChunkMetaData) -> bool:
    """Arrow makes no list of values from other encodings."""
    return set(text.encodings) <= {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY"}


def _is_sound(labels: pa.Array) -> bool:
    if not pa.types.is_dictionary(labels.type):  # a nested column whose path is this name
        return False
    cells = labels.dictionary.cast(pa.large_binary())
    return bool(_text(cells).cast(pa.large_binary()).equals(cells))


def _text(cells: pa.Array) -> pa.Array:
    size = pc.binary_length(cells)
    if (pc.max(size).as_py() or 0) > LONGEST:
        cells = pc.if_else(pc.less_equal(size, LONGEST), cells, None)
    try:
        return cells.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array(map(_decoded, cells.to_pylist()), pa.large_string())


def _decoded(cell: bytes | None) -> str | None:
    """None for a cell that is not UTF-8: replaced characters could merge two ids into one."""
    try:
        return None if cell is None else cell.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _hours(stamps: pa.Array) -> pa.Array:
    if pa.types.is_date32(stamps.type):
        return pa.array(stamps.cast(pa.int32()).to_numpy(zero_copy_only=False) * 24.0)
    ticks = stamps.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return pa.array(ticks / _PER_HOUR[stamps.type.unit])


def parquet_batches(file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows. A batch that ends with its row group saves a copy."""
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER) as opened:
        size = opened.metadata.row_group(0).num_rows if opened.num_row_groups else 0
        most = ROWS_OF_NUMBERS
        rows = ceil(size / ceil(size / most)) if size > most else most
        yield from opened.iter_batches(rows, columns=columns, use_threads=False)


def numbers(column: pa.Array, kind: pa.DataType) -> NDArray[Any]:
    """Return a column without nulls as it is in memory. `to_numpy` would load pandas."""
    return np.from_dlpack(column if column.type == kind else column.cast(kind))


def times(column: pa.Array, unit: float) -> Floats:
    """Return a column of times in hours; one unit is so many hours. NaN where there is no time."""
    if column.type == pa.float64() and not column.null_count:
        time = numbers(column, pa.float64())
    else:
        time = np.empty(len(column))
        read_numbers(column, time)
    with np.errstate(over="ignore"):
        return time if unit == 1 else time * unit


def unread(column: pa.Array) -> int:
    """How many cells are not empty and contain no finite number."""
    if not pa.types.is_floating(column.type):
        return 0
    finite = pc.sum(pc.is_finite(column)).as_py() or 0
    return int(len(column) - column.null_count - finite)


def read_numbers(column: pa.Array, out: Floats) -> None:
    """Write a column's numbers, NaN where there is none. Arrow's own conversion is slower."""
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    known, data = column.buffers()
    if len(column) == column.null_count or data is None:
        out[:] = np.nan
        return
    stored = np.frombuffer(data, np.float64, len(column), 8 * column.offset)
    if column.null_count == 0:
        out[:] = stored
        return
    bits, end = np.frombuffer(known, np.uint8), column.offset + len(column)
    there = np.unpackbits(bits, count=end, bitorder="little")[column.offset :].view(np.int8)
    there -= 1  # all bits set make a NaN; no bit set leaves a number as it is
    np.bitwise_or(stored.view(np.int64), there.astype(np.int64), out=out.view(np.int64))
