"""Tidy tables: long events and wide rows, as Parquet and as CSV."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.schema.file import load_schema
from longsynth.system.errors import Code, CohortError, SchemaError
from readers.small_sources import FAHRENHEIT, imported, rows_of, write
from refusals import refused

SCHEMA: dict[str, Any] = {
    "longsynth": 1,
    "name": "ward",
    "slots": 4,
    "max_gap": 48,
    "patient": {"column": "pid"},
    "time": {"column": "taken", "unit": "minutes"},
    "group": {"column": "sex", "levels": ["m", "f"]},
    "event": {"column": "died", "levels": [0, 1]},
    "source": {"variable": "item", "value": "result", "unit": "uom"},
    "variables": [
        {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"},
        {
            "name": "temperature",
            "kind": "continuous",
            "bounds": [25, 45],
            "bounds_from": "a thermometer",
            "source": {"codes": ["T1", "T2"], "units": {"C": 1, "F": FAHRENHEIT, "": 1}},
        },
        {"name": "mode", "kind": "nominal", "levels": ["air", "mask", "tube"]},
    ],
}
PATIENTS = "pid,sex,died\n1,m,0\n2,f,1\n3,f,0\n"
EVENTS = """pid,taken,item,result,uom
1,60,pulse,80,
2,0,pulse,90,
1,60,T1,99.5,F
1,120,T2,37.25,
2,30,mode,mask,
2,40,T1,311,K
1,soon,pulse,70,
2,50,pulse,fast,
9,0,pulse,77,
1,90,weight,70,kg
"""
LONG = [
    ("1", 1.0, 80.0, None, None),
    ("1", 1.0, None, 99.5 * FAHRENHEIT[0] + FAHRENHEIT[1], None),
    ("1", 2.0, None, 37.25, None),
    ("2", 0.0, 90.0, None, None),
    ("2", 0.5, None, None, "mask"),
]
WIDE = """pid,taken,pulse,temperature,mode
2,0,90,,
1,60,80,37.5,air
1,120,,,
2,30,,,mask
9,0,77,,
1,soon,80,,
1,,80,,
"""


def tables(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in ({"patients": PATIENTS} | files).items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_long_events_become_rows_in_the_schemas_units_and_levels(tmp_path: Path) -> None:
    folder = imported("events", tables(tmp_path / "in", events=EVENTS), tmp_path, SCHEMA)
    assert rows_of(folder) == LONG
    assert rows_of(folder, "patients") == [("1", "m", "0"), ("2", "f", "1"), ("3", "f", "0")]


def test_a_variable_that_no_event_has_is_counted_as_none(tmp_path: Path) -> None:
    without = "".join(x for x in EVENTS.splitlines(keepends=True) if "mode" not in x)
    folder = imported("events", tables(tmp_path / "in", events=without), tmp_path, SCHEMA)
    counts = json.loads((folder / "internal/import.json").read_text())["by_name"]
    assert set(counts) == {"pulse", "temperature", "mode"}
    assert counts["mode"] == {"events": 0, "used": 0, "left_out": {}}


def test_parquet_tables_give_the_same_with_whole_numbers_as_ids(tmp_path: Path) -> None:
    lines = [line.split(",") for line in EVENTS.splitlines()]
    columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
    whole = columns | {
        "pid": list(map(int, columns["pid"])),
        "uom": [u or None for u in columns["uom"]],
    }
    write(tmp_path / "in/events.parquet", pa.table(whole))
    people = {"pid": [3, 1, 2], "sex": ["f", "m", "f"], "died": [False, False, True]}
    write(tmp_path / "in/patients.parquet", pa.table(people))
    folder = imported("events", tmp_path / "in", tmp_path, SCHEMA)
    assert rows_of(folder) == [(int(row[0]), *row[1:]) for row in LONG]
    assert rows_of(folder, "patients") == [(1, "m", "0"), (2, "f", "1"), (3, "f", "0")]


def test_wide_rows_are_kept_row_for_row(tmp_path: Path) -> None:
    folder = imported("events", tables(tmp_path / "in", observations=WIDE), tmp_path, SCHEMA_WIDE)
    assert rows_of(folder) == [
        ("1", 1.0, 80.0, 37.5, "air"),
        ("1", 2.0, None, None, None),
        ("2", 0.0, 90.0, None, None),
        ("2", 0.5, None, None, "mask"),
    ]
    assert read_cohort(folder)[1].length.tolist() == [2, 2, 0]
    counts = json.loads((folder / "internal/import.json").read_text())
    assert (counts["rows"], counts["rows_without_usable_time"]) == (7, 2)
    assert counts["rows_of_unknown_patients"] == 1


SCHEMA_WIDE = SCHEMA | {
    "variables": [
        SCHEMA["variables"][0],
        {k: v for k, v in SCHEMA["variables"][1].items() if k != "source"},
        SCHEMA["variables"][2],
    ]
}


def test_a_wide_column_in_one_other_unit_is_converted(tmp_path: Path) -> None:
    source = {"units": {"F": FAHRENHEIT}}
    variables = [dict(v) for v in SCHEMA_WIDE["variables"]]
    variables[1]["source"] = source
    text = WIDE.replace("37.5", "99.5")
    folder = imported(
        "events",
        tables(tmp_path / "in", observations=text),
        tmp_path,
        SCHEMA_WIDE | {"variables": variables},
    )
    assert rows_of(folder)[0][3] == LONG[1][3]


STAMPED = (
    "pid,taken,item,result,uom\n1,2020-01-01 09:00,pulse,80,\n1,2020-01-01T07:00+00:00,pulse,70,\n"
)


def test_time_stamps_count_from_the_start_in_the_patient_table(tmp_path: Path) -> None:
    source = SCHEMA["source"] | {"start": {"column": "admitted"}}
    schema = SCHEMA | {"source": source, "time": {"column": "taken", "unit": "timestamp"}}
    people = "pid,sex,died,admitted\n1,m,0,2020-01-01 08:00\n2,f,1,never\n"
    folder = imported(
        "events", tables(tmp_path / "in", events=STAMPED, patients=people), tmp_path, schema
    )
    assert rows_of(folder) == [("1", 1.0, 80.0, None, None)], "what lies before it does not count"
    assert len(rows_of(folder, "patients")) == 2


def test_time_stamps_without_a_start_stay_time_stamps(tmp_path: Path) -> None:
    schema = SCHEMA | {"time": {"column": "taken", "unit": "timestamp"}}
    folder = imported("events", tables(tmp_path / "in", events=STAMPED), tmp_path, schema)
    read, cohort = read_cohort(folder)
    assert read.time.unit == "timestamp"
    assert cohort.gaps[0].tolist() == [0, 2, 0, 0]


def test_labels_and_static_values_may_come_from_events(tmp_path: Path) -> None:
    once = {
        "name": "height",
        "kind": "continuous",
        "static": True,
        "bounds": [30, 250],
        "bounds_from": "a ruler",
        "source": {"codes": ["Height"]},
    }
    schema = SCHEMA | {
        "group": {"levels": ["0", "1"], "source": {"codes": ["Gender"]}},
        "event": {
            "levels": ["no", "yes"],
            "source": {"codes": ["mode"], "fact": "occurs", "within": 0.5},
        },
        "variables": [*SCHEMA["variables"], once],
    }
    more = "1,0,Gender,1.0,\n2,,Gender,0,\n3,soon,Gender,1,\n1,60,Height,180,cm\n"
    more += "1,5,Height,170,cm\n1,60,mode,tube,\n"
    folder = imported("events", tables(tmp_path / "in", events=EVENTS + more), tmp_path, schema)
    assert rows_of(folder, "patients") == [
        ("1", "1", "no", 170.0),
        ("2", "0", "yes", None),
        ("3", None, "no", None),
    ]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ({"fact": "age"}, "Add static: true"),
        ({"codes": ["T1"], "units": {"C": 1}, "values": {"hot": "high"}}, "not one of its levels"),
    ],
)
def test_a_mapping_that_cannot_work_is_refused_with_its_place(
    tmp_path: Path, source: dict[str, Any], remedy: str
) -> None:
    variables = [SCHEMA["variables"][0], dict(SCHEMA["variables"][1], source=source)]
    with pytest.raises(SchemaError, match=rf"^variables\.temperature: .*{remedy}"):
        imported(
            "events",
            tables(tmp_path / "in", events=EVENTS),
            tmp_path,
            SCHEMA | {"variables": variables},
        )


def test_units_without_anything_that_names_a_unit_cannot_be_converted(tmp_path: Path) -> None:
    schema = SCHEMA | {"source": {"variable": "item", "value": "result"}}
    with pytest.raises(SchemaError, match="nothing says which unit"):
        imported("events", tables(tmp_path / "in", events=EVENTS), tmp_path, schema)


def test_two_units_of_one_wide_column_cannot_be_converted(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="a column of a wide table has one unit"):
        imported("events", tables(tmp_path / "in", observations=WIDE), tmp_path, SCHEMA)


def test_a_folder_without_rows_over_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="has no events or observations"):
        imported("events", tables(tmp_path / "in"), tmp_path, SCHEMA_WIDE)


CENSORED = """
longsynth: 1
name: follow-up
slots: 2
max_gap: 48
outcomes:
  - name: relapse
    kind: time_to_event
    unit: days
    horizon: 100
    column: relapsed
    otherwise: last_visit
    status: {column: ended, levels: [0, 1]}
group: null
variables:
  - {name: hr, kind: continuous, bounds: [20, 300], bounds_from: a device}
"""


@pytest.mark.parametrize("form", ["events", "meds"])
def test_the_time_of_a_censored_patient_comes_from_the_other_column(
    tmp_path: Path, form: str
) -> None:
    (tmp_path / "schema.yaml").write_text(CENSORED)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "patients.csv").write_text(
        "patient_id,relapsed,last_visit,ended\n1,30,70,1\n2,,80,0\n3,,,0\n"
    )
    (tables / "observations.csv").write_text("patient_id,time,hr\n1,0,80\n2,0,70\n3,0,75\n")
    out = tmp_path / "out"
    if form == "meds":
        with refused(Code.MAPPING_UNUSABLE):
            import_cohort("meds", str(tables), tmp_path / "schema.yaml", out)
        return
    import_cohort("events", str(tables), tmp_path / "schema.yaml", out)
    _, cohort = read_cohort(out)
    place = [v.name for v in load_schema(out / "schema.yaml").variables].index("relapse")
    assert cohort.values[:2, 0, place].tolist() == [30.0, 80.0]
    assert cohort.observed[:, 0, place].tolist() == [True, True, False]
