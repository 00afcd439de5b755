"""Columns of any type mean on Spark what they mean here, wherever the clocks of a cluster stand."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth import CohortFolder, SparkCohort, fit, plan
from longsynth.schema import Schema
from longsynth.schema_file import dump
from spark_sessions import Sessions
from support import NoNoise, small_schema

pytestmark = pytest.mark.xdist_group("spark")
PATIENTS, ROWS = 40, 300
STAMPS = {
    "with a zone": pa.timestamp("us", tz="America/New_York"),
    "without": pa.timestamp("us"),
    "milliseconds": pa.timestamp("ms", tz="UTC"),
    "days": pa.date32(),
    "text": pa.string(),
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_types_and_time_zones_change_no_sum(stamp: str, tmp_path: Path, sparks: Sessions) -> None:
    spark = sparks.on()
    folder = write_typed(tmp_path / "cohort", STAMPS[stamp])
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        with CohortFolder(folder) as here, SparkCohort(spark, folder, partitions=2) as there:
            planned = plan(here.schema, here.patients, epsilon=4, delta=1e-4, method="dp-markov")
            sums = [fit(source, planned, noise=NoNoise()).released for source in (here, there)]
            counts = here.repairs()
            assert there.repairs() == counts
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    for name, released in sums[0].items():
        assert np.array_equal(released.values, sums[1][name].values), name
    assert counts["rows_without_usable_time"] == len(range(0, ROWS, 11))
    assert counts["rows_of_unknown_patients"] > 0


def write_typed(folder: Path, stamp: pa.DataType) -> Path:
    """Ids of two widths, decimals, short floats, booleans, unsigned numbers, categories."""
    rng = np.random.default_rng(3)
    schema = Schema.model_validate(
        small_schema().model_dump() | {"time": {"column": "when", "unit": "timestamp"}}
    )
    start = dt.datetime(2024, 3, 30, tzinfo=dt.UTC)  # clocks change in these days
    times: list[Any] = [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 9000, ROWS)]
    times[::11] = [None] * len(times[::11])
    if pa.types.is_string(stamp):
        times = [t and t.isoformat() for t in times]
    elif pa.types.is_date(stamp):
        times = [t and t.date() for t in times]
    elif stamp.tz is None:
        times = [t and t.replace(tzinfo=None) for t in times]
    pulse = [Decimal(int(x)) / 4 for x in rng.integers(0, 1000, ROWS)]
    rows = {
        "patient_id": pa.array(rng.integers(0, PATIENTS + 3, ROWS), pa.int32()),
        "when": pa.array(times, stamp),
        "pulse": pa.array(pulse, pa.decimal128(9, 2)),
        "dose": pa.array(rng.integers(0, 6, ROWS), pa.uint8()),
        "oxygen": pa.array(rng.random(ROWS) < 0.5),
    }
    people = {
        "patient_id": pa.array(range(PATIENTS), pa.int64()),
        "group": pa.array(rng.integers(0, 2, PATIENTS).astype(np.float32)),
        "event": pa.array(rng.random(PATIENTS) < 0.3),
        "site": pa.array(rng.choice(["A", "B", "C", "?"], PATIENTS)).dictionary_encode(),
    }
    folder.mkdir()
    (folder / "schema.yaml").write_text(dump(schema), encoding="utf-8")
    pq.write_table(pa.table(rows), folder / "observations.parquet")
    pq.write_table(pa.table(people), folder / "patients.parquet")
    return folder
