"""Cohort folders: private facts are read in silence, public mistakes are refused with a remedy."""

import datetime as dt
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.reading.cohort_folder import CohortFolder, read_cohort
from longsynth.reading.parquet import ROWS_OF_NUMBERS as ROWS
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.system.errors import Code, CohortError, Refused, SchemaError
from longsynth.writing.cohort import write_cohort

Read = Callable[..., list[Any]]
Write = Callable[..., Path]
Example = list[Any]
NAN, INF = float("nan"), float("inf")
LARGEST = 2**63 - 1


# Private facts: cells


@pytest.mark.parametrize("cell", [None, NAN, INF, -INF])
def test_a_number_that_is_not_finite_is_missing(cell: float, read: Read, example: Example) -> None:
    first, second = read({"pulse": [80.0, cell, 70.0]})
    assert (first.pulse, first.oxygen) == ([80, None], [0, 1])
    assert second == example[1]


def not_utf8(*cells: bytes) -> pa.Array:
    """Text with bytes that are none, as a careless program may write it."""
    raw = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(cells), raw.buffers())


def test_text_that_is_not_utf_8_is_no_level(read: Read, example: Example) -> None:
    first, second = read(people={"site": not_utf8(b"\xfeB", b"B")})
    assert first.site == 0
    assert second == example[1]


def test_a_wild_value_is_read_as_it_stands_to_be_clipped_later(read: Read) -> None:
    assert read({"pulse": [1e308, -1e308, 221.0]})[0].pulse == [1e308, -1e308]


NUMBERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.float32(), pa.float64()),
]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_values_and_times_may_be_stored_as_any_common_number(
    kind: pa.DataType, read: Read, example: Example
) -> None:
    values, times = pa.array([80, 90, 70], kind), pa.array([0, 6, 2], kind)
    assert read({"pulse": values, "time": times}) == example


def test_values_may_be_stored_as_categories(read: Read, example: Example) -> None:
    assert read({"pulse": pa.array([80, 90, 70]).dictionary_encode()}) == example


def test_truth_values_are_zero_and_one(read: Read, example: Example) -> None:
    assert read({"oxygen": [False, True, None]}) == example


def test_a_column_of_nothing_is_missing(read: Read) -> None:
    assert [r.pulse for r in read({"pulse": pa.nulls(3)})] == [[None, None], [None]]


# Private facts: rows


def test_rows_of_one_time_are_merged_by_the_lower_median(read: Read, example: Example) -> None:
    rows = {
        "patient_id": [1, 1, 2, 1, 1],
        "time": [6.0, 6.0, 2.0, 0.0, 6.0],
        "pulse": [300.0, 90.0, 70.0, 80.0, None],
        "oxygen": [1.0, None, None, 0.0, 1.0],
    }
    assert read(rows) == example


def test_rows_past_the_last_slot_are_cut(read: Read, example: Example) -> None:
    times = [float(t) for t in range(9)]
    rows = {"patient_id": [1] * 9 + [2], "time": [*times, 2.0], "pulse": [*times, 70.0]}
    first, second = read(rows | {"oxygen": [None] * 10})
    assert (first.pulse, first.gaps) == ([0, 1, 2], [0, 1, 1])
    assert second == example[1]


def test_rows_of_unknown_patients_are_ignored(read: Read, example: Example) -> None:
    strangers = {"patient_id": [1, 1, 2, 3, None], "time": [0.0, 6.0, 2.0, 0.0, 0.0]}
    cells = {"pulse": [80.0, 90.0, 70.0, 1.0, 1.0], "oxygen": [0.0, 1.0, None, 1.0, 1.0]}
    assert read(strangers | cells) == example


@pytest.mark.parametrize("time", [None, NAN, INF, -INF])
def test_a_row_without_a_usable_time_is_ignored(time: float, read: Read, example: Example) -> None:
    first, second = read({"time": [0.0, time, 2.0]})
    assert (first.pulse, first.gaps) == ([80], [0])
    assert second == example[1]


