"""A cohort of two patients that a test can rewrite cell by cell, and its records in plain words.

Three slots; `pulse` between 20 and 220, `oxygen` yes or no; sites A, B and C. What a test does not
give is as in ROWS and PEOPLE.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.records import Cohort

SCHEMA = {
    "longsynth": 1,
    "name": "two patients",
    "slots": 3,
    "max_gap": 48,
    "site": {"column": "site", "levels": ["A", "B", "C"]},
    "variables": [
        {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"},
        {"name": "oxygen", "kind": "binary"},
    ],
}
ROWS = {
    "patient_id": [1, 1, 2],
    "time": [0.0, 6.0, 2.0],
    "pulse": [80.0, 90.0, 70.0],
    "oxygen": [0.0, 1.0, None],
}
PEOPLE = {"patient_id": [1, 2], "group": [0, 1], "event": [0, 1], "site": ["A", "B"]}
Table = dict[str, Any] | pa.Table


@dataclass(frozen=True)
class Record:
    """One patient as read: the slots in use (None: missing) and the labels' positions."""

    gaps: list[float]
    pulse: list[float | None]
    oxygen: list[float | None]
    group: int
    event: int
    site: int

    @property
    def length(self) -> int:
        return len(self.gaps)


def records_of(cohort: Cohort) -> list[Record]:
    used = np.arange(cohort.gaps.shape[1]) < cohort.length[:, None]
    assert not cohort.observed[~used].any()
    assert not cohort.gaps[~used].any()
    assert (cohort.observed == np.isfinite(cohort.values)).all()
    return [_record(cohort, i) for i in range(cohort.patients)]


def _record(cohort: Cohort, i: int) -> Record:
    n = cohort.length[i]
    cells = np.where(cohort.observed[i, :n], cohort.values[i, :n], np.nan)
    pulse, oxygen = ([None if np.isnan(x) else float(x) for x in column] for column in cells.T)
    labels = (int(a[i]) for a in (cohort.group, cohort.event, cohort.site))
    return Record(cohort.gaps[i, :n].tolist(), pulse, oxygen, *labels)


def _write(folder: Path, name: str, table: Table) -> None:
    pq.write_table(pa.table(table), folder / f"{name}.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a cohort folder. A dict of rows or people changes columns of the example's."""
    number = count()

    def write(
        rows: Table | None = None,
        people: Table | None = None,
        name: str | None = None,
        **schema: object,
    ) -> Path:
        target = tmp_path / (name or f"cohort {next(number)}")
        target.mkdir(parents=True)
        (target / "schema.yaml").write_text(json.dumps(SCHEMA | schema))  # JSON is YAML too
        for file, changed, example in (
            ("observations", rows, ROWS),
            ("patients", people, PEOPLE),
        ):
            merged = example | changed if isinstance(changed, dict) else changed
            _write(target, file, example if merged is None else merged)
        return target

    return write


@pytest.fixture
def read(folder: Callable[..., Path]) -> Callable[..., list[Record]]:
    """Write a cohort folder, read it and return its records in the order of the ids."""

    def records(*args: object, **kwargs: object) -> list[Record]:
        return records_of(read_cohort(folder(*args, **kwargs))[1])

    return records


@pytest.fixture
def example() -> list[Record]:
    """The records of ROWS and PEOPLE, by hand."""
    return [
        Record([0, 6], [80, 90], [0, 1], group=0, event=0, site=0),
        Record([2], [70], [None], group=1, event=1, site=1),
    ]


@pytest.fixture
def records() -> Callable[[Cohort], list[Record]]:
    return records_of
