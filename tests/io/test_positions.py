"""A label's position in the schema, whatever its column is stored as."""

import duckdb
import pyarrow as pa
import pytest

from longsynth.reading.columns import level_code
from longsynth.schema.schema import Labels

WHOLE = {pa.int8(): "TINYINT", pa.int64(): "BIGINT", pa.uint64(): "UBIGINT"}


def positions(levels: tuple[str, ...], cells: list[object], kind: pa.DataType) -> list[int]:
    sql = level_code(Labels(column="label", levels=levels), {"label": kind})
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (label {WHOLE.get(kind, 'VARCHAR')})")
        connection.executemany("INSERT INTO t VALUES (?)", [[cell] for cell in cells])
        return [row[0] for row in connection.execute(f"SELECT {sql} FROM t").fetchall()]


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize(
    "levels",
    [
        ("0", "1"),
        ("1", "0"),
        ("x", "1.0"),
        ("2", "01"),
        ("-0", "0"),  # one number twice
        ("1.0", "1"),
        ("9007199254740992", "9007199254740993"),  # one float64
        ("a", "b"),
    ],
)
def test_whole_numbers_are_the_levels_that_their_text_is(
    kind: pa.DataType, levels: tuple[str, ...]
) -> None:
    cells: list[object] = [0, 1, 2, None]
    if kind != pa.int8():
        cells += [9007199254740992, 9007199254740993]
    text = [None if cell is None else str(cell) for cell in cells]
    assert positions(levels, cells, kind) == positions(levels, list(text), pa.string())
