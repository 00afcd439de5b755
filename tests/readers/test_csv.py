"""CSV, as an import reads it: by the rules of RFC 4180, loudly, and without quoting a cell."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.cohorts import SCHEMA
from longsynth.reading.importing import Imported, import_cohort
from longsynth.system.errors import CohortError
from readers.small_sources import rows_of

HEADER = "patient_id,time,pulse,oxygen\n"
ROWS = HEADER + "1,0,80,0\n1,6,90,1\n2,2,70,\n"
PEOPLE = "patient_id,group,event,site\n1,0,0,A\n2,1,1,B\n"
EXPECTED = [("1", 0.0, 80.0, 0.0), ("1", 6.0, 90.0, 1.0), ("2", 2.0, 70.0, None)]
FOLDERS = iter(range(10**9))


def read(
    tmp_path: Path, rows: str | bytes = ROWS, people: str | bytes = PEOPLE
) -> tuple[Imported, Path]:
    place = tmp_path / str(next(FOLDERS))
    place.mkdir()
    for name, text in (("observations", rows), ("patients", people)):
        content = text.encode() if isinstance(text, str) else text
        (place / f"{name}.csv").write_bytes(content)
    (place / "schema.yaml").write_text(json.dumps(SCHEMA))
    found = import_cohort("events", place, place / "schema.yaml", place / "cohort")
    return found, place / "cohort"


def refusal(tmp_path: Path, **tables: str | bytes) -> str:
    with pytest.raises(CohortError) as refused:
        read(tmp_path, **tables)
    message = str(refused.value)
    assert "SECRET" not in message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return message


@pytest.mark.parametrize(
    "written",
    {
        "plain": ROWS,
        "byte-order mark": b"\xef\xbb\xbf" + ROWS.encode(),
        "Windows line ends": ROWS.replace("\n", "\r\n"),
        "old line ends": ROWS.replace("\n", "\r"),
        "mixed line ends": ROWS.replace("\n", "\r\n", 2),
        "blank lines": ROWS.replace("\n", "\n\n  \n"),
        "no line end at the end": ROWS.removesuffix("\n"),
        "blanks around cells": ROWS.replace(",", " , "),
        "all quoted": "\n".join(
            ",".join(f'"{cell}"' for cell in line.split(",")) for line in ROWS.splitlines()
        ),
        "the id in another place": "time,pulse,patient_id,oxygen\n0,80,1,0\n6,90,1,1\n2,70,2,\n",
        "columns of no interest": "patient_id,note,time,pulse,oxygen,\n"
        '1,"a, ""b""",0,80,0,\n1,,6,90,1,x\n2,,2,70,,\n',
        "rows in another order": HEADER + "2,2,70,\n1,6,90,1\n1,0,80,0\n",
    }.items(),
    ids=lambda case: case[0],
)
def test_the_way_a_csv_is_written_does_not_matter(
    tmp_path: Path, written: tuple[str, str | bytes]
) -> None:
    assert sorted(rows_of(read(tmp_path, written[1])[1])) == EXPECTED


def test_a_note_with_line_breaks_belongs_to_its_own_row_alone(tmp_path: Path) -> None:
    """Its lines look like rows of other patients, and one of them like a new patient."""
    header, *lines = ROWS.splitlines()
    note = '"seen today\n1,0,220,1\n2,2,220,1\n9,9,9,9"'
    rows = [header + ",note", lines[0] + ",", f"{lines[1]},{note}", lines[2] + ",fine"]
    about, *people = PEOPLE.splitlines()
    patients = [about + ",note", f'{people[0]},"x\n7,1,1,C,y"', people[1] + ","]
    found, cohort = read(tmp_path, "\n".join(rows), "\n".join(patients))
    assert found.patients == 2
    assert sorted(rows_of(cohort)) == EXPECTED
    assert rows_of(cohort, "patients") == [("1", "0", "0", "A"), ("2", "1", "1", "B")]
    assert found.notes == (
        "patients.csv: cells with a line break: 1. If there should be none, a quotation mark is "
        "missing.",
        "observations.csv: cells with a line break: 1. If there should be none, a quotation mark "
        "is missing.",
    )


cells = st.text(alphabet='ab",\n\r 1', max_size=6)
tables = st.lists(st.tuples(st.integers(1, 2), cells), max_size=8)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(notes=tables, seed=st.integers(0, 99))
def test_whatever_a_note_holds_the_other_columns_are_what_was_written(
    tmp_path: Path, notes: list[tuple[int, str]], seed: int
) -> None:
    pulses = np.random.default_rng(seed).integers(20, 220, len(notes)).tolist()
    written = [(str(patient), i / 4, pulses[i], note) for i, (patient, note) in enumerate(notes)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["patient_id", "time", "note", "pulse", "oxygen"])
    for patient, time, pulse, note in written:
        writer.writerow([patient, time, note, pulse, ""])
    _, cohort = read(tmp_path, text.getvalue())
    assert sorted(rows_of(cohort)) == sorted((p, t, float(x), None) for p, t, x, _ in written)


