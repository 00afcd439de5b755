"""CSV: a line is a row, and whatever stands in a line stays in that line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import example as also
from hypothesis import strategies as st

from longsynth.errors import CohortError
from longsynth.io.lines import _row
from longsynth.io.tables import CohortFolder, read_cohort

Read = Callable[..., list[Any]]
Example = list[Any]
Write = Callable[..., Path]

HEADER = "patient_id,time,pulse,oxygen\n"
ROWS = HEADER + "1,0,80,0\n1,6,90,1\n2,2,70,\n"
PEOPLE = "patient_id,group,event,site\n1,0,0,A\n2,1,1,B\n"


def test_csv_and_parquet_of_the_same_cohort_give_the_same_records(
    read: Read, example: Example
) -> None:
    assert read(ROWS, PEOPLE) == example


def test_one_table_may_be_csv_and_the_other_parquet(read: Read, example: Example) -> None:
    assert read(ROWS) == read(people=PEOPLE) == example


def test_parquet_is_read_where_both_exist(folder: Write, example: Example, records: Read) -> None:
    both = folder()
    (both / "observations.csv").write_text(HEADER + "1,0,200,1\n")
    (both / "patients.csv").write_text("nonsense")
    assert records(read_cohort(both)[1]) == example


@pytest.mark.parametrize(
    "written",
    {
        "byte order mark": b"\xef\xbb\xbf" + ROWS.encode(),
        "Windows line ends": ROWS.replace("\n", "\r\n"),
        "blank lines": ROWS.replace("\n", "\n\n  \n"),
        "no line end at the end": ROWS.removesuffix("\n"),
        "spaces": ROWS.replace(",", " , "),
        "quotes": "\n".join(
            ",".join(f'"{cell}"' for cell in line.split(",")) for line in ROWS.splitlines()
        ),
        "other columns": "patient_id,note,time,pulse,oxygen,\n"
        '1,"a, ""b""",0,80,0,\n1,,6,90,1,x\n2,,2,70,,\n',
        "unsorted": HEADER + "2,2,70,\n1,6,90,1\n1,0,80,0\n",
    }.items(),
    ids=lambda case: case[0],
)
def test_the_way_a_csv_is_written_does_not_matter(
    written: tuple[str, Any], read: Read, example: Example
) -> None:
    assert read(written[1], PEOPLE) == example


@pytest.mark.parametrize(
    "cell",
    [
        "",
        " ",
        "x",
        '"1,5"',
        "1.5.2",
        "inf",
        "-inf",
        "nan",
        "NA",
        "1e999",
        "0x50",
        "8\x000",
        "٨",
        "é",
    ],
)
def test_a_cell_that_is_no_finite_number_is_missing(
    cell: str, read: Read, example: Example
) -> None:
    first, second = read(ROWS.replace(",80,", f",{cell},"), PEOPLE)
    assert first.pulse == [None, 90]
    assert first.oxygen == [0, 1]
    assert second == example[1]


def test_numbers_may_be_written_in_any_common_way(read: Read) -> None:
    rows = HEADER + "1,0,8e1,0\n1,1,+80.0,0\n1,2,080,0\n"
    assert read(rows, PEOPLE)[0].pulse == [80, 80, 80]


@pytest.mark.parametrize("time", ["", "x", "nan", "inf", "-inf", "1e999"])
def test_a_line_without_a_usable_time_is_ignored(time: str, read: Read, example: Example) -> None:
    first, second = read(ROWS.replace("1,6,", f"1,{time},"), PEOPLE)
    assert first.pulse == [80]
    assert second == example[1]


LINES = {  # of patient 1, instead of the one at 6 hours: pulse and oxygen there, None if no slot
    "open quote": (b'1,6,"90,1', (90, 1)),
    "open quote in the last cell": (b'1,6,90,"1', (90, 1)),
    "quote inside": (b'1,6,9"0,1', (None, 1)),
    "open quote, quoted id": (b'"1",6,"90,1', (90, 1)),
    "NUL": (b"1,6,9\x000,1", (None, 1)),
    "not UTF-8": (b"1,6,9\xff0,1", (None, 1)),
    "cut in a letter": (b"1,6,90,\xe2\x82", (90, None)),
    "too few cells": (b"1,6,90", (90, None)),
    "too many cells": (b"1,6,90,1,2,3", (90, 1)),
    "long cell": (b"1,6," + b"x" * 200_000 + b",1", (None, 1)),
    "long quoted cell": (b'1,6,"' + b"x" * 200_000 + b'",1', (None, 1)),
    "long number": (b"1,6," + b"9" * 200_000 + b",1", (None, 1)),
    "only an id": (b"1", None),
    "nothing but commas": (b",,,", None),
    "nothing but a quote": (b'"', None),
    "unknown patient": (b"nobody,6,90,1", None),
}


@pytest.mark.parametrize("case", LINES)
def test_a_damaged_line_of_observations_costs_its_own_cells_and_nothing_else(
    case: str, read: Read, example: Example
) -> None:
    line, cells = LINES[case]
    first, second = read(ROWS.encode().replace(b"1,6,90,1", line), PEOPLE)
    assert second == example[1]
    assert first.pulse == [80] + ([] if cells is None else [cells[0]])
    assert first.oxygen == [0] + ([] if cells is None else [cells[1]])


