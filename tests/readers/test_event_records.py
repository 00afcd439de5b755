"""Where records of tidy tables start and end, ages and deaths from dates, and numbers below a
limit."""

import json
from pathlib import Path
from typing import Any

import pytest

from longsynth.system.errors import Code
from readers.small_sources import imported, rows_of
from refusals import refused

PATIENTS = """patient_id,in,out,born,died
1,2024-03-01 08:00,2024-03-01 20:00,1960-03-02,2024-03-03 08:00
2,2024-03-05 00:00,,1980-02-29,
3,,,1990-01-01,2024-03-09
"""
EVENTS = """patient_id,time,variable,value
1,2024-03-01 07:00,pulse,70
1,2024-03-01 08:00,pulse,71
1,2024-03-01 12:00,lactate,2
1,2024-03-01 13:00,pulse,73
1,2024-03-01 21:00,pulse,74
1,2024-03-01 22:00,discharge,
2,2024-03-05 01:00,lactate,<0.5
2,2024-03-05 02:00,lactate,> 20
2,2024-03-05 03:00,lactate,< much
2,2024-03-08 03:00,pulse,60
3,2024-03-07 00:00,pulse,90
3,2024-03-07 06:00,lactate,4
"""
COLUMN = {"column": "in"}


def schema(start: dict[str, Any], end: dict[str, Any] | None = None, **lactate: Any) -> Any:
    number = {"kind": "continuous", "bounds_from": "a book"}
    source = {"start": start} | ({"end": end} if end else {})
    return {
        "longsynth": 1,
        "name": "ward",
        "slots": 4,
        "max_gap": 99,
        "patient": {"column": "patient_id"},
        "time": {"column": "time", "unit": "timestamp"},
        "group": None,
        "event": {
            "column": "died",
            "levels": ["alive", "dead"],
            "source": {"fact": "death", "within": 48},
        },
        "source": source,
        "variables": [
            {"name": "pulse", "bounds": [20, 220]} | number,
            {"name": "lactate", "bounds": [0, 40], "source": lactate} | number,
            {"name": "age", "bounds": [0, 120], "static": True, "column": "born"}
            | number
            | {"source": {"fact": "age"}},
        ],
    }


def read(folder: Path, mapping: Any, *, wide: bool = False) -> Path:
    tables = folder / "in"
    tables.mkdir()
    (tables / "patients.csv").write_text(PATIENTS)
    rows = [line.split(",") for line in EVENTS.splitlines()]
    if wide:
        cells = [[i, at, *((v, "") if what == "pulse" else ("", v))] for i, at, what, v in rows[1:]]
        text = "\n".join(map(",".join, [["patient_id", "time", "pulse", "lactate"], *cells]))
        (tables / "observations.csv").write_text(text)
    else:
        (tables / "events.csv").write_text(EVENTS)
    return imported("events", tables, folder, mapping)


def pulses(folder: Path) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for patient, time, pulse, _ in rows_of(folder):
        if pulse is not None:
            found.setdefault(patient, []).append((time, pulse))
    return found


ENDS = {
    "no end": (COLUMN, None, [(0, 71), (5, 73), (13, 74)], [(75, 60)]),
    "a column": (COLUMN, {"column": "out"}, [(0, 71), (5, 73)], [(75, 60)]),
    "hours": (COLUMN, {"hours": 4}, [(0, 71)], []),
    "an event": (COLUMN, {"codes": ["lactate"]}, [(0, 71)], []),
    "the earlier of two": (
        COLUMN,
        {"codes": ["discharge"], "hours": 13},
        [(0, 71), (5, 73), (13, 74)],
        [],
    ),
    "an index event": ({"codes": ["lactate"]}, {"hours": 8}, [(1, 73)], []),
    "an index event by pattern": ({"pattern": "lac.*"}, None, [(1, 73), (9, 74)], [(74, 60)]),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_record_is_what_lies_between_its_start_and_its_end(tmp_path: Path, case: str) -> None:
    start, end, first, second = ENDS[case]
    found = pulses(read(tmp_path, schema(start, end)))
    assert found.get("1", []) == first
    assert found.get("2", []) == second


@pytest.mark.parametrize("end", [{"column": "out"}, {"hours": 12}])
def test_wide_rows_end_where_long_events_do(tmp_path: Path, end: dict[str, Any]) -> None:
    found = pulses(read(tmp_path, schema(COLUMN, end), wide=True))
    assert found["1"] == [(0, 71), (5, 73)]


def test_why_each_event_was_left_out_is_counted_inside(tmp_path: Path) -> None:
    folder = read(tmp_path, schema(COLUMN, {"column": "out"}))
    counts = json.loads((folder / "internal/import.json").read_text())["by_name"]["pulse"]
    assert counts["left_out"] == {
        "after_the_end": 1,
        "before_the_start": 1,
        "of_patients_without_a_start": 1,
    }
    assert counts["events"] == counts["used"] + 3


def test_ages_and_deaths_follow_from_dates(tmp_path: Path) -> None:
    """Patient 1 has a birthday on the next day, and dies 48 hours after the start. Patient 2 was
    born on a leap day. Patient 3 has no start."""
    people = rows_of(read(tmp_path, schema(COLUMN)), "patients")
    assert [row[0] for row in people] == ["1", "2", "3"]
    assert {"dead" in row for row in people[:1]} == {True}
    assert "alive" in people[1]
    assert [row[-1] for row in people] == [63.0, 44.0, None]


def test_an_index_event_moves_the_age_and_the_window_of_death(tmp_path: Path) -> None:
    people = rows_of(read(tmp_path, schema({"codes": ["lactate"]})), "patients")
    assert ["dead" in row for row in people] == [True, False, True]
    assert [row[-1] for row in people] == [63.0, 44.0, 34.0]


@pytest.mark.parametrize(
    ("censored", "values"),
    [("limit", [0.5, 20.0]), ("half", [0.25, 20.0]), ("missing", []), (None, [0.5, 20.0])],
)
def test_a_number_beyond_a_limit_is_what_the_mapping_says(
    tmp_path: Path, censored: str | None, values: list[float]
) -> None:
    source = {} if censored is None else {"censored": censored}
    folder = read(tmp_path, schema(COLUMN, **source))
    assert [row[3] for row in rows_of(folder) if row[0] == "2" and row[3]] == values


@pytest.mark.parametrize(
    ("start", "end"),
    [({"visits": [9201]}, None), ({"part_of": True}, None), (COLUMN, {"concepts": [1]})],
)
def test_a_start_or_an_end_of_other_formats_is_refused(
    tmp_path: Path, start: dict[str, Any], end: dict[str, Any] | None
) -> None:
    with refused(Code.MAPPING_UNUSABLE):
        read(tmp_path, schema(start, end))
    assert not (tmp_path / "cohort0").exists()
