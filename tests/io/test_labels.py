"""Text of few values is read where it stands, unless one of them could stop the reading."""

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.parquet import LONGEST, column_types, is_safe
from longsynth.writing.cohort import write_cohort
from support import random_cohort, small_schema

MANY = 2000


def text_of(*cells: bytes) -> pa.Array:
    """These cells over and over, whether or not they are text."""
    raw = pa.array(cells * MANY, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


COLUMNS = {
    "numbers alone": (pa.array(range(MANY)), True),
    "two values": (text_of(b"north", b"south"), True),
    "with nothing between": (pa.array(["north", None] * MANY), True),
    "a category": (pa.array(["north", "south"] * MANY).dictionary_encode(), True),
    "nothing at all": (pa.nulls(MANY, pa.string()), True),
    "a wrong byte": (text_of(b"north", b"s\xfeuth"), False),
    "too long": (text_of(b"north", b"x" * (LONGEST + 1)), False),
    "each its own": (pa.array([f"patient {i}" for i in range(MANY)]), False),
    "bytes": (pa.array([b"north", b"south"] * MANY), False),
    "days": (pa.array([dt.date(2020, 1, 1)] * MANY), False),
}


@pytest.mark.parametrize(("column", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_only_sound_text_of_few_values_is_left_where_it_is(
    column: pa.Array, expected: bool, tmp_path: Path
) -> None:
    file = tmp_path / "patients.parquet"
    table = pa.table({"id": range(len(column)), "site": column})
    pq.write_table(table, file, row_group_size=len(column) // 2)
    assert is_safe(file, dict(column_types(file))) is expected


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("column", ["patient_id", "site"])
def test_text_in_an_encoding_that_lists_nothing_is_copied(
    encoding: str, column: str, tmp_path: Path
) -> None:
    write_cohort(tmp_path, small_schema(), random_cohort(MANY, seed=1).batches(500))
    for name in ("observations", "patients"):
        file = tmp_path / f"{name}.parquet"
        table = pq.read_table(file)
        ids = pa.array([f"P{i:06}" for i in table["patient_id"].to_pylist()])
        table = table.set_column(0, "patient_id", ids)
        asked = {column: encoding} if column in table.column_names else None
        listed = [other for other in table.column_names if asked is None or other != column]
        pq.write_table(table, file, use_dictionary=listed, column_encoding=asked)
    with CohortFolder(tmp_path) as source:
        assert sum(batch.patients for batch in source.batches()) == MANY


def test_a_column_named_like_a_path_into_another_is_no_label(tmp_path: Path) -> None:
    file = tmp_path / "patients.parquet"
    inner = pa.array([{"b": "north"}] * MANY)
    pq.write_table(pa.table({"a": inner, "a.b": ["north"] * MANY}), file)
    assert not is_safe(file, {"a.b": pa.string()})


def test_a_wrong_byte_in_the_last_rows_is_found(tmp_path: Path) -> None:
    file = tmp_path / "patients.parquet"
    table = pa.table({"site": pa.chunked_array([text_of(b"a", b"b"), text_of(b"a", b"\xff")])})
    pq.write_table(table, file, row_group_size=2 * MANY)
    assert not is_safe(file, dict(column_types(file)))


def test_labels_of_many_patients_are_not_copied(tmp_path: Path) -> None:
    write_cohort(tmp_path, small_schema(), random_cohort(MANY, seed=1).batches(500))
    with CohortFolder(tmp_path) as source:
        assert list(source._session._scratch.path.iterdir()) == []
        assert sum(batch.patients for batch in source.batches()) == MANY


def test_a_long_text_that_many_rows_repeat_is_held_once(tmp_path: Path) -> None:
    """A file of few bytes can stand for gigabytes: how a fit ends must not depend on that."""
    program = """
import sys
from pathlib import Path
from longsynth.reading.cohort_folder import read_cohort
read_cohort(sys.argv[1])
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
    schema = small_schema().model_dump(mode="json", exclude_defaults=True)
    rhythm = {"name": "rhythm", "kind": "nominal", "levels": ["a", "b"]}
    schema["variables"] = [*schema["variables"], rhythm]
    (tmp_path / "schema.yaml").write_text(json.dumps(schema))
    n = 3000
    numbers = {name: [1.0] * n for name in ("time", "pulse", "dose", "oxygen")}
    rows: dict[str, Any] = {"patient_id": [1] * n, **numbers}
    people = {"patient_id": [1, 2], "group": [0, 1], "event": [0, 1], "site": ["A", "B"]}
    indices = pa.array([0] * n, pa.int32())
    rows["rhythm"] = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 800_000]))
    pq.write_table(pa.table(rows), tmp_path / "observations.parquet")
    pq.write_table(pa.table(people), tmp_path / "patients.parquet")
    assert (tmp_path / "observations.parquet").stat().st_size < 1_000_000
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000  # kB