@pytest.mark.parametrize(
    "line",
    [
        b"1",
        b'1,"0,0,A',
        b"1,9,?,\xff\xfe",
        b"1,0\x00,0\x00,A\x00",
        b"1,0,0," + b"x" * 200_000,
        b'1,0,"' + b"x," * 100_000,
        b"1,,,",
        b"1,0,0,A,B,C",
    ],
)
def test_a_damaged_line_of_patients_costs_its_own_labels_and_nothing_else(
    line: bytes, read: Read, example: Example
) -> None:
    assert read(ROWS, PEOPLE.encode().replace(b"1,0,0,A", line)) == example


def test_a_csv_must_start_with_the_id_so_that_no_cell_can_move_it(read: Read) -> None:
    people = 'site,patient_id,group,event\n"A,1,0,0\nB,2,1,1\n'
    with pytest.raises(CohortError, match="whose first name is 'patient_id'"):
        read(ROWS, people)


@pytest.mark.parametrize("tail", ["2,70,1", "70", "", '"', ",,,,,,", '"x,3,2,199,1', "2,\r,1"])
@pytest.mark.parametrize("identity", ['"12,5"', '"p""1"', '" 7"', "12"])
def test_no_cell_can_change_the_id_of_its_line(identity: str, tail: str) -> None:
    row, _ = _row(f"{identity},{tail}", 4)
    assert row[0] == {'"12,5"': "12,5", '"p""1"': 'p"1', '" 7"': "7", "12": "12"}[identity]


@pytest.mark.parametrize("first", ["p1,0,0,A", "p1,,,", "p1,0,1,A", "p1,group,1,A"])
def test_a_missing_header_says_the_same_whatever_the_first_patient_is(
    read: Read, first: str
) -> None:
    with pytest.raises(CohortError) as refusal:
        read(ROWS, f"{first}\np2,1,1,B\n")
    assert str(refusal.value) == (
        "patients.csv must begin with a header line, separated by commas, whose first name is "
        "'patient_id': the id stands first, so that no other cell can move it."
    )


@pytest.mark.parametrize(
    "cell", ["x\r2,2,199,1", '"x\r2,2,199,1"', "9" * 300_000, '"' + "," * 200_000]
)
def test_neither_a_carriage_return_nor_a_long_cell_reaches_another_patient(
    read: Read, example: Example, cell: str
) -> None:
    first, second = read(ROWS.replace("90,1", f"{cell},1"), PEOPLE)
    assert first.pulse == [80, None]
    assert second == example[1]


def test_a_line_break_ends_a_row_even_inside_quotes(read: Read, example: Example) -> None:
    first, second = read(ROWS.replace("90,1", '"x\ny",1'), PEOPLE)
    assert (first.pulse, first.oxygen) == ([80, None], [0, None])
    assert second == example[1]


anything = st.binary(max_size=40) | st.text(alphabet='",.0123456789\t\x00 é', max_size=40).map(
    str.encode
)
one_line = anything.map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b""))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(one_line, max_size=4), person=one_line)
@also(rows=[b'"', b'""",'], person=b'"')
@also(rows=[b"\xef\xbb\xbf", b"\xe2"], person=b"\xe2")
def test_replacing_a_patients_lines_changes_that_patients_record_alone(
    rows: list[bytes], person: bytes, read: Read, example: Example
) -> None:
    around = [line.encode() for line in ROWS.splitlines()]
    mine = [b"1," + line for line in rows]
    observations = b"\n".join([around[0], *mine[:2], around[3], *mine[2:]])
    patients = b"patient_id,group,event,site\n1," + person + b"\n2,1,1,B"
    found = read(observations, patients)
    assert len(found) == 2
    assert found[1] == example[1]


def refusal(folder: Path) -> str:
    with pytest.raises(CohortError) as refused:
        CohortFolder(folder)
    return str(refused.value)


@pytest.mark.parametrize("start", ["", "\n", "\n" + ROWS, ",,,\n1,0,80,0\n"])
def test_a_file_without_a_header_line_is_refused(start: str, folder: Write) -> None:
    message = refusal(folder(start))
    assert message.startswith("observations.csv must begin with a header line")


@pytest.mark.parametrize("header", ["patient_id,time,pulse,pulse", "patient_id, time,time ,oxygen"])
def test_a_header_that_names_a_column_twice_is_refused(header: str, folder: Write) -> None:
    message = refusal(folder(header + "\n1,0,80,0\n"))
    assert message == "observations.csv names a column twice in its header: rename one."


def test_a_first_line_that_is_no_header_is_refused_without_quoting_it(folder: Write) -> None:
    message = refusal(folder("SECRET_ID,0,77317731,SECRET_CELL\n", PEOPLE))
    assert message.startswith("observations.csv must begin with a header line")
    assert "header line" in message
    assert "SECRET" not in message
    assert "77317731" not in message


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_than_commas_are_refused(separator: str, folder: Write) -> None:
    assert "separated by commas" in refusal(folder(ROWS.replace(",", separator)))


def test_a_csv_without_lines_has_patients_without_rows(read: Read) -> None:
    assert [r.length for r in read(HEADER, PEOPLE)] == [0, 0]


def test_patients_without_lines_are_refused(folder: Write) -> None:
    assert "patient table is empty" in refusal(folder(ROWS, "patient_id,group,event,site\n"))
