"""The entrance of a fit: typed tables, a parser before them, and errors that quote no cell."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.engines.spark.executor import guarded
from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.schema.file import dump
from longsynth.system.errors import CohortError, Refused, without_cells
from readers.small_sources import imported, meds
from support import small_schema

SECRET = "ZQXW-17"
PATIENTS = 8
HEADER = ["patient_id", "time", "pulse", "dose", "oxygen", "note"]
ABOUT = ["patient_id", "group", "event", "site", "note"]


def text_of(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def export(folder: Path, note: str, last: bytes = b"") -> Path:
    """Patients in CSV; the first one has a note, in a column that the schema does not name."""
    folder.mkdir()
    (folder / "schema.yaml").write_text(dump(small_schema()))
    rows = [
        [i, t, 60 + i + t, i % 5, t % 2, note if i == t == 0 else ""]
        for i in range(PATIENTS)
        for t in range(3)
    ]
    people = [[i, i % 2, i // 2 % 2, "ABC"[i % 3], note if i == 0 else ""] for i in range(PATIENTS)]
    (folder / "observations.csv").write_bytes(text_of([HEADER, *rows]).encode() + last)
    (folder / "patients.csv").write_text(text_of([ABOUT, *people]))
    return folder


def read(folder: Path) -> dict[str, Any]:
    """What an import makes of an export, or how it refuses."""
    try:
        import_cohort("events", folder, folder / "schema.yaml", folder / "cohort")
    except Refused as refusal:
        return {"refused": str(refusal)}
    cohort = read_cohort(folder / "cohort")[1]
    return {name: getattr(cohort, name).tolist() for name in cohort.__slots__} | {"refused": ""}


def test_a_note_cannot_rewrite_another_patient_or_add_one(tmp_path: Path) -> None:
    posing = text_of([[i, t, 20, 0, 0, ""] for i in range(1, PATIENTS) for t in range(3)])
    people = text_of([[99, 1, 1, "C", ""]])
    expected = read(export(tmp_path / "plain", "well"))
    for number, note in enumerate((f"see:\n{posing}", f"see:\n{people}", '"', '",\n"', "\r\n,,,")):
        assert str(read(export(tmp_path / str(number), note))) == str(expected)


@pytest.mark.parametrize(
    "last",
    [
        b"7,9,80\n",
        b"7,9,80,1,1,x,y\n",
        b'7,9,"80,1,1,x\n',
        b'7,9,8"0,1,1,x\n',
        b"7,9,80,1,1,\xff\n",
    ],
)
def test_a_row_that_cannot_be_meant_stops_the_import_and_is_not_quoted(
    tmp_path: Path, last: bytes
) -> None:
    found = read(export(tmp_path / "damaged", SECRET, last.replace(b"x", SECRET.encode())))
    assert "observations.csv" in found["refused"]
    assert SECRET not in found["refused"]


def test_events_do_not_decide_who_is_a_patient(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    (folder / "metadata/subject_splits.parquet").unlink()
    with pytest.raises(CohortError, match="must not decide"):
        imported("meds", folder, tmp_path)


CELLS: dict[str, tuple[str, pa.Array]] = {
    "text for numbers": ("pulse", pa.array(["80"] * PATIENTS)),
    "text for times": ("time", pa.array(["1"] * PATIENTS)),
    "decimals": ("pulse", pa.array([1] * PATIENTS, pa.decimal128(9, 2))),
    "numbers of 16 bits": ("pulse", pa.array(np.ones(PATIENTS, np.float16))),
    "numbers without a sign of 64 bits": ("dose", pa.array([2**64 - 1] * PATIENTS, pa.uint64())),
    "ids without a sign of 64 bits": ("patient_id", pa.array(range(PATIENTS), pa.uint64())),
    "bytes": ("patient_id", pa.array([b"1"] * PATIENTS)),
    "days for numbers": ("oxygen", pa.array([1] * PATIENTS, pa.int32()).cast(pa.date32())),
}


def observations(**columns: Any) -> pa.Table:
    cells = {name: [1.0] * PATIENTS for name in ("time", "pulse", "dose", "oxygen")}
    return pa.table({"patient_id": range(PATIENTS)} | cells | columns)


def typed(folder: Path, rows: pa.Table, **options: Any) -> Path:
    folder.mkdir()
    schema = small_schema().model_dump(mode="json", exclude_defaults=True)
    schema |= {"time": {"unit": "timestamp"}} if options else {}
    (folder / "schema.yaml").write_text(json.dumps(schema))
    pq.write_table(rows, folder / "observations.parquet", **options)
    people = {"patient_id": range(PATIENTS), "group": [0] * PATIENTS, "event": [1] * PATIENTS}
    pq.write_table(pa.table(people | {"site": ["A"] * PATIENTS}), folder / "patients.parquet")
    return folder


@pytest.mark.parametrize("case", CELLS)
def test_a_type_that_the_schema_does_not_fix_is_refused(tmp_path: Path, case: str) -> None:
    column, cells = CELLS[case]
    with pytest.raises(CohortError, match="A fit reads"):
        read_cohort(typed(tmp_path / "cohort", observations(**{column: cells})))


def test_a_time_stamp_of_96_bits_is_refused(tmp_path: Path) -> None:
    rows = observations(time=pa.array(range(PATIENTS)).cast(pa.timestamp("us")))
    with pytest.raises(CohortError, match="A fit reads"):
        read_cohort(typed(tmp_path / "cohort", rows, use_deprecated_int96_timestamps=True))


def told(error: BaseException) -> str:
    """Everything within reach of whoever catches an error."""
    found: list[str] = []
    inner: BaseException | None = error
    while inner is not None:
        found += [repr(inner), str(inner.args), str(vars(inner)), str(getattr(inner, "object", ""))]
        inner = inner.__cause__ or inner.__context__
    return " ".join(found)


def failures() -> Iterator[Exception]:
    yield pa.ArrowInvalid(f"Could not parse {SECRET}")
    yield OSError(f"Corrupt page: {SECRET}")
    yield UnicodeDecodeError("utf-8", SECRET.encode() + b"\xff", 7, 8, "invalid start byte")
    known = pa.ArrowInvalid("a page")
    known.cell = SECRET  # type: ignore[attr-defined]
    yield known


def test_what_a_reader_says_of_a_cell_goes_no_further() -> None:
    for failure in failures():
        with pytest.raises(CohortError) as refused, without_cells("the cohort cannot be read."):
            raise failure
        assert SECRET not in told(refused.value)


def test_what_an_executor_says_of_a_cell_goes_no_further() -> None:
    def work(_: object) -> Iterator[pa.RecordBatch]:
        yield from ()
        raise ValueError(SECRET)

    with pytest.raises(Exception, match="failed on an executor with ValueError") as failed:
        list(guarded(work)(iter(())))
    assert SECRET not in told(failed.value)


def test_an_ordinary_cohort_is_read(tmp_path: Path) -> None:
    assert read(export(tmp_path / "plain", "well"))["refused"] == ""
    assert read_cohort(typed(tmp_path / "typed", observations()))[1].patients == PATIENTS
