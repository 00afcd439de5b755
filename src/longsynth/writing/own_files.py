"""Two tables in the schema's own columns, levels and decimals, as CSV, Parquet or a workbook."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from longsynth.schema.file import dump
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.writing import Writer
from longsynth.writing.files import Add, csv_file, csv_rows, excel_file, excel_rows, parquet_file
from longsynth.writing.own_form import own_schema, own_tables

BOOK = "patients.xlsx"
Opened = AbstractContextManager[list[Add]]  # adds rows to the patients, and to the observations


def _write(
    opened: Callable[[Path], Opened], folder: Path, schema: Schema, chunks: Iterable[Trajectories]
) -> None:
    number = 1
    with opened(folder) as (add_patients, add_observations):
        for chunk in chunks:
            ids = np.arange(number, number + chunk.patients)
            number += chunk.patients
            observations, patients = own_tables(chunk, schema, ids)
            add_patients(patients)
            add_observations(observations)
    (folder / "schema.yaml").write_text(dump(own_schema(schema)), encoding="utf-8")


@contextmanager
def _csv(folder: Path) -> Iterator[list[Add]]:
    both = csv_file(folder / "patients.csv"), csv_file(folder / "observations.csv")
    with both[0] as patients, both[1] as observations:
        yield [patients, observations]


@contextmanager
def _parquet(folder: Path) -> Iterator[list[Add]]:
    both = parquet_file(folder / "patients.parquet"), parquet_file(folder / "observations.parquet")
    with both[0] as patients, both[1] as observations:
        yield [patients, observations]


def _excel(folder: Path) -> Opened:
    return excel_file(folder / BOOK, {"patients": 0, "observations": 0})


CSV = Writer(
    partial(_write, _csv),
    people_files=lambda _: ["patients.csv"],
    other_files=lambda _: ["observations.csv"],
    rows=csv_rows,
)
PARQUET = Writer(
    partial(_write, _parquet),
    people_files=lambda _: ["patients.parquet"],
    other_files=lambda _: ["observations.parquet"],
)
EXCEL = Writer(
    partial(_write, _excel),
    people_files=lambda _: [BOOK],
    other_files=lambda _: [],
    rows=excel_rows,
)
