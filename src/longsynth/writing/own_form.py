"""Synthetic patients in the data steward's own form: the schema's columns, levels and decimals."""

from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from longsynth.schema.columns import TIME_UNITS, Labels
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.writing.cohort import cohort_tables

FINEST_SHARE = 0.02  # of a variable's usual spread: finer digits would only look precise
HOUR_DECIMALS = 2


def own_tables(
    chunk: Trajectories, schema: Schema, ids: NDArray[np.int64]
) -> tuple[pa.Table, pa.Table]:
    """Return observations and patients as the schema's own files have them."""
    made = cohort_tables(schema)
    rows, people = (made[name](chunk, ids) for name in ("observations", "patients"))
    per_hour = 1.0 if schema.time.unit == "timestamp" else 1 / TIME_UNITS[schema.time.unit]
    times = np.asarray(rows["time"]) * per_hour
    observations: dict[str, Any] = {
        schema.patient.column: rows["patient_id"],
        schema.time.column: np.round(times, HOUR_DECIMALS),
    }
    patients: dict[str, Any] = {schema.patient.column: people["patient_id"]}
    for name, labels in (("group", schema.group), ("event", schema.event)):
        patients[labels.column] = _named(labels, people[name])
    if schema.site is not None:
        patients[schema.site.column] = people["site"]
    for variable in schema.variables:
        table, columns = (people, patients) if variable.static else (rows, observations)
        columns[variable.column or variable.name] = _rounded(variable, table[variable.name])
    if "weight" in people.column_names:
        patients["weight"] = np.round(np.asarray(people["weight"]), 6)
    return pa.table(observations), pa.table(patients)


def decimals(variable: Variable) -> int:
    """How many decimals a value is written with: those of its resolution, or of a fiftieth of its
    usual spread."""
    if variable.resolution is not None:
        exponent = Decimal(repr(variable.resolution)).normalize().as_tuple().exponent
        return max(-int(exponent), 0)
    low, high = variable.bounds
    spread = variable.scale or (high - low) / 6
    return max(-floor(log10(spread * FINEST_SHARE)), 0)


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
    places = 0 if variable.kind in ("binary", "ordinal") else decimals(variable)
    rounded = np.round(values, places)
    if places == 0 and not missing.all():
        return pa.array(rounded.astype(np.int64), mask=missing)
    return pa.array(rounded, mask=missing)
