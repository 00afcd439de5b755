"""Synthetic patients in the data steward's own form: the schema's columns, levels and decimals, as
CSV, Parquet or one Excel workbook."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from longsynth.schema.columns import LABELS, TIME_UNITS, Labels
from longsynth.schema.file import dump
from longsynth.schema.mapping import Dataset
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema, SlotRule
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats
from longsynth.writing import Writer
from longsynth.writing.cohort import cohort_tables, observation_rows, rising
from longsynth.writing.files import Add, csv_file, csv_rows, excel_file, excel_rows, parquet_file

TIME_DECIMALS = {"seconds": 0, "minutes": 1, "hours": 2, "days": 3}
WEIGHT, OTHER_WEIGHT = "weight", "sampling_weight"  # the second, if the first is a column already
EXACT = 2.0**53  # whole numbers up to here


def own_tables(
    chunk: Trajectories, schema: Schema, ids: NDArray[np.int64]
) -> tuple[pa.Table, pa.Table]:
    """Return observations and patients as the schema's own files have them. Times count from the
    start of each record."""
    schema = own_schema(schema)
    made = cohort_tables(schema)
    rows, people = (made[name](chunk, ids) for name in ("observations", "patients"))
    observations: dict[str, Any] = {
        schema.patient.column: rows["patient_id"],
        schema.time.column: times_in(schema.time.unit, chunk).ravel()[
            observation_rows(chunk, schema).slot
        ],
    }
    patients: dict[str, Any] = {schema.patient.column: people["patient_id"]}
    for name, labels in (("group", schema.group), ("event", schema.event)):
        if labels is not None:
            patients[labels.column] = _named(labels, people[name])
    if schema.site is not None:
        patients[schema.site.column] = people["site"]
    for variable in schema.variables:
        table, columns = (people, patients) if variable.static else (rows, observations)
        columns[variable.column or variable.name] = _rounded(variable, table[variable.name])
    for listed in schema.codes:
        observations[listed.column or listed.name] = rows[listed.name]
    if "weight" in people.column_names:
        column = WEIGHT if WEIGHT not in patients else OTHER_WEIGHT
        patients[column] = np.round(np.asarray(people["weight"]), 6)
    return pa.table(observations), pa.table(patients)


def own_schema(schema: Schema) -> Schema:
    """The schema of these tables: own columns and levels, and rows that are slots already."""
    unit = "hours" if schema.time.unit == "timestamp" else schema.time.unit
    labels = {
        what: label.model_copy(update={"source": None} | _in_words(label, label.name or what))
        for what in LABELS
        if (label := getattr(schema, what)) is not None
    }
    variables = (
        v.model_copy(update={"aggregate": None, "source": None} | _in_words(v, ""))
        for v in schema.variables
    )
    return schema.model_copy(
        update={
            "slot_rule": SlotRule(),
            "time": schema.time.model_copy(update={"unit": unit}),
            "variables": tuple(variables),
            "codes": tuple(c.model_copy(update={"source": None}) for c in schema.codes),
            "constraints": schema.rules,
            "source": Dataset(),
            **labels,
        }
    )


def _in_words(entry: Labels | Variable, column: str) -> dict[str, object]:
    """A band is written by its name, in a column of its own."""
    return {"bands": (), "column": column} if entry.bands else {}


def used_slots(chunk: Trajectories) -> Bools:
    """(n, T)"""
    return np.asarray(np.arange(chunk.gaps.shape[1]) < chunk.length[:, None])


def times_in(unit: str, chunk: Trajectories) -> Floats:
    """(n, T): times since the start of each record, in a unit and with its decimals."""
    places = TIME_DECIMALS[unit]
    return np.round(stepped(chunk, TIME_UNITS[unit] * 10.0**-places) / TIME_UNITS[unit], places)


def stepped(chunk: Trajectories, step: float) -> Floats:
    """(n, T): hours since the start of each record in whole steps. No two slots of a patient are at
    the same time: a reader would merge them."""
    hours = np.cumsum(np.where(used_slots(chunk), chunk.gaps, 0.0), axis=1)
    return rising(np.rint(hours / step), 1.0) * step


def _named(labels: Labels, codes: pa.ChunkedArray) -> pa.Array:
    return pa.array(np.array(labels.levels, dtype=object)[np.asarray(codes)], pa.string())


def _rounded(variable: Variable, column: pa.ChunkedArray) -> Any:
    if variable.levels is not None:
        return column
    missing = np.asarray(column.is_null())
    values = np.nan_to_num(np.asarray(column.to_numpy(zero_copy_only=False), np.float64))
    step = variable.resolution or 0.0
    if step:
        values = np.round(values / step) * step
    places = variable.decimals
    rounded = np.round(values, places)
    if places == 0 and max(map(abs, variable.bounds)) < EXACT:
        return pa.array(rounded.astype(np.int64), mask=missing)
    return pa.array(rounded, mask=missing)


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
