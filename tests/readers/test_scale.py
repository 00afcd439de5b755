"""Millions of events stay within bounds of memory that do not grow with them."""

import subprocess
import sys
from pathlib import Path

import duckdb

EVENTS = 4_000_000
PEAK = 1_000_000  # kB: 170 bytes per event beside what the libraries take
SCHEMA = """
longsynth: 1
name: millions
slots: 12
max_gap: 24
source: {unit: unit}
variables:
  - {name: first, kind: continuous, bounds: [0, 100], bounds_from: x,
     source: {pattern: "item [01]", units: {a: 1, b: 2}}}
  - {name: second, kind: continuous, bounds: [0, 100], bounds_from: x, source: {codes: [item 2]}}
"""
PROGRAM = """
import sys
from pathlib import Path
from longsynth.reading.importing import import_cohort
here = Path(sys.argv[1])
import_cohort("events", str(here), here / "s.yaml", here / "out")
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def test_millions_of_events_are_imported_in_under_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    with duckdb.connect(config={"threads": 2, "memory_limit": "1GB"}) as connection:
        connection.execute(f"""COPY (
            SELECT hash(i) % 100000 AS patient_id, hash(i + 1) % 7200 / 100 AS time,
                   'item ' || hash(i + 2) % 4 AS variable, hash(i + 3) % 1000 / 10 AS value,
                   CASE hash(i + 4) % 2 WHEN 0 THEN 'a' ELSE 'b' END AS unit
            FROM range({EVENTS}) t(i)) TO '{tmp_path}/events.parquet'""")
        connection.execute(f"""COPY (SELECT i AS patient_id, 0 AS "group", 1 AS event
            FROM range(100000) t(i)) TO '{tmp_path}/patients.parquet'""")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < PEAK
    with duckdb.connect() as connection:
        rows = connection.execute(f"""
            SELECT (SELECT count(*) FROM '{tmp_path}/out/observations.parquet'),
                   (SELECT count(*) FROM '{tmp_path}/events.parquet' WHERE variable != 'item 3')
            """).fetchall()
    assert rows[0][0] == rows[0][1] > 0.7 * EVENTS
