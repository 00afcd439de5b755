"""Cohort folders: observations.parquet, patients.parquet and schema.yaml, read as patients.

Public mistakes raise: a missing file, a column that is missing or has the wrong type, an id that
occurs twice in the patient table. Private facts never raise: an unusable cell counts as missing,
and `repairs` counts it for the internal side. Files that are sorted by patient are streamed as they
are; DuckDB sorts the others, on disk if necessary. Data frames of pandas, polars, DuckDB or pyarrow
become such a folder for a moment, by the Arrow interface that all of them speak.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.by_patient import Stored, Streams
from longsynth.reading.columns import (
    Roles,
    accepted_types,
    cohort_columns,
    different_values,
    id_cast,
    people_roles,
    quoted,
    row_roles,
    unread_cells,
    unread_labels,
)
from longsynth.reading.parquet import stored_types
from longsynth.reading.records import Cohort
from longsynth.reading.session import Session, Table, require_distinct
from longsynth.reading.slots import COUNTED, Placed, placed
from longsynth.schema.file import dump, load_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError, checked
from longsynth.system.scratch import ScratchFolder

FOLDER = "Give the cohort's folder. For data frames, use Synthesizer or read_frames."
MEMORY = 256  # MB that DuckDB may use before it sorts on disk


class CohortFolder:
    """The patients of a folder, in batches, as often as needed. Close it to remove its scratch.

    >>> import longsynth
    >>> with longsynth.CohortFolder("cohort") as cohort:
    ...     cohort.patients
    200
    """

    @checked(folder=FOLDER)
    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.schema = cohort_schema(self.folder)
        self._counts: Counter[str] | None = None  # from a full pass
        self._session = Session(
            len(self.schema.variables), memory=MEMORY, problem=f"{self.folder} cannot be read."
        )
        try:
            self._prepare()
            self.patients = self._count_patients()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    def batches(self) -> Iterator[Cohort]:
        """Yield every patient of the patient table once, the same number in every batch."""
        return (batch.cohort() for batch in self._placed())

    def _placed(self) -> Iterator[Placed]:
        """Yield the rows of each batch in their slots. The first full pass also counts them, so
        that `repairs` needs no pass of its own."""
        counts: Counter[str] = Counter(dict.fromkeys(("rows", "people", *COUNTED), 0))
        for rows in self._streams.by_patient():
            batch = placed(rows, self.schema)
            if self._counts is None:
                counts.update(rows=len(rows.owner), people=batch.people)
                counts.update(batch.counts())
            yield batch
        self._counts = self._counts or counts

    def repairs(self) -> dict[str, Any]:
        """Count what was read differently from how it is stored. Not for release."""
        if self._counts is None:
            for _ in self._placed():
                pass
        counts, stored = self._counts or Counter(), self._streams.stored or self._stored()
        total, usable = stored.rows, stored.timed
        cells = stored.unread | self._counted(self._people, unread_cells(self.schema, static=True))
        return {
            "rows": total,
            "rows_without_usable_time": total - usable,
            "rows_of_unknown_patients": usable - counts["rows"],
            "patients_without_rows": self.patients - counts["people"],
            **{what: number for what, number in counts.items() if what not in ("rows", "people")},
            "cells_not_a_finite_number": cells,
            "labels_set_to_the_first_level": self._counted(
                self._people, unread_labels(self.schema)
            ),
        }

    def _stored(self) -> Stored:
        """What a pass by Arrow would have seen, counted by DuckDB."""
        total = self._session.row(f"SELECT count(*) FROM {self._observations.scan}")[0]
        usable = self._session.row("SELECT count(*) FROM rows")[0]
        cells = self._counted(self._observations, unread_cells(self.schema, static=False))
        return Stored(total, usable, cells)

    def counted(self, rows: Mapping[str, str], people: Mapping[str, str]) -> dict[str, int]:
        """Evaluate SQL counts over the stored cells of both tables, by name. Not for release."""
        return self._counted(self._observations, rows) | self._counted(self._people, people)

    def distinct(self) -> dict[str, int]:
        """Count the rows that repeat another in all columns that are read, and for each variable
        the different values, up to two. Not for release."""
        columns = ", ".join(map(quoted, self._observations.types))
        repeated = self._session.row(f"""
            SELECT coalesce(sum(n - 1), 0) FROM (
                SELECT count(*) AS n FROM {self._observations.scan} GROUP BY hash({columns}))""")
        rows, people = (
            {v.name: different_values(v) for v in self.schema.variables if v.static == static}
            for static in (False, True)
        )
        return {"rows_that_repeat_another": int(repeated[0]), **self.counted(rows, people)}

    def _counted(self, table: Table, counts: Mapping[str, str]) -> dict[str, int]:
        if not counts:
            return {}
        numbers = self._session.row(f"SELECT {', '.join(counts.values())} FROM {table.scan}")
        return dict(zip(counts, numbers, strict=True))

    def _prepare(self) -> None:
        """Define the views `people` and `rows`, both in longsynth's own names and units."""
        rows = cohort_table(self._session, self.folder, "observations", row_roles(self.schema))
        people = cohort_table(self._session, self.folder, "patients", people_roles(self.schema))
        self._observations, self._people = rows, people
        columns = cohort_columns(self.schema, rows.types, people.types)
        self._session.run(f"CREATE VIEW people AS SELECT {columns.people} FROM {people.scan}")
        self._session.run(f"""
            CREATE VIEW rows AS SELECT * FROM (SELECT {columns.rows} FROM {rows.scan})
            WHERE isfinite(time)""")
        patient = self.schema.patient.column
        whole = "BIGINT" in id_cast(rows.types[patient], people.types[patient])
        self._streams = Streams(self._session, self.schema, rows.file, people.file, whole=whole)

    def _count_patients(self) -> int:
        order = self._streams.people_order
        if order and order.distinct:
            require_distinct(order.rows, order.known, order.known)
            return order.rows
        return self._session.count_patients()


