"""Sentinels: values and ids that occur nowhere by chance, and the search for every form of them.

A sentinel text holds MARK. A sentinel number is one of NUMBERS: some inside the bounds of a
variable, some far outside. The search looks for text in several encodings, for numbers as people
and programs print them, and for their bits.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MARK = "ZQXW"
DIGITS = "313371337"  # every sentinel number has them
VALID = (177.313371337, 88.77313371337)  # inside the bounds of a variable
WILD = (77313371337.25, -7.7313371337e307, 7.7313371337e-300)
HOURS = (1.7313371337, 7.7313371337, 13.7313371337, 19.7313371337)
FAR_HOURS = (773133713.37, 7731337133.7, 77313371337.0, 773133713370.0)
NUMBERS = (*VALID, *WILD, *HOURS, *FAR_HOURS)
WHOLE = tuple(range(773133713371337100, 773133713371337140))  # ids


def _texts() -> Iterator[str]:
    yield from (MARK, MARK.lower(), DIGITS)
    for x in NUMBERS:
        yield from (f"{x:.9g}", f"{x:.8e}", f"{x:.6e}", f"{x:.6E}")
        if 1e-3 < abs(x) < 1e15:
            yield from (f"{x:.5f}", f"{x:,.5f}", f"{x:,.2f}" if x > 1e6 else f"{x:.6f}")
    yield from (f"{WHOLE[0]:,}"[:-2], f"{WHOLE[0]:x}"[:-2])


def _bits() -> Iterator[bytes]:
    for x in NUMBERS:
        yield from (struct.pack("<d", x), struct.pack(">d", x))
        yield struct.pack("<d", x).hex().encode()
    for n in WHOLE:
        yield from (struct.pack("<q", n), struct.pack(">q", n))
    yield from (MARK.encode("utf-16-le"), MARK.encode("utf-16-be"), MARK.encode().hex().encode())


NEEDLES = tuple(dict.fromkeys([*(text.encode() for text in _texts()), *_bits()]))
# As tables on a terminal round them: too short to search long lists of numbers for.
SHORT = tuple(
    dict.fromkeys(
        f"{x:{form}}".encode() for x in NUMBERS if 1e-3 < abs(x) < 1e15 for form in (".3f", ".6g")
    )
)


IDENTITIES = tuple(  # of those, the forms of ids and of text
    needle
    for needle in dict.fromkeys(
        [
            *(MARK.encode(), MARK.lower().encode(), MARK.encode().hex().encode()),
            *(MARK.encode("utf-16-le"), MARK.encode("utf-16-be")),
            *(str(WHOLE[0])[:-2].encode(), f"{WHOLE[0]:,}"[:-2].encode()),
            *(struct.pack(order, n) for n in WHOLE for order in ("<q", ">q")),
        ]
    )
)


def found_in(content: bytes | str, needles: tuple[bytes, ...] = NEEDLES) -> list[str]:
    """Return the sentinels in some bytes."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return [repr(needle) for needle in needles if needle in raw]


def found_in_error(error: BaseException) -> list[str]:
    """Search an exception and every other that it drags along."""
    return [hit for text in error_texts(error) for hit in found_in(text, NEEDLES + SHORT)]


def error_texts(error: BaseException | None, known: tuple[int, ...] = ()) -> Iterator[str]:
    if error is None or id(error) in known:
        return
    yield from (str(error), repr(error), repr(error.args), repr(getattr(error, "__notes__", "")))
    yield repr(vars(error))
    for other in (error.__cause__, error.__context__):
        yield from error_texts(other, (*known, id(error)))


def found_under(folder: Path, needles: tuple[bytes, ...] = NEEDLES) -> list[str]:
    """Search all files below a folder, their names, and the cells of Parquet files."""
    hits: list[str] = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        hits += [f"the name of {name}: {hit}" for hit in found_in(name, needles)]
        if path.is_file():
            hits += [f"{name}: {hit}" for hit in found_in(path.read_bytes(), needles)]
        if path.suffix == ".parquet":
            hits += [f"{name}, {hit}" for hit in found_in_table(path, needles)]
    return hits


def found_in_table(path: Path, needles: tuple[bytes, ...] = NEEDLES) -> list[str]:
    """Search the cells of a Parquet file; its bytes are compressed and encoded."""
    table = pq.read_table(path)
    hits = found_in(str(table.schema), needles)
    for name, column in zip(table.column_names, table.columns, strict=True):
        text = pa.types.is_string(column.type)  # may hold bytes that are none
        cells = column.cast(pa.binary()) if text else column
        content = b"".join(_raw(cell) for cell in cells.drop_null().to_pylist())
        hits += [f"column {name}: {hit}" for hit in found_in(content, needles)]
    return hits


def _raw(cell: Any) -> bytes:
    if isinstance(cell, float):
        return struct.pack("<d", cell)
    if isinstance(cell, int) and not isinstance(cell, bool):
        return struct.pack("<q", cell)
    return (cell if isinstance(cell, bytes) else str(cell).encode()) + b" "