def test_a_patient_without_rows_is_a_record_of_length_zero(read: Read, example: Example) -> None:
    people = {"patient_id": [1, 2, 3], "group": [0, 1, 1], "event": [0, 1, 0], "site": list("ABC")}
    *others, third = read(people=people)
    assert others == example
    assert (third.length, third.group, third.event, third.site) == (0, 1, 0, 2)


def test_a_cohort_without_any_rows_is_read(read: Read) -> None:
    columns = {"patient_id": pa.int64(), "time": pa.float64(), "pulse": pa.float64()}
    nothing = pa.schema({**columns, "oxygen": pa.null()}).empty_table()
    assert [r.length for r in read(nothing)] == [0, 0]


def test_huge_times_are_read_and_touch_nobody_else(read: Read, example: Example) -> None:
    first, second = read({"patient_id": [1, 1, 2], "time": [1e308, -1e308, 2.0]})
    assert (first.pulse, first.length) == ([90, 80], 2)
    assert np.isfinite(first.gaps).all()
    assert second == example[1]


def test_a_time_that_overflows_in_hours_is_no_time(read: Read) -> None:
    first, _ = read({"time": [0.0, 1e308, 2.0]}, time={"unit": "days"})
    assert first.pulse == [80]


def messy(rng: np.random.Generator, patients: int, rows: int) -> tuple[pa.Table, pa.Table]:
    """Shared times, missing cells, strangers, patients with too many rows and with none."""
    observations = {
        "patient_id": rng.integers(-2, patients + 2, rows),
        "time": rng.choice([0.0, 1.0, 2.5, 4.0, 1e308, NAN], rows),
        "pulse": rng.choice([-INF, 40.0, 80.0, 1e300, NAN], rows),
        "oxygen": rng.choice([0.0, 1.0, 7.0], rows),
    }
    people = {
        "patient_id": np.arange(patients),
        "group": rng.integers(0, 3, patients),
        "event": rng.integers(0, 2, patients),
        "site": rng.choice(["A", "B", "C", "D"], patients),
    }
    return pa.table(observations), pa.table(people)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_and_of_patients_does_not_matter(seed: int, read: Read) -> None:
    rng = np.random.default_rng(seed)
    rows, people = messy(rng, 40, 300)
    shuffled = (table.take(rng.permutation(len(table))) for table in (rows, people))
    assert read(*shuffled) == read(rows, people)


@pytest.mark.parametrize("seed", range(3))
def test_a_record_is_made_of_its_own_patients_rows_alone(seed: int, read: Read) -> None:
    rng = np.random.default_rng(seed)
    rows, people = messy(rng, 20, 200)
    other_rows, other_people = messy(rng, 20, 200)

    def of_seven(table: pa.Table) -> np.ndarray:
        return table.column("patient_id").to_numpy() == 7

    changed = (
        pa.concat_tables([a.filter(~of_seven(a)), b.filter(of_seven(b))])
        for a, b in ((rows, other_rows), (people, other_people))
    )
    before, after = read(rows, people), read(*changed)
    assert before[:7] + before[8:] == after[:7] + after[8:]