@checked(folder=FOLDER)
def read_cohort(folder: Path | str) -> tuple[Schema, Cohort]:
    """Return a folder's schema and all its patients in memory.

    >>> import longsynth
    >>> schema, cohort = longsynth.read_cohort("cohort")
    >>> cohort
    Cohort(200 patients, 14 slots, 6 variables)
    """
    with CohortFolder(folder) as source:
        return source.schema, Cohort.joined(source.batches())


def cohort_schema(folder: Path) -> Schema:
    """Return the schema of a cohort folder."""
    if not folder.is_dir():
        raise CohortError(
            Code.COHORT_INCOMPLETE, f"{folder} is not a folder.", "Give the cohort's folder."
        )
    path = folder / "schema.yaml"
    if path.exists() and not path.is_file():
        raise CohortError(
            Code.COHORT_INCOMPLETE,
            f"{path} is not a file: a pipe or a device could block a reader forever.",
            "Replace it by a file.",
        )
    return load_schema(path)


def cohort_table(session: Session, folder: Path, name: str, roles: Roles) -> Table:
    """Open the columns of a table that have these roles, if their types are accepted."""
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise no_table(folder, name)
    return session.table(
        path,
        f"the {name} table of {folder}",
        lambda file: accepted_types(name, stored_types(file), roles),
    )


def no_table(folder: Path, name: str) -> CohortError:
    if (folder / f"{name}.csv").is_file():
        return CohortError(
            Code.COHORT_INCOMPLETE,
            f"{folder} has {name}.csv, but a fit reads only Parquet.",
            "Turn the folder into a cohort with `longsynth import events`.",
        )
    return CohortError(Code.COHORT_INCOMPLETE, f"{folder} has no {name}.parquet.", "Add the table.")


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
