"""The search finds what it looks for: a guard that is blind would pass every test."""

import logging
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from rich.table import Table

from leaks.capture import everything_said, private_tmp, removed_folders
from leaks.planted import COHORTS, LABELS, MEASURED, ODD, tables
from leaks.sentinels import (
    IDENTITIES,
    MARK,
    NEEDLES,
    NUMBERS,
    SHORT,
    VALID,
    WHOLE,
    WILD,
    found_in,
    found_in_error,
    found_under,
)
from longsynth.show.terminal import stdout

X, ID = VALID[0], f"{MARK}-03"
FORMS = {
    "an id": ID.encode(),
    "an id in small letters": ID.lower().encode(),
    "an id in UTF-16": ID.encode("utf-16"),
    "an id in hexadecimal": ID.encode().hex().encode(),
    "a whole id": str(WHOLE[7]).encode(),
    "a whole id with commas": f"{WHOLE[7]:,}".encode(),
    "a whole id as bits": struct.pack("<q", WHOLE[7]),
    "a value": repr(X).encode(),
    "a value rounded": f"{X:.6f}".encode(),
    "a value of numpy": repr(np.float64(X)).encode(),
    "a value as JSON": b'{"pulse": [177.313371337, 2]}',
    "a value as bits": np.array([1.0, X]).tobytes(),
    "a value as bits, the other way round": struct.pack(">d", X),
    "a huge value": str(WILD[1]).encode(),
    "a tiny value": f"{WILD[2]:.7e}".encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_sentinel_is_found(form: str) -> None:
    assert found_in(b"before " + FORMS[form] + b" after")


@pytest.mark.parametrize("x", [x for x in NUMBERS if 1e-3 < abs(x) < 1e15])
def test_a_number_that_a_table_rounds_is_found_in_what_is_printed(x: float) -> None:
    assert found_in(f"mean {x:.3f} bpm", NEEDLES + SHORT)
    assert found_in(f"mean {x:g} bpm", NEEDLES + SHORT)


def test_other_numbers_and_words_are_not_found() -> None:
    numbers = np.random.default_rng(0).integers(-(10**12), 10**12, 20_000)
    assert not found_in(str(numbers.tolist()))
    assert not found_in(numbers.tobytes())
    assert not found_in("177.3 patients, 88.8 bpm, 7.73 hours", NEEDLES + SHORT)


CELLS: dict[str, pa.Array] = {
    "text": pa.array(["a", ID]),
    "bytes": pa.array([b"a", ID.encode()]),
    "categories": pa.array(["a", ID]).dictionary_encode(),
    "floats": pa.array([1.0, X]),
    "bits of floats": pa.array(np.array([1.0, X]).view(np.int64)),
    "ids": pa.array([1, WHOLE[0]]),
    "lists": pa.array([["a"], [ID]]),
}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_cell_of_a_parquet_file_is_found(tmp_path: Path, kind: str, compression: str) -> None:
    table = pa.table({"x": CELLS[kind]})
    pq.write_table(table, tmp_path / "t.parquet", compression=compression)
    assert found_under(tmp_path)


def test_a_leak_planted_in_a_folder_is_found_and_the_folder_without_it_is_clean(
    tmp_path: Path,
) -> None:
    clean = tmp_path / "clean"
    clean.mkdir()
    (clean / "ledger.json").write_text('{"rho": 0.5}')
    assert not found_under(clean)
    for number, form in enumerate(FORMS.values()):
        copy = tmp_path / str(number)
        shutil.copytree(clean, copy)
        (copy / "ledger.json").write_bytes(b'{"rho": ' + form)
        assert found_under(copy)
    (clean / f"{ID}.txt").touch()
    assert found_under(clean), "the name of a file"


@pytest.mark.parametrize("name", COHORTS)
def test_every_planted_cohort_is_full_of_sentinels(tmp_path: Path, name: str) -> None:
    write, kind = COHORTS[name]
    folder = write(tmp_path / "cohort", kind)
    assert found_under(folder, IDENTITIES)
    if kind != "malformed":
        values = tuple(needle for needle in NEEDLES if needle not in IDENTITIES)
        assert found_under(folder, values)


@pytest.mark.parametrize(("table", "columns"), [(0, MEASURED), (1, LABELS)])
def test_every_odd_cell_stands_in_every_column_and_alone_in_its_row(
    table: int, columns: tuple[str, ...]
) -> None:
    """Otherwise one that spoils a line would hide what becomes of the others."""
    rows = zip(*(tables("malformed", text=True)[table][column] for column in columns), strict=True)
    odd = [[(c, cell) for c, cell in enumerate(row) if cell in ODD] for row in rows]
    assert max(map(len, odd)) == 1
    expected = {(c, cell) for c in range(len(columns)) for cell in ODD}
    assert {place for row in odd for place in row} == expected


def _by_a_child() -> None:
    subprocess.run([sys.executable, "-c", f"print('{ID}')"], check=True)


WAYS: dict[str, Callable[[], object]] = {
    "standard output": lambda: sys.stdout.write(ID),
    "an echo": lambda: typer.echo(ID),
    "a table": lambda: stdout().print(Table(ID)),
    "standard error": lambda: sys.stderr.write(ID),
    "a library's write": lambda: os.write(2, ID.encode()),
    "a child's print": _by_a_child,
    "a debugging log": lambda: logging.getLogger("any.library").debug("read %s", ID),
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_way_it_is_said_it_is_heard(way: str) -> None:
    with everything_said() as said:
        WAYS[way]()
    assert found_in(said.getvalue())


def test_the_whole_chain_of_an_exception_is_searched() -> None:
    try:
        try:
            raise ValueError(ID)
        except ValueError:
            raise RuntimeError("withheld") from None
    except RuntimeError as error:
        assert found_in_error(error)
    noted = RuntimeError("withheld")
    noted.add_note(ID)
    assert found_in_error(noted)
    assert not found_in_error(RuntimeError("withheld"))


def test_a_temporary_folder_is_seen_before_it_goes(tmp_path: Path) -> None:
    with private_tmp(tmp_path), removed_folders() as removed, TemporaryDirectory() as place:
        (Path(place) / "copy").touch()
        Path(place).chmod(0o755)
    assert removed.files == ["copy"]
    assert len(removed.open_to_others) == 1
