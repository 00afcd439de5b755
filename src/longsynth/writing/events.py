"""Events: one row per observation (patient, time, variable, value), and a patient table.

`longsynth import events` reads it back. A slot without observations leaves no trace.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from longsynth.schema.file import dump
from longsynth.schema.mapping import Source
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Ints
from longsynth.writing import Writer
from longsynth.writing.cohort import long_rows, patient_table, text_of_levels, write_tables


def write_events(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    (folder / "schema.yaml").write_text(dump(events_schema(schema)), encoding="utf-8")
    write_tables(
        folder,
        chunks,
        {
            "events": lambda chunk, ids: _events(chunk, schema, ids),
            "patients": lambda chunk, ids: patient_table(chunk, schema, ids),
        },
    )


def events_schema(schema: Schema) -> Schema:
    """The canonical schema, with each variable over time under its own name."""
    canonical = schema.canonical()
    named = [
        v if v.static else v.model_copy(update={"source": Source(codes=(v.name,))})
        for v in canonical.variables
    ]
    return canonical.model_copy(update={"variables": tuple(named)})


def _events(chunk: Trajectories, schema: Schema, ids: Ints) -> pa.Table:
    rows = long_rows(chunk, schema)
    names = np.array([v.name for v in schema.variables], dtype=object)
    value: pa.Array = pa.array(rows.value)
    if any(v.levels for v in schema.variables if not v.static):  # then every value is text
        value = value.cast(pa.string())
        for i, variable in enumerate(schema.variables):
            if variable.levels:
                of_it = pa.array(rows.variable == i)
                texts = pa.array(text_of_levels(variable.levels, rows.value), pa.string())
                value = pa.compute.if_else(of_it, texts, value)
    return pa.table(
        {
            "patient_id": ids[rows.patient],
            "time": rows.time,
            "variable": pa.array(names[rows.variable], pa.string()),
            "value": value,
        }
    )


EVENTS = Writer(
    write_events,
    people_files=lambda _: ["patients.parquet"],
    other_files=lambda _: ["events.parquet"],
)
