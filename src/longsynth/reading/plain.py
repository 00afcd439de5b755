"""Parquet columns in a form in which no single cell can stop DuckDB.

A Parquet file may hold text that is not UTF-8 and time stamps beyond DuckDB's calendar; one such
cell would end the whole reading, and a very long one would exhaust its memory. So columns that
are not plain are copied first: text without cells that are not UTF-8 or too long, time stamps as
hours since 1970 in UTC.

Arrow, given a number or a list of Python's, first loads pandas where that is installed, to see
whether it is one of its own. That takes longer than to copy the labels of a million patients, so
the usual way through here gives it none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 65_536  # a batch
FEW_ROWS = 1024  # a batch of text that is read cell by cell
LONGEST = 1024  # bytes of a cell; no id, number or label needs more
INT96 = pa.binary(12)  # readers disagree about the extremes of this old kind of time stamp
SHORT = 4  # bytes a cell, at most, where a file lists the values: else it takes them for a length
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
    """Return a Parquet file's columns; of a dictionary, what it stands for."""
    found = pq.read_schema(path)
    return [(field.name, _undictionaried(field.type)) for field in found]


def stored_types(path: Path) -> list[tuple[str, pa.DataType]]:
    """Return the same, but a time stamp of 96 bits as the 12 bytes that it is."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
    odd = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    return [(name, INT96 if name in odd else kind) for name, kind in column_types(path)]


def shown(kind: pa.DataType) -> str:
    """The first word of a type: names of fields and time zones may have been made of cells."""
    return re.split(r"\W", str(kind), maxsplit=1)[0]


def plain_file(source: Path, columns: Mapping[str, pa.DataType], copy: Path) -> Path:
    """Return where these columns can be read: where they stand if they are plain, or a copy."""
    if is_plain(source, columns):
        return source
    copy_plain(source, copy, list(columns))
    return copy


def is_plain(source: Path, columns: Mapping[str, pa.DataType]) -> bool:
    """Whether DuckDB can read these columns where they stand: all that is no number is text of few
    values, of which the file keeps a list, and none of them could stop it. To look through the
    list costs far less than to copy."""
    names = [name for name, kind in columns.items() if not is_number(kind)]
    if not {columns[name] for name in names} <= {pa.string(), pa.large_string()}:
        return False
    with pq.ParquetFile(source, read_dictionary=names, pre_buffer=False) as file:
        if not all(_is_short(chunk) and _is_listed(chunk) for chunk in _chunks(file, names)):
            return False
        batches = file.iter_batches(ROWS, columns=names, use_threads=False)
        return all(_is_sound(column) for batch in batches for column in batch.columns)


def copy_plain(source: Path, target: Path, columns: Sequence[str]) -> None:
    """Copy the columns, row for row."""
    listed = _listed_columns(source, columns)
    with _opened(source, listed) as file:
        schema = file.schema_arrow
        none = pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)
        rows = FEW_ROWS if set(listed) < set(_text_columns(source, columns)) else ROWS
        batches = chain([none], file.iter_batches(rows, columns=list(columns)))
        tables = (plain_table(batch, columns) for batch in batches)
        first = next(tables)
        quick = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with pq.ParquetWriter(target, first.schema, **quick) as writer:
            for table in tables:
                writer.write_table(table)


def plain_table(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
    """Return these columns of a batch in a form in which no cell can stop DuckDB."""
    return pa.Table.from_arrays([_plain(batch.column(c)) for c in columns], list(columns))


def _opened(source: Path, listed: Sequence[str]) -> pq.ParquetFile:
    """Open a file so that Arrow does not check text: one wrong byte would end the reading.

    Of `listed` columns each text is held once, however many rows repeat it: a long text in a short
    file must not fill the memory. Where all text is so, Arrow checks none; else it comes as bytes.
    """
    dense = {} if listed else {"binary_type": pa.large_binary()}
    return pq.ParquetFile(
        source,
        coerce_int96_timestamp_unit="us",
        read_dictionary=list(listed),
        pre_buffer=False,  # it would hold the whole file
        buffer_size=1 << 20,
        **dense,
    )


def _listed_columns(source: Path, columns: Sequence[str]) -> list[str]:
    """The columns of text if Arrow can list what each holds, or none."""
    text = _text_columns(source, columns)
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return text if all(map(_is_listed, _chunks(file, text))) else []


def _text_columns(source: Path, columns: Sequence[str]) -> list[str]:
    return [name for name, kind in column_types(source) if name in columns and is_text(kind)]


def _chunks(file: pq.ParquetFile, names: Sequence[str]) -> Iterator[pq.ColumnChunkMetaData]:
    for group in map(file.metadata.row_group, range(file.num_row_groups)):
        chunks = map(group.column, range(len(file.schema)))
        yield from (chunk for chunk in chunks if chunk.path_in_schema in names)


def _undictionaried(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(column: pa.Array) -> pa.Array:
    kind = _undictionaried(column.type)
    if is_text(kind):
        listed = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        return _text(listed.dictionary.cast(pa.large_binary())).take(listed.indices)
    if is_stamp(kind):
        return _hours(column)
    return column.cast(kind)


def _is_short(text: pq.ColumnChunkMetaData) -> bool:
    return bool(text.total_uncompressed_size <= SHORT * text.num_values)


def _is_listed(text: pq.ColumnChunkMetaData) -> bool:
    """Arrow makes no list of what other encodings hold."""
    return set(text.encodings) <= {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY"}


def _is_sound(labels: pa.Array) -> bool:
    if not pa.types.is_dictionary(labels.type):  # another column, of which this name is a path
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
    """Nothing for what is not UTF-8: replaced characters could make one of two ids."""
    try:
        return None if cell is None else cell.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _hours(stamps: pa.Array) -> pa.Array:
    if pa.types.is_date32(stamps.type):
        return pa.array(stamps.cast(pa.int32()).to_numpy(zero_copy_only=False) * 24.0)
    ticks = stamps.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return pa.array(ticks / _PER_HOUR[stamps.type.unit])


_TEXT = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
)
