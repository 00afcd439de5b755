"""The place where a source is prepared: a scratch folder and DuckDB, which never asks the network.

What is not plain is copied first into columns in which no single cell can stop DuckDB.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pyarrow as pa

from longsynth.reading.formats.csv_file import csv_to_parquet, open_csv
from longsynth.reading.plain import column_types, plain_file
from longsynth.reading.reading import connect
from longsynth.reading.sql import literal, no_glob
from longsynth.system.errors import CohortError
from longsynth.system.reader_errors import without_cells
from longsynth.system.scratch import ScratchFolder

MEMORY, MEMORY_A_VARIABLE = 512, 8  # MB that DuckDB may hold before it sorts on disk


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a table that can be scanned; a time stamp is hours since 1970 there."""

    scan: str  # SQL
    types: dict[str, pa.DataType]  # as they were stored
    notes: dict[str, int] = field(default_factory=dict)  # of CSV; raw facts


class Stage:
    """Close it to remove its scratch."""

    def __init__(self, variables: int) -> None:
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self._copies = 0
        memory = MEMORY + MEMORY_A_VARIABLE * variables
        self.connection = connect(str(self.folder), memory=memory, threads=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._scratch.close()

    def run(self, query: str) -> None:
        self.connection.execute(query)

    def row(self, query: str) -> tuple[int, ...]:
        return tuple(self.connection.execute(query).fetchall()[0])

    def texts(self, query: str) -> list[str]:
        """The texts of one column, without what is missing."""
        return [text for (text,) in self.connection.execute(query).fetchall() if text is not None]

    def new_file(self) -> Path:
        self._copies += 1
        return self.folder / f"{self._copies}.parquet"

    def parquet(
        self, path: Path, label: str, needed: Sequence[str], wanted: Sequence[str] = ()
    ) -> Table:
        """Give columns of a Parquet file, all that are needed and what there is of others: where
        they stand if they are plain, or else as a copy."""
        with without_cells(f"{label} cannot be read: is the file empty, damaged or cut short?"):
            path = path.absolute()  # Arrow would take ~ for a home
            listed = column_types(path)
            found = dict(listed)
            columns = [c for c in dict.fromkeys((*needed, *wanted)) if c in found or c in needed]
            require(label, [column for column, _ in listed], columns)
            types = {c: found[c] for c in columns}
            plain = plain_file(path, types, self.new_file())
        return Table(scan([plain]), types)

    def csv(self, path: Path, label: str, needed: Sequence[str]) -> Table:
        """Copy columns of a CSV file as text."""
        copy, columns = self.new_file(), list(dict.fromkeys(needed))
        with open_csv(path, label) as opened:
            require(label, opened.header, columns)
            too_long = csv_to_parquet(opened, copy, columns)
        notes = {
            "cells_with_a_line_break": opened.with_line_breaks,
            "cells_that_are_too_long": too_long,
        }
        return Table(scan([copy]), dict(column_types(copy)), notes)


def scan(files: Sequence[Path]) -> str:
    names = ", ".join(literal(no_glob(file)) for file in files)
    return f"read_parquet([{names}], hive_partitioning = false)"


def require(label: str, found: Sequence[str], needed: Sequence[str]) -> None:
    """Every column once, capitals aside: DuckDB does not tell them apart."""
    lacking = [column for column in needed if column not in found]
    if lacking:
        raise CohortError(
            f"{label} has no column {', '.join(map(repr, lacking))}: add it, or name in the schema "
            "the column that stands for it."
        )
    folded = [column.casefold() for column in found]
    twice = [column for column in needed if folded.count(column.casefold()) > 1]
    if twice:
        raise CohortError(f"{label} has the column {twice[0]!r} twice, capitals aside: rename one.")
