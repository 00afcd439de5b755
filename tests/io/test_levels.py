"""Levels written as text, and columns of the patient table, as they are read and written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.reading.cohort_folder import CohortFolder, read_cohort
from longsynth.reading.records import Cohort
from longsynth.schema.file import load_schema
from longsynth.writing.cohort import write_cohort
from ward import STATIC, ward_cohort, ward_schema

VARIABLES: list[dict[str, Any]] = [
    {"name": "blood", "kind": "nominal", "static": True, "levels": ["A", "B", "AB", "O"]},
    {"name": "smoker", "kind": "binary", "static": True, "levels": ["never", "ever"]},
    {"name": "stage", "kind": "ordinal", "levels": ["I", "II", "III"], "column": "tumour stage"},
    {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "paced", "10"]},
]
ROWS = """patient_id,time,tumour stage,rhythm
1,0,II,sinus
1,6,III,10.0
2,0,I,paced
"""
PEOPLE = """patient_id,group,event,site,blood,smoker
1,0,0,A,AB,ever
2,1,1,B,O,never
3,0,0,A,B,ever
"""


def table_of(text: str) -> pa.Table:
    header, *lines = (line.split(",") for line in text.strip().splitlines())
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    whole = {"patient_id", "group", "event"}
    return pa.table(
        {
            name: [int(x) for x in found] if name in whole else list(found)
            for name, found in columns.items()
        }
    ).set_column(1, header[1], pa.array([float(x) for x in columns[header[1]]]))


def cells(cohort: Cohort, v: int) -> list[list[float | None]]:
    """Each patient's first two slots of one variable; None: missing."""
    both = zip(cohort.values[:, :2, v].tolist(), cohort.observed[:, :2, v].tolist(), strict=True)
    return [[x if seen else None for x, seen in zip(*one, strict=True)] for one in both]


def test_a_level_is_read_as_its_position_in_the_schema(folder: Callable[..., Path]) -> None:
    _, cohort = read_cohort(folder(table_of(ROWS), table_of(PEOPLE), variables=VARIABLES))
    blood, smoker, stage, rhythm = (cells(cohort, v) for v in range(4))
    assert blood == [[2, None], [3, None], [1, None]]
    assert smoker == [[1, None], [0, None], [1, None]]
    assert stage == [[1, 2], [0, None], [None, None]]
    assert rhythm == [[0, 2], [1, None], [None, None]], "10 and 10.0 are one level"


def test_static_values_of_a_patient_without_rows_are_read(folder: Callable[..., Path]) -> None:
    _, cohort = read_cohort(folder(table_of(ROWS), table_of(PEOPLE), variables=VARIABLES))
    assert cohort.length.tolist() == [2, 1, 0]
    assert cohort.observed[2].tolist() == [[True, True, False, False], [False] * 4, [False] * 4]


@pytest.mark.parametrize("unknown", ["X", "ab", "sinus rhythm", "1", "nan", "-1", "99"])
def test_an_unknown_level_is_missing_in_silence_and_counted_inside(
    folder: Callable[..., Path],
    capfd: pytest.CaptureFixture[str],
    unknown: str,
) -> None:
    rows = ROWS.replace("II,sinus", f"{unknown},{unknown}")
    people = PEOPLE.replace("AB,ever", f"{unknown},{unknown}")
    tables = (table_of(rows), table_of(people))
    with CohortFolder(folder(*tables, variables=VARIABLES)) as source:
        cohort = Cohort.joined(source.batches())
        counted = source.repairs()["cells_not_a_finite_number"]
    assert [cells(cohort, v)[0] for v in range(4)] == [[None, None]] * 2 + [[None, 2]] * 2
    assert cells(cohort, 0)[1:] == [[3, None], [1, None]], "and touches nobody else"
    assert counted == {"stage": 1, "rhythm": 1, "blood": 1, "smoker": 1}
    assert capfd.readouterr() == ("", "")


def test_truth_values_are_levels_too(folder: Callable[..., Path]) -> None:
    smoker = {"name": "smoker", "kind": "binary", "static": True, "levels": ["false", "true"]}
    people = {"smoker": [True, None]}
    _, cohort = read_cohort(folder(None, people, variables=[smoker, VARIABLES_OVER_TIME]))
    assert cells(cohort, 0) == [[1, None], [None, None]]


VARIABLES_OVER_TIME = {"name": "oxygen", "kind": "binary"}


def test_a_static_column_is_looked_for_among_patients_and_nowhere_else(
    folder: Callable[..., Path],
) -> None:
    age = {
        "name": "age",
        "kind": "continuous",
        "static": True,
        "bounds": [0, 120],
        "bounds_from": "-",
    }
    rows, people = {"age": [1.0, 2.0, 3.0]}, {"age": [70.0, 80.0]}
    _, cohort = read_cohort(folder(rows, people, variables=[age, VARIABLES_OVER_TIME]))
    assert cells(cohort, 0) == [[70, None], [80, None]]


def test_what_is_written_is_read_again_with_levels_as_text(tmp_path: Path) -> None:
    schema, cohort = ward_schema(), ward_cohort(200, seed=3)
    write_cohort(tmp_path, schema, cohort.batches(64))
    people = pq.read_table(tmp_path / "patients.parquet")
    rows = pq.read_table(tmp_path / "observations.parquet")
    assert set(people["blood"].to_pylist()) == {"A", "B", "AB", "O", None}
    assert set(rows["rhythm"].to_pylist()) == {"sinus", "paced", "other", None}
    assert "age" not in rows.column_names
    assert "pulse" not in people.column_names
    found, again = read_cohort(tmp_path)
    assert found.variables == schema.variables
    assert found == load_schema(tmp_path)
    for name in ("observed", "length", "group", "event", "site"):
        assert np.array_equal(getattr(again, name), getattr(cohort, name)), name
    assert np.array_equal(again.values, cohort.values, equal_nan=True)
    assert again.gaps == pytest.approx(cohort.gaps, abs=1e-9)
    assert again.observed[:, 0, STATIC].any()
