"""Malformed files by name: the classics, and everything that once broke a reader.

Each is a folder in small: file name to content. A sentinel stands wherever a patient's cell or id
would.
"""

import base64
import io
import json
import struct
from typing import Any

import pyarrow.parquet as pq

from fuzz.cohorts import PEOPLE, ROWS, SCHEMA, csv_text, typed
from leaks.sentinels import DIGITS, MARK

Files = dict[str, bytes]
_SCHEMA = json.dumps(SCHEMA).encode()
_ROWS, _PEOPLE = csv_text(ROWS).encode(), csv_text(PEOPLE).encode()


def _csv(rows: bytes = _ROWS, people: bytes = _PEOPLE) -> Files:
    return {"schema.yaml": _SCHEMA, "observations.csv": rows, "patients.csv": people}


def _parquet(rows: bytes) -> Files:
    people = io.BytesIO()
    pq.write_table(typed(PEOPLE), people)
    return {
        "schema.yaml": _SCHEMA,
        "observations.parquet": rows,
        "patients.parquet": people.getvalue(),
    }


def _schema(**changes: Any) -> bytes:
    return json.dumps(SCHEMA | changes).encode()


def _footer(body: bytes, size: int | None = None) -> bytes:
    return b"PAR1" + body + struct.pack("<I", len(body) if size is None else size) + b"PAR1"


COHORTS: dict[str, Files] = {
    "csv: empty": _csv(b""),
    "csv: a header alone": _csv(people=_PEOPLE.partition(b"\n")[0]),
    "csv: no header": _csv(_ROWS.partition(b"\n")[2]),
    "csv: the header's line end lost": _csv(_ROWS.replace(b"\n", b"", 1)),
    "csv: lines ended by a record separator": _csv(_ROWS.replace(b"\n", b"\x1e")),
    "csv: lines ended by U+2028": _csv(_ROWS.replace(b"\n", "\u2028".encode())),
    "csv: lines ended by U+0085 in Latin-1": _csv(_ROWS.replace(b"\n", b"\x85")),
    "csv: lines ended by a vertical tab": _csv(_ROWS.replace(b"\n", b"\x0b")),
    "csv: old Macintosh line ends": _csv(_ROWS.replace(b"\n", b"\r")),
    "csv: an open quote in the header": _csv(b'"' + _ROWS),
    "csv: an open quote in a cell": _csv(_ROWS.replace(b"8.5,80", b'8.5,"80')),
    "csv: NUL bytes": _csv(_ROWS.replace(b"80", b"8\x000")),
    "csv: nothing but NUL": _csv(b"\x00" * 10_000),
    "csv: UTF-16": _csv(_ROWS.decode().encode("utf-16")),
    "csv: invalid UTF-8": _csv(_ROWS.replace(b"80", b"\xff\xfe\xed\xa0\x80")),
    "csv: a huge field": _csv(_ROWS.replace(b"80", MARK.encode() * 500_000)),
    "csv: a huge quoted field": _csv(_ROWS.replace(b"80", b'"' + b"," * 2_000_000)),
    "csv: a hundred thousand columns": _csv(
        _ROWS.replace(b"\n", b"," + b",".join(b"c%d" % i for i in range(100_000)) + b"\n", 1)
    ),
    "csv: a name twice": _csv(_ROWS.replace(b"pulse", b"time", 1)),
    "csv: an id twice": _csv(people=_PEOPLE + _PEOPLE.splitlines()[1]),
    "csv: an escape sequence as a name": _csv(_ROWS.replace(b"pulse", b"\x1b[2Jpulse", 1)),
    "csv: compressed": _csv(base64.b64decode("H4sIAAAAAAAAA0tMSk4BAMJBJDUDAAAA")),
    "parquet: empty": _parquet(b""),
    "parquet: the magic alone": _parquet(b"PAR1"),
    "parquet: the magic twice": _parquet(b"PAR1PAR1"),
    "parquet: a footer of no length": _parquet(_footer(b"")),
    "parquet: a footer longer than the file": _parquet(_footer(b"\x15", 2**31)),
    "parquet: a footer of garbage": _parquet(_footer(b"\xff" * 500)),
    "parquet: a footer of nested structs": _parquet(_footer(b"\x1c" * 100_000)),
    "parquet: a footer with an endless list": _parquet(
        _footer(b"\x15\x02\x19\xfc\xff\xff\xff\x0f")
    ),
    "parquet: encrypted": _parquet(b"PARE" + b"\x00" * 100 + b"PARE"),
    "parquet: a CSV": _parquet(_ROWS),
    "parquet: an Arrow file": _parquet(b"ARROW1\x00\x00" + MARK.encode() * 50 + b"ARROW1"),
    "schema: empty": _csv() | {"schema.yaml": b""},
    "schema: empty int": _csv() | {"schema.yaml": b"slots: !!int ''"},
    "schema: empty float": _csv() | {"schema.yaml": b"slots: !!float ''"},
    "schema: a sign as an int": _csv() | {"schema.yaml": b"slots: !!int '-'"},
    "schema: aliases": _csv() | {"schema.yaml": b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]"},
    "schema: itself": _csv() | {"schema.yaml": b"a: &a\n  b: *a"},
    "schema: a tag that runs code": _csv()
    | {"schema.yaml": b"name: !!python/object/apply:os.system ['exit 7']"},
    "schema: nesting": _csv() | {"schema.yaml": b"[" * 900_000},
    "schema: half a million values": _csv() | {"schema.yaml": b"[" + b"a," * 400_000 + b"]"},
    "schema: a hundred thousand keys": _csv()
    | {"schema.yaml": b"\n".join(b"a%d: 1" % i for i in range(90_000))},
    "schema: a lone surrogate": _csv() | {"schema.yaml": b'"\\ud800": 1'},
    "schema: an escape sequence": _csv() | {"schema.yaml": b'"\\e[2J\\rall is well": 1'},
    "schema: five thousand digits": _csv() | {"schema.yaml": b"slots: " + b"9" * 5000},
    "schema: not a number": _csv() | {"schema.yaml": _schema(max_gap=float("nan"))},
    "schema: a range of nothing": _csv()
    | {
        "schema.yaml": _schema(
            variables=[
                {"name": "a", "kind": "continuous", "bounds": [0, 5e-324], "bounds_from": "b"}
            ]
        )
    },
    "schema: JSON with a name twice": _csv() | {"schema.yaml": b'{"slots": 1, "slots": 2}'},
}

RECIPES: dict[str, bytes] = {  # synthetic.json
    "empty": b"",
    "no object": b"[]",
    "infinity": b'{"patients": Infinity, "seed": 1e999}',
    "nesting": b"[" * 200_000,
    "a huge number": b'{"patients": ' + b"9" * 6000 + b"}",
    "not a number": b'{"fingerprint": "x", "patients": NaN, "seed": 1}',
    "a name twice": b'{"patients": 1, "patients": 2}',
    "lists for words": b'{"fingerprint": [], "patients": "5", "seed": true, "where": [["a", {}]]}',
    "a lone surrogate": b'{"fingerprint": "x", "patients": 5, "seed": 7, "private": true, '
    b'"where": ["site=\\ud800"], "surroundings": {}}',
    "UTF-16": '{"patients": 1}'.encode("utf-16"),
    "a sentinel": f'{{"patients": "{MARK}", "seed": 1.{DIGITS}}}'.encode(),
}