@pytest.mark.parametrize("cell", ["", " ", "x", '"1,5"', "1.5.2", "inf", "nan", "NA", "1e999"])
def test_a_cell_that_is_no_finite_number_is_missing_and_reported(tmp_path: Path, cell: str) -> None:
    found, cohort = read(tmp_path, ROWS.replace(",80,", f",{cell},"))
    assert sorted(rows_of(cohort), key=str)[0] == ("1", 0.0, None, 0.0)
    counts = json.loads((cohort / "internal/import.json").read_text())
    assert counts["cells_that_could_not_be_read"] == ({"pulse": 1} if cell.strip() else {})
    assert any("nor a level: pulse 1." in note for note in found.notes) is bool(cell.strip())


@pytest.mark.parametrize("cell", ["yes", "2", "SECRET"])
def test_a_label_that_is_no_level_is_reported_without_quoting_it(tmp_path: Path, cell: str) -> None:
    found, _ = read(tmp_path, people=PEOPLE.replace("1,0,0,A", f"1,0,{cell},A"))
    assert [note for note in found.notes if "event" in note]
    assert not any(cell in note for note in found.notes if cell != "2")


@pytest.mark.parametrize("time", ["", "x", "nan", "inf", "1e999"])
def test_a_row_without_a_usable_time_is_left_out_and_reported(tmp_path: Path, time: str) -> None:
    found, cohort = read(tmp_path, ROWS.replace("1,6,", f"1,{time},"))
    assert sorted(rows_of(cohort)) == [EXPECTED[0], EXPECTED[2]]
    assert "rows without a readable time: 1 of 3. They are left out." in found.notes


DAMAGED = {
    "a quotation mark that is never closed": (b'1,6,"90,1', "starts in line 3"),
    "one in the last cell": (b'1,6,90,"SECRET', "starts in line 3"),
    "one inside a cell": (b'1,6,9"0,1', "starts in line 3"),
    "two inside a cell": (b'1,6,9"0",1', "starts in line 3"),
    "one behind a blank": (b'1, "6,90,1"', "starts in line 3"),
    "two inches beside quoted cells": (b'"1","6",9" 0",1', "starts in line 3"),
    "text behind a closing one": (b'1,6,"90"SECRET,1', "starts in line 3"),
    "not UTF-8": (b"1,6,9\xff0,SECRET", "not in UTF-8, from line 3 on"),
    "too few cells": (b"1,6,90", "more or fewer cells than the header, 1 in all"),
    "too many cells": (b"1,6,90,1,2,SECRET", "They start in lines 3. Put cells"),
    "an endless cell": (b'1,6,"' + b"x" * ((1 << 24) + 1) + b'",1', "starts in line 3"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_row_stops_the_import_and_is_named_by_its_line(tmp_path: Path, case: str) -> None:
    line, said = DAMAGED[case]
    assert said in refusal(tmp_path, rows=ROWS.encode().replace(b"1,6,90,1", line))


def test_a_cell_that_is_too_long_for_any_value_is_missing_and_reported(tmp_path: Path) -> None:
    found, cohort = read(tmp_path, ROWS.replace("90", "9" * 1100))
    assert sorted(rows_of(cohort), key=str)[1] == ("1", 6.0, None, 1.0)
    said = "observations.csv: cells that are too long for any value: 1. They are left out."
    assert said in found.notes


@pytest.mark.parametrize("start", ["", "\n", "SECRET\n1,0,80,0\n"])
def test_a_file_without_a_header_line_is_refused(tmp_path: Path, start: str) -> None:
    assert "has no header line with names separated by commas" in refusal(tmp_path, rows=start)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_than_commas_are_refused(tmp_path: Path, separator: str) -> None:
    assert "separated by commas" in refusal(tmp_path, rows=ROWS.replace(",", separator))


def test_a_first_line_that_is_no_header_is_refused_without_quoting_it(tmp_path: Path) -> None:
    message = refusal(tmp_path, rows="SECRET_ID,0,77317731,SECRET_CELL\n")
    assert "observations.csv has no column 'patient_id'" in message
    assert "77317731" not in message


@pytest.mark.parametrize("header", ["patient_id,time,pulse,pulse", "patient_id, time,time ,oxygen"])
def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path, header: str) -> None:
    assert "names a column twice" in refusal(tmp_path, rows=header + "\n1,0,80,0\n")


def test_patients_without_rows_stay_and_a_table_without_patients_is_refused(tmp_path: Path) -> None:
    found, cohort = read(tmp_path, HEADER)
    assert (found.patients, rows_of(cohort)) == (2, [])
    assert "patient table is empty" in refusal(tmp_path, people="patient_id,group,event,site\n")