def test_nothing_is_printed_about_patients(
    folder: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    with CohortFolder(folder(*messy(np.random.default_rng(5), 30, 400))) as source:
        list(source.batches())
        source.repairs()
    assert capfd.readouterr() == ("", "")


# Private facts: labels


@pytest.mark.parametrize(
    "cells",
    [
        [None, 1],
        [2, 1],
        [-1, 1],
        [NAN, 1.0],
        [0.5, 1.0],
        ["", "1"],
        ["yes", "1"],
        ["x" * 1025, "1"],
    ],
)
def test_an_unknown_level_is_the_first(cells: list[object], read: Read, example: Example) -> None:
    assert read(people={"group": cells, "event": cells}) == example


def test_an_unknown_site_is_the_first(read: Read) -> None:
    for cells in (["D", "a"], [None, ""], [1, 2], [" A", "B "]):
        assert [r.site for r in read(people={"site": cells})] == [0, 0]


@pytest.mark.parametrize(
    "cells", [[0, 1], [0.0, 1.0], ["0", "1"], ["0.0", "1.0"], ["00", "1e0"], [False, True]]
)
def test_a_level_that_is_a_number_is_met_however_it_is_stored(
    cells: list[object], read: Read, example: Example
) -> None:
    assert read(people={"group": cells, "event": cells}) == example
    categories = pa.array(cells).dictionary_encode() if not isinstance(cells[0], bool) else cells
    assert read(people={"group": categories}) == example


def test_a_level_is_first_compared_as_text(read: Read) -> None:
    site = {"column": "site", "levels": ["01", 1.0, "nan", "inf"]}
    people = {"patient_id": [1, 2, 3, 4, 5]} | {"group": [0] * 5, "event": [0] * 5}
    found = read(people=people | {"site": ["1", "01", "nan", "inf", "001"]}, site=site)
    assert [r.site for r in found] == [1, 0, 2, 3, 0]


def test_labels_may_be_in_any_alphabet(read: Read) -> None:
    site = {"column": "site", "levels": ["Zürich", "it's", '"北京"']}
    found = read(people={"site": ["it's", '"北京"']}, site=site)
    assert [r.site for r in found] == [1, 2]


def test_a_single_site_needs_no_column(read: Read) -> None:
    people = pa.table({"patient_id": [1, 2], "group": [0, 1], "event": [0, 1]})
    assert [r.site for r in read(people=people, site=None)] == [0, 0]


# Time


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("seconds", [0, 21_600, 7200]),
        ("minutes", [0, 360, 120]),
        ("hours", [0, 6, 2]),
        ("days", [0, 0.25, 2 / 24]),
    ],
)
def test_times_in_other_units_become_hours(
    unit: str, times: list[float], read: Read, example: Example
) -> None:
    for found, expected in zip(read({"time": times}, time={"unit": unit}), example, strict=True):
        assert found.gaps == pytest.approx(expected.gaps, abs=1e-12)
        assert found.pulse == expected.pulse


STAMPS = [dt.datetime(2024, 3, 1, 22), dt.datetime(2024, 3, 2, 4), dt.datetime(1969, 1, 1)]


def gaps_of(read: Read, stored: object) -> list[list[float]]:
    return [r.gaps for r in read({"time": stored}, time={"unit": "timestamp"})]


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_stamps_count_from_each_patients_first(
    unit: str, zone: str | None, read: Read
) -> None:
    assert gaps_of(read, pa.array(STAMPS, pa.timestamp(unit, zone))) == [[0, 6], [0]]


def test_time_stamps_may_be_dates(read: Read) -> None:
    assert gaps_of(read, [dt.date(2024, 2, 28), dt.date(2024, 3, 1), None]) == [[0, 48], []]


def test_time_stamps_that_are_all_missing_are_ignored(read: Read) -> None:
    assert gaps_of(read, pa.nulls(3)) == gaps_of(read, pa.nulls(3, pa.timestamp("us"))) == [[], []]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("tick", [LARGEST, -LARGEST - 1, 10**17])
def test_time_stamps_beyond_every_calendar_are_read_and_touch_nobody_else(
    unit: str, tick: int, read: Read
) -> None:
    first, second = gaps_of(read, pa.array([0, tick, 0]).cast(pa.timestamp(unit)))
    assert len(first) == 2
    assert np.isfinite(first).all()
    assert second == [0]


def test_days_beyond_every_calendar_are_read_and_touch_nobody_else(read: Read) -> None:
    days = pa.array([0, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())
    assert gaps_of(read, days) == [[0, 24.0 * (2**31 - 1)], [0]]


# Patients' ids


@pytest.mark.parametrize(
    "ids",
    {
        "neighbours near 2^63": pa.array([LARGEST - 1, LARGEST]),
        "negative": pa.array([-LARGEST - 1, -LARGEST]),
        "neighbours that no float tells apart": pa.array([2**53, 2**53 + 1]),
        "small": pa.array([0, 255], pa.uint8()),
        "text": pa.array(["a", "b"]),
        "text with zeros in front": pa.array(["007", "07"]),
        "text with quotes": pa.array(['"', "'"]),
        "categories": pa.array(["x", "y"]).dictionary_encode(),
    }.items(),
    ids=lambda case: case[0],
)
def test_ids_may_be_whole_numbers_of_64_bits_or_text(
    ids: tuple[str, pa.Array], read: Read, example: Example
) -> None:
    assert read({"patient_id": ids[1].take([0, 0, 1])}, {"patient_id": ids[1]}) == example


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.string(), pa.large_string()])
@pytest.mark.parametrize("other", [pa.int32(), pa.uint32(), pa.string()])
def test_the_tables_may_store_ids_differently(
    kind: pa.DataType, other: pa.DataType, read: Read, example: Example
) -> None:
    rows, people = pa.array([1, 1, 2]).cast(kind), pa.array([1, 2]).cast(other)
    assert read({"patient_id": rows}, {"patient_id": people}) == example


