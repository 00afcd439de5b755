"""A public mistake is refused in words that quote no patient, by every command that reads one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaks.capture import everything_said, private_tmp
from leaks.planted import tables, write_csv, write_parquet
from leaks.scenarios import PROMISE, Step
from leaks.sentinels import DIGITS, MARK, NEEDLES, SHORT, found_in, found_in_error
from leaks.test_every_command import run
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.system.errors import CohortError, Refused, without_cells


def _csv(change: Callable[[bytes], bytes], table: str = "observations") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_csv(folder, "valid")
        path = folder / f"{table}.csv"
        path.write_bytes(change(path.read_bytes()))

    return write


def _parquet(change: Callable[[pa.Table], pa.Table], table: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_parquet(folder, "valid")
        path = folder / f"{table}.parquet"
        pq.write_table(change(pq.read_table(path)), path)

    return write


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_parquet(folder, "valid")
        for path in folder.glob("*.parquet"):
            path.write_bytes(change(path.read_bytes()))

    return write


def _column(name: str, cells: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        made = cells(table.column(name)) if callable(cells) else cells
        return table.set_column(table.column_names.index(name), name, made)

    return change


def _first_row_as_names(table: pa.Table) -> pa.Table:
    """What a careless reader makes of a CSV without a header."""
    return table.rename_columns([str(column[0]) for column in table.columns])


def _without_header(content: bytes) -> bytes:
    return content.partition(b"\n")[2]


MISTAKES: dict[str, Callable[[Path], None]] = {
    "no header": _csv(_without_header),
    "no header, patients": _csv(_without_header, "patients"),
    "a lost line end after the header": _csv(lambda c: c.replace(b"\n", b"", 1)),
    "line ends of no system": _csv(lambda c: c.replace(b"\n", b"\x1e")),
    "line ends of Unicode": _csv(lambda c: c.replace(b"\n", "\u2028".encode())),
    "other separators": _csv(lambda c: c.replace(b",", b";")),
    "UTF-16": _csv(lambda c: c.decode().encode("utf-16")),
    "a column less": _csv(lambda c: c.replace(b"pulse", b"puls", 1)),
    "every id twice": _csv(lambda c: c + _without_header(c), "patients"),
    "no ids": _csv(lambda c: c.replace(f"{MARK}-".encode(), b",").replace(b",0", b","), "patients"),
    "nobody": _csv(lambda c: c.partition(b"\n")[0], "patients"),
    "cells as names": _parquet(_first_row_as_names, "observations"),
    "cells as names, patients": _parquet(_first_row_as_names, "patients"),
    "ids as fractions": _parquet(
        _column("patient_id", pa.array([float(f"{n}.{DIGITS}") for n in range(40)])), "patients"
    ),
    "a null id": _parquet(_column("patient_id", pa.array([f"{MARK}-1"] * 39 + [None])), "patients"),
    "lists": _parquet(
        _column("pulse", lambda c: pa.array([[x.as_py()] for x in c])), "observations"
    ),
    "structs named by a cell": _parquet(
        _column("site", pa.array([{f"{MARK}-1": 1}] * 40)), "patients"
    ),
    "time stamps in a zone named by a cell": _parquet(
        _column("site", pa.nulls(40, pa.timestamp("us", tz=f"{MARK}-1"))), "patients"
    ),
    "cut": _bytes(lambda c: c[: len(c) * 2 // 3]),
    "damaged in the middle": _bytes(lambda c: c[:200] + MARK.encode() * 100 + c[600:]),
    "damaged footer": _bytes(lambda c: c[:-200] + b"\xff" * 100 + c[-100:]),
    "text as Parquet": _bytes(lambda c: f"patient_id,time\n{MARK}-1,1.{DIGITS}\n".encode()),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("command", ["check", "fit", "audit", "import"])
def test_a_mistake_is_refused_without_a_word_about_a_patient(
    tmp_path: Path, mistake: str, command: str
) -> None:
    cohort, out, scratch = tmp_path / "cohort", tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    MISTAKES[mistake](cohort)
    arguments: dict[str, tuple[object, ...]] = {
        "check": (cohort,),
        "fit": (cohort, *PROMISE, "--out", out),
        "audit": ("--train", cohort, "--test", cohort, "--synthetic", cohort, "--out", out),
        "import": ("events", cohort, "--schema", cohort / "schema.yaml", "--out", out),
    }
    with private_tmp(scratch):
        ran = run(Step(command, arguments[command]))
    assert ran.exit_code == 2, ran.said
    assert not found_in(ran.said, NEEDLES + SHORT)
    assert not out.exists()
    assert not list(scratch.iterdir())
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("command", ["schema check", "schema new"])
def test_what_is_said_of_column_names_holds_no_cell(
    tmp_path: Path, mistake: str, command: str
) -> None:
    """Where a line end or the header is lost, cells stand where names should."""
    cohort, out = tmp_path / "cohort", tmp_path / "new.yaml"
    MISTAKES[mistake](cohort)
    arguments: dict[str, tuple[object, ...]] = {
        "schema check": (cohort / "schema.yaml", "--cohort", cohort),
        "schema new": ("--cohort", cohort, "--out", out),
    }
    ran = run(Step(command, arguments[command]))
    assert ran.exit_code in (0, 2), ran.said
    assert not found_in(ran.said, NEEDLES + SHORT)
    assert not out.exists() or not found_in(out.read_bytes(), NEEDLES + SHORT)


def test_what_a_library_says_of_a_cell_goes_no_further_than_the_reader() -> None:
    """Not even along with the exception: whoever logs it may follow its context."""
    raised = (
        duckdb.ConversionException(f"Could not convert string '{MARK}-1' to DOUBLE"),
        duckdb.OutOfMemoryException(f"failed to hold 1.{DIGITS}"),
        pa.ArrowInvalid(f"Failed to parse string: '{MARK}-1'"),
        OSError(f"Corrupt page {MARK}-1"),
    )
    for error in raised:
        with pytest.raises(CohortError) as refused, without_cells("the cohort cannot be read"):
            raise error
        assert not found_in_error(refused.value), error


def test_what_a_library_says_stays_hidden_when_it_was_caused_by_another_error() -> None:
    with pytest.raises(CohortError) as refused, without_cells("the cohort cannot be read"):
        try:
            f"{MARK}-1".encode().decode("utf-16")
            raise ValueError(f"{MARK}-1")
        except ValueError as cause:
            raise pa.ArrowInvalid(f"1.{DIGITS}") from cause
    assert not found_in_error(refused.value)


def test_a_mistake_of_our_own_code_is_not_blamed_on_a_file() -> None:
    with pytest.raises(TypeError), without_cells("the cohort cannot be read"):
        raise TypeError


@pytest.mark.parametrize("kind", ["valid", "extreme", "malformed"])
def test_an_import_of_csv_tells_what_it_likes_but_quotes_no_cell(tmp_path: Path, kind: str) -> None:
    cohort = write_csv(tmp_path / "cohort", kind)
    wanted = ("--schema", cohort / "schema.yaml", "--out", tmp_path / "out")
    ran = run(Step("import", ("events", cohort, *wanted)))
    assert ran.exit_code == (2 if kind == "malformed" else 0), ran.said
    assert not found_in(ran.said, NEEDLES + SHORT)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_refusal_of_the_library_carries_no_patient_in_its_chain(
    tmp_path: Path, mistake: str
) -> None:
    MISTAKES[mistake](tmp_path / "cohort")
    with (
        everything_said() as said,
        pytest.raises(Refused) as refused,
        CohortFolder(tmp_path / "cohort") as source,
    ):
        list(source.batches())
        source.repairs()
    assert not found_in_error(refused.value)
    assert not said.getvalue()


def test_a_header_that_differs_in_capitals_is_named_and_no_other_column_is(tmp_path: Path) -> None:
    rows, _ = tables("valid")
    write_parquet(tmp_path / "cohort", "valid")
    names = ["patient_id", "Time ", "PULSE", "dose", f"{MARK}-1"]
    table = pa.table(list(rows.values()), names)
    pq.write_table(table, tmp_path / "cohort" / "observations.parquet")
    with pytest.raises(CohortError, match="It has patient_id, Time , PULSE, dose and 1 other"):
        CohortFolder(tmp_path / "cohort")
