"""Cohort folders as longsynth writes them: sorted by patient and time, canonical columns."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.schema.file import dump
from longsynth.schema.schema import Schema
from longsynth.schema.trajectories import Trajectories
from longsynth.schema.variable import Variable


def write_cohort(folder: Path | str, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    """Write observations.parquet, patients.parquet and schema.yaml, chunk by chunk.

    The schema comes last: a folder where the writing stopped is no cohort, though a closed table
    of fewer patients may look like one.
    """
    folder = Path(folder)
    write_tables(folder, chunks, cohort_tables(schema))
    write_schema(folder, schema)


Tables = Mapping[str, Callable[[Trajectories, NDArray[np.int64]], pa.Table]]


def cohort_tables(schema: Schema) -> Tables:
    """How to make each table of a cohort folder from a chunk and its patients' ids."""
    return {
        "observations": lambda chunk, ids: _observations(chunk, schema, ids),
        "patients": lambda chunk, ids: patient_table(chunk, schema, ids),
    }


def write_schema(folder: Path, schema: Schema) -> None:
    (folder / "schema.yaml").write_text(dump(schema.canonical()), encoding="utf-8")


def write_tables(
    folder: Path,
    chunks: Iterable[Trajectories],
    tables: Tables,
    *,
    first: int = 1,
) -> int:
    """Write NAME.parquet for each table, chunk by chunk, and return how many patients that were.
    They are numbered from `first` on."""
    writers: dict[str, pq.ParquetWriter] = {}
    number = first
    with ExitStack() as open_files:
        for chunk in chunks:
            ids = np.arange(number, number + chunk.patients)
            number += chunk.patients
            for name, made in tables.items():
                table = made(chunk, ids)
                if name not in writers:
                    writer = parquet_writer(folder / f"{name}.parquet", table.schema)
                    writers[name] = open_files.enter_context(writer)
                writers[name].write_table(table)
    return number - first


def parquet_writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Numbers with digits hardly ever repeat: to look for a dictionary of them would take longer
    than everything else."""
    repeating = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(file, schema, compression="snappy", use_dictionary=repeating)


def _observations(chunk: Trajectories, schema: Schema, ids: NDArray[np.int64]) -> pa.Table:
    slots = np.arange(schema.slots)
    used = slots < chunk.length[:, None]  # (n, T)
    rows = slice(None) if used.all() else np.flatnonzero(used)
    times = rising(np.cumsum(np.where(used, chunk.gaps, 0.0), axis=1))
    columns: dict[str, Any] = {
        "patient_id": np.repeat(ids, schema.slots)[rows],
        "time": times.reshape(-1)[rows],
    }
    values = chunk.values.reshape(-1, len(schema.variables))
    missing = ~chunk.observed.reshape(values.shape)
    for v, variable in enumerate(schema.variables):
        if not variable.static:
            columns[variable.name] = _column(variable, values[rows, v], missing[rows, v])
    return pa.table(columns)


def _column(
    variable: Variable, values: NDArray[np.float64], missing: NDArray[np.bool_]
) -> pa.Array:
    """Numbers, or the names of levels."""
    if variable.levels is None:
        return pa.array(values, mask=missing)
    return pa.array(text_of_levels(variable.levels, values), pa.string(), mask=missing)


def text_of_levels(levels: tuple[str, ...], positions: NDArray[np.float64]) -> NDArray[np.object_]:
    place = np.clip(np.nan_to_num(np.rint(positions)), 0, len(levels) - 1).astype(np.int64)
    return np.asarray(np.array(levels, dtype=object)[place])


def rising(times: NDArray[np.float64], smallest: float = 0.0) -> NDArray[np.float64]:
    """Two slots with no gap between them stay two: the reader would merge equal times."""
    for t in range(1, times.shape[1]):
        least = np.maximum(times[:, t - 1] + smallest, np.nextafter(times[:, t - 1], np.inf))
        times[:, t] = np.maximum(times[:, t], least)
    return times


def patient_table(chunk: Trajectories, schema: Schema, ids: NDArray[np.int64]) -> pa.Table:
    columns: dict[str, Any] = {
        "patient_id": ids,
        "group": chunk.group.astype(np.int8),
        "event": chunk.event.astype(np.int8),
        "site": pa.array(np.array(schema.sites, dtype=object)[chunk.site], pa.string()),
    }
    for v, variable in enumerate(schema.variables):
        if variable.static:
            cells = chunk.values[:, 0, v], ~chunk.observed[:, 0, v]
            columns[variable.name] = _column(variable, *cells)
    weight = getattr(chunk, "weight", None)
    if weight is not None:
        columns["weight"] = weight
    return pa.table(columns)
