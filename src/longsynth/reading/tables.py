"""Cohort folders: observations, patients and schema.yaml, read as patients.

Public mistakes raise: a missing file, a column that is missing or has another type than the schema
asks for, an id twice in the patient table. Private facts never do: what cannot be used in a cell is
missing, and `repairs` counts it for the internal side. Files that rise by patient are streamed as
they are; others DuckDB sorts, out of core where it must.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from longsynth.reading.columns import Roles, Types, accepted_types, people_roles, row_roles
from longsynth.reading.plain import plain_file, stored_types
from longsynth.reading.reading import (
    cohort_schema,
    connect,
    no_table,
    reading,
    require_distinct,
    unread_cells,
    unread_labels,
    unreadable,
)
from longsynth.reading.records import Cohort
from longsynth.reading.slots import COUNTED, Placed, placed
from longsynth.reading.sql import id_cast, literal, no_glob
from longsynth.reading.streams import Streams
from longsynth.schema.schema import Schema
from longsynth.system.reader_errors import without_cells
from longsynth.system.scratch import ScratchFolder

MEMORY, MEMORY_A_VARIABLE = 256, 8  # MB that DuckDB may hold before it sorts on disk


class CohortFolder:
    """The patients of a folder, in batches, as often as needed. Close it to remove its scratch."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.schema = cohort_schema(self.folder)
        self._scratch = ScratchFolder()
        self._counts: Counter[str] | None = None  # of a full pass
        memory = MEMORY + MEMORY_A_VARIABLE * len(self.schema.variables)
        self._connection = connect(str(self._scratch.path), memory=memory, threads=2)
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
        self._connection.close()
        self._scratch.close()

    def batches(self) -> Iterator[Cohort]:
        """Yield every patient of the patient table once, the same number in every batch."""
        return (found.cohort() for found in self._counted())

    def _counted(self) -> Iterator[Placed]:
        """Pass on the rows of each batch. What becomes of them is counted in the first full pass,
        so that `repairs` need not make another."""
        counts: Counter[str] = Counter(dict.fromkeys(("rows", "people", *COUNTED), 0))
        for rows in self._streams.by_patient():
            found = placed(rows, self.schema)
            if self._counts is None:
                counts.update(rows=len(rows.owner), people=found.people)
                counts.update(found.counts())
            yield found
        self._counts = self._counts or counts

    def repairs(self) -> dict[str, Any]:
        """Count what was read differently than it stands in the files. Not for release."""
        unread = {static: unread_cells(self.schema, static=static) for static in (False, True)}
        levels = unread_labels(self.schema)
        with without_cells(unreadable(self.folder)):
            cells = {
                name: number
                for static, table in ((False, self._observations), (True, self._people))
                if unread[static]
                for name, number in zip(
                    unread[static],
                    self._one_row(f"SELECT {', '.join(unread[static].values())} FROM {table}"),
                    strict=True,
                )
            }
            labels_ = self._one_row(f"SELECT {', '.join(levels.values())} FROM {self._people}")
            total = self._one_row(f"SELECT count(*) FROM {self._observations}")
            usable = self._one_row("SELECT count(*) FROM rows")
        if self._counts is None:
            for _ in self._counted():
                pass
        counts = self._counts or Counter()
        return {
            "rows": total[0],
            "rows_without_usable_time": total[0] - usable[0],
            "rows_of_unknown_patients": usable[0] - counts["rows"],
            "patients_without_rows": self.patients - counts["people"],
            **{what: counts[what] for what in COUNTED},
            "cells_not_a_finite_number": cells,
            "labels_set_to_the_first_level": dict(zip(levels, labels_, strict=True)),
        }

    def _prepare(self) -> None:
        """Define the views `people` and `rows`, both in longsynth's own names and units."""
        rows_path, rows = self._table("observations", row_roles(self.schema))
        people_path, people = self._table("patients", people_roles(self.schema))
        self._observations, self._people = _scan(rows_path), _scan(people_path)
        read = reading(self.schema, rows, people)
        with without_cells(unreadable(self.folder)):
            self._connection.execute(f"""
                CREATE VIEW people AS SELECT {read.people} FROM {self._people}""")
            self._connection.execute(f"""
                CREATE VIEW rows AS SELECT * FROM (SELECT {read.rows} FROM {self._observations})
                WHERE isfinite(time)""")
        patient = self.schema.patient.column
        self._streams = Streams(
            self._connection,
            self.folder,
            self.schema,
            rows_path,
            people_path,
            whole="BIGINT" in id_cast(rows[patient], people[patient]),
        )

    def _table(self, name: str, roles: Roles) -> tuple[Path, Types]:
        """Return where a table of the folder can be read, and the types of its columns."""
        path = self.folder.absolute() / f"{name}.parquet"  # Arrow would take ~ for a home
        if not path.is_file():
            raise no_table(self.folder, name)
        with without_cells(f"{self.folder} has no readable {name} table: is the file damaged?"):
            types = accepted_types(name, stored_types(path), roles)
            path = plain_file(path, types, self._scratch.path / path.name)
        return path, types

    def _count_patients(self) -> int:
        order = self._streams.people_order
        if order and order.distinct:
            number, known, distinct = order.rows, order.known, order.known
        else:
            with without_cells(unreadable(self.folder)):
                number, known, distinct = self._one_row(
                    "SELECT count(*), count(id), count(DISTINCT id) FROM people"
                )
        require_distinct(number, known, distinct)
        return int(number)

    def _one_row(self, query: str) -> tuple[int, ...]:
        return tuple(self._connection.execute(query).fetchall()[0])


def read_cohort(folder: Path | str) -> tuple[Schema, Cohort]:
    """Return a folder's schema and all its patients in memory."""
    with CohortFolder(folder) as source:
        return source.schema, Cohort.joined(source.batches())


def _scan(path: Path) -> str:
    return f"read_parquet({literal(no_glob(path))}, hive_partitioning = false)"
