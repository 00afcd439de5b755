"""Data frames as a cohort: pandas, polars, DuckDB and pyarrow tables, by the Arrow interface that
all of them speak."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.records import Cohort
from longsynth.schema.file import dump
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError, checked
from longsynth.system.scratch import ScratchFolder

Frame = Any  # pandas, polars, DuckDB, pyarrow: whatever speaks Arrow


@checked(schema="Call load_schema(path) first.")
def read_frames(schema: Schema, observations: Frame, patients: Frame) -> Cohort:
    """Return the patients of two data frames, in the columns that the schema names.

    >>> import longsynth, pyarrow.parquet
    >>> tables = [pyarrow.parquet.read_table(f"cohort/{name}.parquet")
    ...           for name in ("observations", "patients")]
    >>> longsynth.read_frames(longsynth.load_schema("cohort"), *tables)
    Cohort(200 patients, 14 slots, 6 variables)
    """
    with cohort_folder_of(schema, observations, patients) as folder:
        return read_cohort(folder)[1]


@contextmanager
def cohort_folder_of(schema: Schema, observations: Frame, patients: Frame) -> Iterator[Path]:
    """Write two frames as a cohort folder that only this user can enter. It is removed when the
    block ends."""
    tables = {"observations": observations, "patients": patients}
    arrow = {name: arrow_table(frame, name) for name, frame in tables.items()}
    with ScratchFolder() as scratch:
        for name, table in arrow.items():
            pq.write_table(table, scratch.path / f"{name}.parquet")
        (scratch.path / "schema.yaml").write_text(dump(schema), encoding="utf-8")
        yield scratch.path


def arrow_table(frame: Frame, name: str) -> pa.Table:
    """Return a frame in Arrow's form. What is no frame is refused by its kind alone."""
    try:
        return _with_plain_text(pa.table(frame))
    except (TypeError, ValueError, pa.ArrowException):
        kind = type(frame).__name__
    raise CohortError(
        Code.NOT_A_TABLE,
        f"{name} is a {kind}, which is not a table, or has a column of mixed types.",
        "Give a pandas, polars, DuckDB or pyarrow table with one type per column.",
    )


def _with_plain_text(table: pa.Table) -> pa.Table:
    """Spell out the categories of polars, which Parquet cannot hold as they are."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and pa.types.is_string_view(field.type.value_type):
            chunks = [c.dictionary.cast(pa.string()).take(c.indices) for c in table[place].chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, pa.string()))
    return table
