"""Malformed CSV: bytes, quotes, headers, line ends and encodings, and cells that no one expects."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

from numpy.random import Generator

from fuzz.cohorts import IDS, PEOPLE, ROWS, TABLES, csv_text, write_csv
from fuzz.mutation import mutated, one_of
from leaks.sentinels import MARK

ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp500", "utf-7")
ENDS = ("\r\n", "\r", "\n\n", "\x0b", "\x1e", "\x85", "\u2028", "\x00", "", " \n", '"\n"')
SEPARATORS = (";", "\t", "|", ",,", " , ", "，", '","', "\x1f")
CELLS = (
    *("", " ", "x", '"', '""', '"""', '"a,b"', "'", "nan", "inf", "-inf", "1e999", "0x1F", "1_000"),
    *("1,5", "\x00", "\x1b[2J", "\ufeff", "\u2028", "٨", "é", "\\N", "NULL", "=1+1", "2020-02-30"),
    *("true", "1e-999", "-0", "+5", "1.5.2", "9" * 400, "x" * 70_000, f"{MARK}\r{MARK}", "a\x1eb"),
    *("2020-01-01 00:00:00 Nowhere/Zone", "294247-01-10 04:00:54.775807-15:59", "infinity"),
)


def any_csv(folder: Path, rng: Generator) -> None:
    """One table, or both, damaged as a file."""
    names = one_of(rng, (("observations",), ("patients",), ("observations", "patients")))
    write_csv(folder, **{name: _damaged(csv_text(TABLES[name]), rng) for name in names})


def csv_cells(folder: Path, rng: Generator) -> None:
    """The cells of the first patient replaced, in a file that keeps to the rules: no one else may
    notice. A column that no one reads holds notes with line breaks and other patients' rows."""
    rows = [_cells(rng, len(ROWS)) for _ in range(int(rng.integers(0, 4)))]
    lines = [[*cells, ""] for cells in zip(*ROWS.values(), strict=True) if cells[0] != IDS[0]]
    at = int(rng.integers(len(lines) + 1))
    people = [[*cells, ""] for cells in zip(*PEOPLE.values(), strict=True)]
    people[0] = _cells(rng, len(PEOPLE))
    tables = {
        "observations": [[*ROWS, "note"], *lines[:at], *rows, *lines[at:]],
        "patients": [[*PEOPLE, "note"], *people],
    }
    write_csv(folder, **{name: _quoted(table, rng) for name, table in tables.items()})


def _cells(rng: Generator, width: int) -> list[str]:
    cells = [IDS[0], *(one_of(rng, CELLS) for _ in range(width - 1))]
    note = csv_text(ROWS)[: int(rng.integers(200))] + one_of(rng, CELLS)
    if rng.random() < 0.5:
        note = mutated(note.encode(), rng).decode("utf-8", "replace")
    return [*cells, note]


def _quoted(table: list[list[Any]], rng: Generator) -> bytes:
    text = io.StringIO()
    end = one_of(rng, ("\n", "\r\n"))
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(table)
    return text.getvalue().encode()


def _damaged(text: str, rng: Generator) -> bytes:
    action = rng.random()
    if action < 0.45:
        return mutated(text.encode(), rng)
    if action < 0.55:
        return text.replace("\n", one_of(rng, ENDS), one_of(rng, (1, 2, -1))).encode()
    if action < 0.62:
        return text.replace(",", one_of(rng, SEPARATORS), one_of(rng, (1, 2, -1))).encode()
    if action < 0.7:
        return text.encode(one_of(rng, ENCODINGS))
    if action < 0.8:
        return _other_header(text, rng).encode()
    if action < 0.83:
        return gzip.compress(text.encode())
    if action < 0.86:
        return one_of(rng, (b"", b"\n", b"\x00" * 500, b"\xef\xbb\xbf", b'"', rng.bytes(300)))
    return _odd_cells(text, rng).encode("utf-8", "surrogatepass")


def _other_header(text: str, rng: Generator) -> str:
    header, _, rest = text.partition("\n")
    names = header.split(",")
    action = int(rng.integers(8))
    at = int(rng.integers(len(names)))
    if action == 0:
        return rest  # none: the first patient stands there
    if action == 1:
        names[at] = names[int(rng.integers(len(names)))]  # one twice
    if action == 2:
        names[at] = one_of(rng, (names[at].upper(), f" {names[at]}\t", f'"{names[at]}"', ""))
    if action == 3:
        del names[at]
    if action == 4:
        names += [f"c{i}" for i in range(int(rng.integers(1, 2000)))]
    if action == 5:
        return header + one_of(rng, (",", "", "\x1e", "\x85", " ")) + rest  # no line end after it
    if action == 6:
        return f"{header}\n{header}\n{rest}"
    if action == 7:
        names.append(one_of(rng, ("x" * 50_000, "\x00", "\x1b[2J", "a\u2028b", '"a\r')))
    return ",".join(names) + "\n" + rest


def _odd_cells(text: str, rng: Generator) -> str:
    header, *lines = text.splitlines()
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(lines)))
        cells = lines[at].split(",")
        cells[int(rng.integers(len(cells)))] = one_of(rng, CELLS)
        lines[at] = ",".join(cells)
    return "\n".join([header, *lines])
