"""The place where a source is prepared: a scratch folder and DuckDB, which never asks the network.

What is not plain is copied first into columns in which no single cell can stop DuckDB. Its messages
can quote cells, so none of them is passed on.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from longsynth.errors import CohortError
from longsynth.io.lines import csv_header, csv_to_parquet
from longsynth.io.plain import column_types, plain_file
from longsynth.io.sql import literal, no_glob
from longsynth.scratch import ScratchFolder

MEMORY, MEMORY_A_VARIABLE = 512, 8  # MB that DuckDB may hold before it sorts on disk


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a table that can be scanned; a time stamp is hours since 1970 there."""

    scan: str  # SQL
    types: dict[str, pa.DataType]  # as they were stored
    uneven: int = 0  # lines of CSV with too many or too few cells


class Stage:
    """Close it to remove its scratch."""

    def __init__(self, variables: int) -> None:
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self._copies = 0
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",  # never ask the network
                "autoload_known_extensions": "false",
                "memory_limit": f"{MEMORY + MEMORY_A_VARIABLE * variables}MB",
                "threads": "2",
                "temp_directory": str(self.folder),
            },
        )
        self.run("SET enable_progress_bar = false")  # in a notebook it would count private rows
        self.run("SET GLOBAL TimeZone = 'UTC'")  # of stamps without a zone, on any machine

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
        with sealed(f"{label} cannot be read: is the file empty, damaged or cut short?"):
            listed = column_types(path)
            found = dict(listed)
            columns = [c for c in dict.fromkeys((*needed, *wanted)) if c in found or c in needed]
            require(label, [column for column, _ in listed], columns)
            types = {c: found[c] for c in columns}
            plain = plain_file(path, types, self.new_file())
        return Table(scan([plain]), types)

    def csv(self, path: Path, label: str, patient: str, needed: Sequence[str]) -> Table:
        """Copy a CSV file as text; the id stands first in each line."""
        copy = self.new_file()
        with sealed(f"{label} cannot be read: is it a file that you may open?"):
            header = csv_header(path, patient)
        require(label, header, needed)
        with sealed(f"{label} cannot be read: is it a file that you may open?"):
            uneven = csv_to_parquet(path, copy, list(dict.fromkeys(needed)))
            found = dict(column_types(copy))
        return Table(scan([copy]), found, uneven)


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


@contextmanager
def sealed(problem: str) -> Iterator[None]:
    """Turn a reader's error, whose text may quote a cell, into one that cannot."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise CohortError(
            "the source needs more memory or disk space to be sorted than there is: free some, or "
            "leave out variables."
        ) from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError):
        raise CohortError(problem) from None
