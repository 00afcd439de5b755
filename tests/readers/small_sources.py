"""Three patients, small enough to check by hand, as a MEDS dataset, as OMOP tables and as CSV.

Patient 1 has a stay of 40 hours and dies 48 hours after its start; a pulse before the stay and one
after it do not count. Patient 2 has a temperature in a unit that nobody mapped. Patient 3 was never
admitted: an empty record.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from longsynth.reading.importing import import_cohort

START = {1: datetime(2020, 1, 1, 8), 2: datetime(2021, 6, 1, 0, 30)}
BIRTH = {1: datetime(1960, 5, 5), 2: datetime(1991, 6, 1), 3: datetime(2000, 1, 1)}
FAHRENHEIT = [0.5555555555555556, -17.77777777777778]
ROWS = [  # patient, hours, pulse, temperature, oxygen
    (1, 1.0, 80.0, None, None),
    (1, 2.0, None, 99.5 * FAHRENHEIT[0] + FAHRENHEIT[1], None),
    (1, 3.0, None, None, "mask"),
    (2, 0.0, 90.0, None, None),
    (2, 0.5, None, 38.0, None),
]
PEOPLE = [  # patient, group, event, site, age
    (1, "F", "dead", "A", 59.0),
    (2, "M", "alive", "B", 30.0),
    (3, "F", "alive", None, None),
]
SCHEMA: dict[str, Any] = {
    "longsynth": 1,
    "name": "three patients",
    "slots": 4,
    "max_gap": 48,
    "slot_rule": {"anchors": ["pulse"], "merge": 1, "horizon": 72},
    "source": {
        "start": {"pattern": "ADMIT//.*", "visits": [9201], "min_hours": 1},
        "end": {"codes": ["DISCHARGE"]},
    },
    "group": {
        "levels": ["M", "F"],
        "source": {
            "pattern": "SEX//(?P<value>.)",
            "column": "person.gender_concept_id",
            "values": {"8507": "M", "8532": "F"},
        },
    },
    "event": {"levels": ["alive", "dead"], "source": {"fact": "death", "within": 48}},
    "site": {
        "levels": ["A", "B"],
        "source": {
            "pattern": "ADMIT//ward (?P<value>.*)",
            "column": "care_site.care_site_name",
            "values": {"ward A": "A", "ward B": "B"},
        },
    },
    "variables": [
        {
            "name": "pulse",
            "kind": "continuous",
            "bounds": [20, 220],
            "bounds_from": "a monitor",
            "source": {"codes": ["HR"], "concepts": [3027018]},
        },
        {
            "name": "temperature",
            "unit": "°C",
            "kind": "continuous",
            "bounds": [25, 45],
            "bounds_from": "a thermometer",
            "source": {
                "pattern": "TEMP//(?P<unit>.*)",
                "concepts": [3020891],
                "units": {"C": 1, "F": FAHRENHEIT},
            },
        },
        {
            "name": "oxygen",
            "kind": "nominal",
            "levels": ["air", "mask", "tube"],
            "source": {
                "pattern": "O2//(?P<value>.*)",
                "concepts": [3005629],
                "values": {"45878": "mask"},
            },
        },
        {
            "name": "age",
            "kind": "continuous",
            "static": True,
            "bounds": [0, 120],
            "bounds_from": "a calendar",
            "source": {"fact": "age"},
        },
    ],
}
MEDS_ROWS: list[tuple[int, datetime | None, str, float | None]] = [
    (1, None, "SEX//F", None),
    (1, BIRTH[1], "MEDS_BIRTH", None),
    (1, START[1] - timedelta(hours=1), "HR", 70.0),
    (1, START[1], "ADMIT//ward A", None),
    (1, START[1] + timedelta(hours=1), "HR", 80.0),
    (1, START[1] + timedelta(hours=2), "TEMP//F", 99.5),
    (1, START[1] + timedelta(hours=3), "O2//mask", None),
    (1, START[1] + timedelta(hours=4), "HR", None),
    (1, START[1] + timedelta(hours=40), "DISCHARGE", None),
    (1, START[1] + timedelta(hours=41), "HR", 60.0),
    (1, START[1] + timedelta(hours=48), "MEDS_DEATH", None),
    (2, None, "SEX//M", None),
    (2, BIRTH[2], "MEDS_BIRTH", None),
    (2, START[2], "ADMIT//ward B", None),
    (2, START[2], "HR", 90.0),
    (2, START[2] + timedelta(minutes=30), "TEMP//C", 38.0),
    (2, START[2] + timedelta(minutes=40), "TEMP//K", 311.0),
    (2, START[2] + timedelta(hours=9), "ADMIT//ward A", None),
    (3, None, "SEX//F", None),
    (3, BIRTH[3], "MEDS_BIRTH", None),
    (3, datetime(2020, 1, 1), "HR", 88.0),
]
MEDS_TYPES = {
    "subject_id": pa.int64(),
    "time": pa.timestamp("us"),
    "code": pa.string(),
    "numeric_value": pa.float32(),
}


def meds(folder: Path, rows: list[Any] | None = None, types: dict[str, Any] | None = None) -> Path:
    """Write a MEDS dataset in two shards, patient 1 in the first."""
    rows, types = MEDS_ROWS if rows is None else rows, MEDS_TYPES | (types or {})
    shards = {"train/0": [r for r in rows if r[0] == 1], "tuning/0": [r for r in rows if r[0] != 1]}
    for name, part in shards.items():
        columns = [list(c) for c in zip(*part, strict=True)] or [[] for _ in types]
        write(folder / f"data/{name}.parquet", pa.table(columns, schema=pa.schema(types.items())))
    write(folder / "metadata/subject_splits.parquet", pa.table({"subject_id": [1, 2, 3]}))
    codes = sorted({r[2] for r in MEDS_ROWS})
    write(folder / "metadata/codes.parquet", pa.table({"code": codes}))
    return folder


def omop_tables() -> dict[str, pa.Table]:
    """The same patients; ids are 64-bit hashes that no float can hold."""
    one, two, three = (hashed(i) for i in (1, 2, 3))
    hour = timedelta(hours=1)
    stamp, date = pa.timestamp("us"), pa.date32()
    visits = [  # id, person, concept, start, end, care site
        (11, one, 38004207, START[1] - 90 * hour, START[1] - 89 * hour, 2),  # of another kind
        (12, one, 9201, START[1] - 50 * hour, START[1] - 49.5 * hour, 2),  # too short
        (13, one, 9201, START[1], START[1] + 40 * hour, 1),
        (14, two, 9201, START[2], None, 2),
        (15, two, 9201, START[2] + 9 * hour, START[2] + 20 * hour, 1),
    ]
    measured = [  # person, concept, source concept, when, value, coded, unit
        (one, 3027018, 0, START[1] - hour, 70.0, None, None),
        (one, 0, 3027018, START[1] + hour, 80.0, None, None),
        (one, 3020891, 0, START[1] + 2 * hour, 99.5, None, "F"),
        (one, 3005629, 0, START[1] + 3 * hour, None, 45878, None),
        (one, 3027018, 0, START[1] + 4 * hour, None, None, None),
        (one, 3027018, 3027018, START[1] + 41 * hour, 60.0, None, None),
        (two, 3027018, 0, START[2], 90.0, None, None),
        (two, 3020891, 0, START[2] + 0.5 * hour, 38.0, None, "C"),
        (two, 3020891, 0, START[2] + 0.6 * hour, 311.0, None, "K"),
        (three, 3027018, 0, datetime(2020, 1, 1), 88.0, None, None),
    ]
    return {
        "person": pa.table(
            {
                "person_id": [two, one, three],
                "gender_concept_id": [8507, 8532, 8532],
                "year_of_birth": [1991, 1960, 2000],
                "month_of_birth": pa.array([6, 5, None], pa.int64()),
                "day_of_birth": pa.array([1, 5, None], pa.int64()),
            }
        ),
        "visit_occurrence": pa.table(
            {
                "visit_occurrence_id": [v[0] for v in visits],
                "person_id": [v[1] for v in visits],
                "visit_concept_id": [v[2] for v in visits],
                "visit_start_date": pa.array([v[3].date() for v in visits], date),
                "visit_start_datetime": pa.array([v[3] for v in visits], stamp),
                "visit_end_date": pa.array([(v[4] or v[3]).date() for v in visits], date),
                "visit_end_datetime": pa.array([v[4] for v in visits], stamp),
                "care_site_id": [v[5] for v in visits],
            }
        ),
        "care_site": pa.table({"care_site_id": [1, 2], "care_site_name": ["ward A", "ward B"]}),
        "death": pa.table(
            {
                "person_id": [one],
                "death_date": pa.array([(START[1] + 48 * hour).date()], date),
                "death_datetime": pa.array([START[1] + 48 * hour], stamp),
            }
        ),
        "measurement": pa.table(
            {
                "person_id": [m[0] for m in measured],
                "measurement_concept_id": [m[1] for m in measured],
                "measurement_source_concept_id": [m[2] for m in measured],
                "measurement_date": pa.array([m[3].date() for m in measured], date),
                "measurement_datetime": pa.array([m[3] for m in measured], stamp),
                "value_as_number": pa.array([m[4] for m in measured], pa.float64()),
                "value_as_concept_id": pa.array([m[5] for m in measured], pa.int64()),
                "unit_concept_id": pa.nulls(len(measured), pa.int64()),
                "unit_source_value": pa.array([m[6] for m in measured], pa.string()),
            }
        ),
    }


def hashed(patient: int) -> int:
    return 2**62 + patient


def omop(folder: Path, tables: dict[str, pa.Table] | None = None) -> Path:
    for name, table in (tables or omop_tables()).items():
        write(folder / f"{name}.parquet", table)
    return folder


def omop_duckdb(path: Path, tables: dict[str, pa.Table] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA cdm")
        for name, table in (tables or omop_tables()).items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE cdm.{name} AS SELECT * FROM given")
            connection.unregister("given")
    return path


POSTGRES = {
    pa.int64(): "BIGINT",
    pa.float64(): "NUMERIC",  # as the model defines it
    pa.string(): "VARCHAR(255)",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
}


def omop_postgres(url: str, tables: dict[str, pa.Table] | None = None) -> None:
    """Load the tables into schema cdm, in place of what is there."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS cdm CASCADE")
        connection.execute("CREATE SCHEMA cdm")
        for name, table in (tables or omop_tables()).items():
            columns = ", ".join(f"{f.name} {POSTGRES[f.type]}" for f in table.schema)
            connection.execute(f"CREATE TABLE cdm.{name} ({columns})")
            with connection.cursor().copy(f"COPY cdm.{name} FROM STDIN") as copy:
                for row in zip(*(c.to_pylist() for c in table.columns), strict=True):
                    copy.write_row(row)


def write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def imported(
    form: str, source: Path | str, tmp: Path, schema: dict[str, Any] | None = None
) -> Path:
    """Import and return the cohort folder, a new one each time."""
    number = len(list(tmp.glob("cohort*")))
    text = tmp / f"schema{number}.yaml"
    text.write_text(yaml.safe_dump(SCHEMA if schema is None else schema, allow_unicode=True))
    import_cohort(form, str(source), text, tmp / f"cohort{number}")
    return tmp / f"cohort{number}"


def rows_of(folder: Path, table: str = "observations") -> list[tuple[Any, ...]]:
    """The rows as written, with None for null."""
    read = pq.read_table(folder / f"{table}.parquet")
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True))


def renumbered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """OMOP's hashes as the numbers of the patients."""
    return [(row[0] - 2**62, *row[1:]) for row in rows]