def test_an_id_that_is_not_utf_8_is_nobodys(read: Read, example: Example) -> None:
    ids = {"patient_id": ["\N{REPLACEMENT CHARACTER}", "b"]}
    rows = {"patient_id": not_utf8(b"\xff", b"\xff", b"b")}
    first, second = read(rows, ids)
    assert sorted([first.length, second.length]) == [0, 1]


def test_a_patients_id_that_is_not_utf_8_or_too_long_is_refused(folder: Write) -> None:
    for ids in (not_utf8(b"\xff", b"\xfe"), ["x" * 1025, "b"]):
        refusal(folder(None, {"patient_id": ids}), Code.PATIENT_IDS)
    assert read_cohort(folder({"patient_id": ["x" * 1024] * 3}, {"patient_id": ["x" * 1024, "b"]}))


def test_text_ids_match_letter_by_letter(read: Read) -> None:
    rows = {"patient_id": ["01", "1 ", "1.0"]}
    assert [r.length for r in read(rows, {"patient_id": ["1", "2"]})] == [0, 0]


# Names and places


def test_columns_of_other_names_are_mapped(read: Read, example: Example) -> None:
    variables = [
        {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"},
        {"name": "oxygen", "kind": "binary"},
    ]
    odd = ["id", 'say "when"', "Herz Frequenz'", "v0"]
    rows = pa.table([[1, 1, 2], [0, 6, 2], [80, 90, 70], [0, 1, None]], odd)
    people = pa.table([["m", "f"], [7, 8], [1, 2], ["x", "y"]], ["number", "time", "id", "where"])
    found = read(
        rows,
        people,
        patient={"column": "id"},
        time={"column": odd[1]},
        variables=[v | {"column": c} for v, c in zip(variables, odd[2:], strict=True)],
        group={"column": "number", "levels": ["m", "f"]},
        event={"column": "time", "levels": [7, 8]},
        site={"column": "where", "levels": ["x", "y"]},
    )
    assert found == example


def test_other_columns_do_not_matter_whatever_they_hold(read: Read, example: Example) -> None:
    rows = {"note": not_utf8(b"\xff", b"", b"x"), "series": [[1.0], [], None], "Id": [1, 2, 3]}
    people = {"weight": [1.0, 2.0], "born": [dt.date(1950, 1, 1), None], "GROUP_": ["a", "b"]}
    assert read(rows, people) == example


@pytest.mark.parametrize(
    "name",
    ["a b", "it's", 'say "when"', "[*]", "a*", "wh?t", "[ab]", "{a,b}", "pulse=1", "ü", "a\\b"],
)
def test_a_folder_may_have_any_name(
    name: str, folder: Write, records: Read, example: Example
) -> None:
    folder({"pulse": [1.0, 1.0, 1.0]}, name="a neighbour")  # what a pattern would also match
    folder({"pulse": [1.0, 1.0, 1.0]}, name="what")
    path = folder(name=name)
    assert records(read_cohort(path)[1]) == example
    assert records(read_cohort(str(path))[1]) == example


def test_a_folder_may_be_given_relative_to_the_current_one(
    folder: Write, records: Read, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder()
    monkeypatch.chdir(path.parent)
    with CohortFolder(path.name) as source:
        monkeypatch.chdir("/")
        assert [r for batch in source.batches() for r in records(batch)] == example


def test_a_folder_that_is_called_like_a_home_is_read_where_it_is(
    folder: Write, records: Read, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(name="~")
    monkeypatch.chdir(path.parent)
    assert records(read_cohort("~")[1]) == example


# Streaming


def test_patients_that_straddle_batches_or_exceed_one_are_read_whole(
    folder: Write, records: Read
) -> None:
    counts = [ROWS - 10_000, 20_000, 2 * ROWS + 1, 1, 0, 3]  # rows of patients 0 to 5
    patient = np.repeat(np.arange(6), counts)
    ranks = np.concatenate([np.arange(1.0, n + 1) for n in counts])  # 1 to n, at one time
    order = np.random.default_rng(0).permutation(len(patient))
    rows = pa.table(
        {
            "patient_id": patient[order],
            "time": np.where(patient == 5, ranks, 1.0)[order],
            "pulse": ranks[order],
            "oxygen": np.ones(len(order)),
        }
    )
    people = {"patient_id": np.arange(6), "group": [1] * 6, "event": [0] * 6, "site": ["C"] * 6}
    with CohortFolder(folder(rows, people)) as source:
        batches = list(source.batches())
        again = list(source.batches())
    found = [r for batch in batches for r in records(batch)]
    medians = [[(n + 1) // 2] for n in counts[:4]]
    assert [r.pulse for r in found] == [*medians, [], [1, 2, 3]]
    assert [r.gaps for r in found] == [[1], [1], [1], [1], [], [1, 1, 1]]
    assert {(r.group, r.event, r.site) for r in found} == {(1, 0, 2)}
    assert [r for batch in again for r in records(batch)] == found


@pytest.mark.parametrize("rows_of_the_first", [0, 14, 70_000])
def test_how_many_patients_come_together_does_not_tell_of_their_rows(
    folder: Write, rows_of_the_first: int
) -> None:
    patient = np.concatenate(
        [np.zeros(rows_of_the_first, np.int64), np.repeat(np.arange(1, 9000), 9)]
    )
    rows = {"patient_id": patient, "time": np.arange(len(patient)) * 1.0}
    rows |= {"pulse": np.ones(len(patient)), "oxygen": np.ones(len(patient))}
    people = {"patient_id": np.arange(9000), "group": [1] * 9000}
    people |= {"event": [0] * 9000, "site": ["C"] * 9000}
    with CohortFolder(folder(pa.table(rows), people)) as source:
        assert [batch.patients for batch in source.batches()] == [8192, 808]


def test_the_number_of_patients_is_known_before_any_row_is_read(folder: Write) -> None:
    with CohortFolder(folder()) as source:
        assert source.patients == 2


# Scratch


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


STAMPED_ROWS = {"time": pa.array([0, 1, 2]).cast(pa.timestamp("us"))}  # copied before it is read


def test_scratch_is_removed_when_a_folder_is_closed(folder: Write, scratch: Path) -> None:
    with CohortFolder(folder(STAMPED_ROWS, time={"unit": "timestamp"})) as source:
        assert list(scratch.iterdir())
        next(source.batches())  # and the rest is never asked for
    assert not list(scratch.iterdir())


def test_scratch_is_removed_when_reading_fails(folder: Write, scratch: Path) -> None:
    with pytest.raises(CohortError):
        CohortFolder(folder(STAMPED_ROWS, {"patient_id": [1, 1]}, time={"unit": "timestamp"}))
    with pytest.raises(CohortError):
        CohortFolder(folder({"pulse": ["x", "y", "z"]}))
    assert not list(scratch.iterdir())


def test_reading_leaves_the_cohorts_folder_as_it_was(folder: Write) -> None:
    path = folder(STAMPED_ROWS, time={"unit": "timestamp"})
    before = sorted(p.name for p in path.iterdir())
    read_cohort(path)
    assert sorted(p.name for p in path.iterdir()) == before


# Public mistakes. Ids and cells are sentinels, and no message may quote one.

SECRET_ROWS = {
    "patient_id": ["SECRET_A", "SECRET_A", "SECRET_B"],
    "time": [77_317_731.0, 77_317_732.0, 77_317_733.0],
    "pulse": [77_317_734.0, 77_317_735.0, INF],
    "oxygen": [0.0, 1.0, None],
}
SECRET_PEOPLE = {
    "patient_id": ["SECRET_A", "SECRET_B"],
    "group": ["SECRET_G", None],
    "event": [77_317_735, 1],
    "site": ["SECRET_S", "B"],
}
STAMPED = pa.array([0, 1, 2]).cast(pa.timestamp("us"))
Tables = tuple[Any, Any]


def without(table: dict[str, Any], column: str) -> pa.Table:
    return pa.table({name: cells for name, cells in table.items() if name != column})


def twice(table: dict[str, Any], column: str, name: str) -> pa.Table:
    return pa.table(table).append_column(name, pa.table(table).column(column))


MISTAKES: dict[str, tuple[Any, Any, Code, str]] = {  # and what the refusal names
    "no time": (without(SECRET_ROWS, "time"), {}, Code.COLUMN_MISSING, "'time'"),
    "no variable": (without(SECRET_ROWS, "pulse"), {}, Code.COLUMN_MISSING, "'pulse'"),
    "no id in observations": (
        without(SECRET_ROWS, "patient_id"),
        {},
        Code.COLUMN_MISSING,
        "'patient_id'",
    ),
    "no id in patients": (
        {},
        without(SECRET_PEOPLE, "patient_id"),
        Code.COLUMN_MISSING,
        "'patient_id'",
    ),
    "no group": ({}, without(SECRET_PEOPLE, "group"), Code.COLUMN_MISSING, "'group'"),
    "no site": ({}, without(SECRET_PEOPLE, "site"), Code.COLUMN_MISSING, "'site'"),
    "other capitals": (
        pa.table(SECRET_ROWS).rename_columns(["patient_id", "Time", "pulse", "oxygen"]),
        {},
        Code.COLUMN_MISSING,
        "patient_id, Time, pulse, oxygen",
    ),
    "column twice": (twice(SECRET_ROWS, "pulse", "pulse"), {}, Code.COLUMN_TWICE, "'pulse'"),
    "column twice but for capitals": (
        twice(SECRET_ROWS, "pulse", "Pulse"),
        {},
        Code.COLUMN_TWICE,
        "'pulse'",
    ),
    "id twice": ({}, {"patient_id": ["SECRET_A", "SECRET_A"]}, Code.PATIENT_IDS, "twice"),
    "id twice, as numbers": (
        {"patient_id": [77_317_731, 77_317_731, 1]},
        {"patient_id": [77_317_731, 77_317_731]},
        Code.PATIENT_IDS,
        "twice",
    ),
    "no id": ({}, {"patient_id": ["SECRET_A", None]}, Code.PATIENT_IDS, "without a readable id"),
    "nobody": ({}, pa.table(SECRET_PEOPLE).slice(0, 0), Code.NO_PATIENTS, "empty"),
    "text as a variable": (
        {"pulse": ["SECRET_PULSE", "77317734", "1e999"]},
        {},
        Code.COLUMN_TYPE,
        "'pulse' of the observations table is stored as string",
    ),
    "list as a variable": ({"pulse": [[77_317_731.0], [], None]}, {}, Code.COLUMN_TYPE, "list"),
    "struct as a variable": ({"pulse": [{"SECRET": 1}] * 3}, {}, Code.COLUMN_TYPE, "struct"),
    "time stamp as a variable": ({"pulse": STAMPED}, {}, Code.COLUMN_TYPE, "`longsynth import`"),
    "list as a label": ({}, {"group": [["SECRET_G"], []]}, Code.COLUMN_TYPE, "'group'"),
    "time stamp as a label": (
        {},
        {"site": STAMPED[:2]},
        Code.COLUMN_TYPE,
        "timestamp",
    ),
    "list as a time": ({"time": [[77_317_731.0], [], []]}, {}, Code.COLUMN_TYPE, "'time'"),
    "text as a time": (
        {"time": ["77317731", "SECRET", ""]},
        {},
        Code.COLUMN_TYPE,
        "`longsynth import`",
    ),
    "time stamp as hours": ({"time": STAMPED}, {}, Code.COLUMN_TYPE, "'time: {unit: timestamp}'"),
    "fractions as ids": (
        {"patient_id": [77_317_731.0, 1.0, 2.0]},
        {},
        Code.COLUMN_TYPE,
        "double",
    ),
    "decimals as ids": (
        {},
        {"patient_id": [Decimal("77317731"), Decimal(2)]},
        Code.COLUMN_TYPE,
        "decimal128",
    ),
}


def refusal(path: Path | str, code: Code) -> str:
    """What is said when a folder cannot be read, from opening it to the last patient."""
    with pytest.raises(Refused) as refused, CohortFolder(path) as source:
        list(source.batches())
    message = str(refused.value)
    assert refused.value.code == code, message
    assert refused.value.remedy
    assert "SECRET" not in message
    assert "773177" not in message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return message


@pytest.mark.parametrize("case", MISTAKES)
def test_a_public_mistake_is_refused_with_a_remedy_and_without_quoting_a_patient(
    case: str, folder: Write
) -> None:
    rows, people, code, named = MISTAKES[case]
    rows = SECRET_ROWS | rows if isinstance(rows, dict) else rows
    people = SECRET_PEOPLE | people if isinstance(people, dict) else people
    assert named in refusal(folder(rows, people), code)


def test_numbers_are_no_time_stamps(folder: Write) -> None:
    path = folder(SECRET_ROWS, SECRET_PEOPLE, time={"unit": "timestamp"})
    assert "'time: {unit: hours}'" in refusal(path, Code.COLUMN_TYPE)


def test_time_stamps_of_96_bits_are_refused(folder: Write) -> None:
    path = folder(time={"unit": "timestamp"})
    table = pq.read_table(path / "observations.parquet")
    table = table.set_column(1, "time", pa.array([0, 1, 2]).cast(pa.timestamp("us")))
    pq.write_table(table, path / "observations.parquet", use_deprecated_int96_timestamps=True)
    assert "fixed_size_binary" in refusal(path, Code.COLUMN_TYPE)


def test_a_missing_folder_and_a_missing_table_are_named(folder: Write) -> None:
    path = folder(SECRET_ROWS, SECRET_PEOPLE)
    for no_folder in (path / "nowhere", path / "schema.yaml"):
        assert str(no_folder) in refusal(no_folder, Code.COHORT_INCOMPLETE)
    for table in ("observations", "patients"):
        (path / f"{table}.parquet").unlink()
        assert f"{table}.parquet" in refusal(path, Code.COHORT_INCOMPLETE)
        (path / f"{table}.csv").mkdir()
        assert f"{table}.parquet" in refusal(path, Code.COHORT_INCOMPLETE)
        (path / f"{table}.csv").rmdir()
        (path / f"{table}.csv").write_text("SECRET,77317731")
        assert "`longsynth import events`" in refusal(path, Code.COHORT_INCOMPLETE)
        path = folder(SECRET_ROWS, SECRET_PEOPLE)


def test_a_missing_or_wrong_schema_is_refused(folder: Write) -> None:
    path = folder(SECRET_ROWS, SECRET_PEOPLE)
    (path / "schema.yaml").write_text("slots: 3")
    with pytest.raises(SchemaError, match="line 1: name: is required"):
        CohortFolder(path)
    (path / "schema.yaml").unlink()
    with pytest.raises(SchemaError, match=r"does not exist\. Write it with `longsynth schema new`"):
        CohortFolder(path)


def pages_overwritten(whole: bytes) -> bytes:
    """The same file with its footer, but every page of cells damaged."""
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    return whole[:4] + b"\xff" * (len(whole) - 4 - footer) + whole[-footer:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut in half": lambda whole: whole[: len(whole) // 2],
    "cut at the end": lambda whole: whole[:-1],
    "garbage": lambda whole: b"SECRET" * 100,
    "text": lambda whole: b"patient_id,time\nSECRET,77317731\n",
    "footer damaged": lambda whole: whole[:-60] + b"\xff" * 40 + whole[-20:],
    "pages damaged": pages_overwritten,
}


@pytest.mark.parametrize("case", DAMAGE)
@pytest.mark.parametrize("table", ["observations", "patients"])
@pytest.mark.parametrize("text", [True, False])
def test_a_damaged_parquet_file_is_refused(
    case: str, table: str, text: bool, folder: Write
) -> None:
    path = folder(SECRET_ROWS, SECRET_PEOPLE) if text else folder(people={"site": [1, 2]})
    file = path / f"{table}.parquet"
    file.write_bytes(DAMAGE[case](file.read_bytes()))
    refusal(path, Code.FILE_UNREADABLE)


# What was repaired


def test_repairs_count_each_kind(folder: Write) -> None:
    rows = [  # patient, time, pulse, oxygen
        ("1", 0.0, 80.0, 0.0),
        ("1", None, 81.0, 0.0),  # no time
        ("1", NAN, 82.0, 0.0),  # no time
        ("1", 1.0, NAN, None),  # no number
        ("1", 2.0, INF, INF),  # no numbers
        ("1", 2.0, None, 1.0),  # merged
        ("1", 2.0, 84.0, 1.0),  # merged
        ("1", 3.0, 85.0, 1.0),  # past the last slot
        ("1", 4.0, 86.0, 1.0),  # past the last slot
        ("1", 4.0, 87.0, 1.0),  # past the last slot
        ("2", 1.0, 900.0, 1.0),  # wild, and read as it stands
        ("ghost", 1.0, 1.0, 1.0),  # unknown patient
        (None, 1.0, 1.0, 1.0),  # unknown patient
        ("ghost", 1.0, 1.0, 1.0),  # unknown patient
    ]
    patient, time, pulse, oxygen = map(list, zip(*rows, strict=True))
    people = {
        "patient_id": ["1", "2", "3", "4"],
        "group": [0, 1, 2, None],
        "event": [0, 1, 1, 9],
        "site": ["A", "B", "C", "A"],
    }
    observations = {"patient_id": patient, "time": time, "pulse": pulse, "oxygen": oxygen}
    with CohortFolder(folder(observations, people)) as source:
        assert source.repairs() == {
            "rows": 14,
            "rows_without_usable_time": 2,
            "rows_of_unknown_patients": 3,
            "patients_without_rows": 2,
            "rows_past_the_horizon": 0,
            "rows_of_patients_without_an_anchor": 0,
            "rows_past_the_last_slot": 3,
            "rows_merged_into_the_slot_of_another": 2,
            "slots_in_use": 4,
            "cells_not_a_finite_number": {"pulse": 2, "oxygen": 1},
            "labels_set_to_the_first_level": {"group": 2, "event": 1, "site": 0},
        }


def test_a_clean_cohort_needs_no_repair(folder: Write) -> None:
    people = pa.table({"patient_id": [1, 2], "group": [0, 1], "event": [0, 1]})
    with CohortFolder(folder(people=people, site=None)) as source:
        assert source.repairs() == {
            "rows": 3,
            "rows_without_usable_time": 0,
            "rows_of_unknown_patients": 0,
            "patients_without_rows": 0,
            "rows_past_the_horizon": 0,
            "rows_of_patients_without_an_anchor": 0,
            "rows_past_the_last_slot": 0,
            "rows_merged_into_the_slot_of_another": 0,
            "slots_in_use": 3,
            "cells_not_a_finite_number": {"pulse": 0, "oxygen": 0},
            "labels_set_to_the_first_level": {"group": 0, "event": 0},
        }


def test_a_cohort_without_rows_has_nothing_to_repair_but_that(folder: Write) -> None:
    nothing = {name: pa.nulls(0) for name in ("patient_id", "time", "pulse", "oxygen")}
    with CohortFolder(folder(pa.table(nothing))) as source:
        found = source.repairs()
    assert (found["rows"], found["patients_without_rows"]) == (0, 2)
    assert found["rows_past_the_last_slot"] == found["slots_in_use"] == 0


def test_duckdb_shows_no_progress_of_its_own(tmp_path: Path) -> None:
    """In a notebook or under `python -c` it would, on standard output, and move by private rows."""
    schema = simulated_schema()
    write_cohort(tmp_path, schema, [simulate(5, seed=1)])
    with CohortFolder(tmp_path) as source:
        found = source._session.connection.execute("SELECT current_setting('enable_progress_bar')")
        assert found.fetchall() == [(False,)]
