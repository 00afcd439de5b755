"""A cohort folder whose tables are folders of Parquet files, each of the same number of chunks.

A part depends on its own patients alone, so that parts can be written anywhere and in any order.
Spark, Polars, DuckDB and pandas read such a folder as one table.
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from longsynth.schema.schema import Schema
from longsynth.schema.trajectories import Trajectories
from longsynth.writing.writer import cohort_tables, write_schema, write_tables

CHUNKS = 16  # that a part holds
ASIDE = ".part-"  # where one is written at first


def part_file(table: str, part: int) -> str:
    return f"{table}.parquet/part-{part:05d}.parquet"


def write_parts(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    """Write all parts, one after the other."""
    rest, first = iter(chunks), 1
    for part, head in enumerate(rest):
        first += write_part(folder, schema, _together(head, rest), part=part, first=first)
    write_schema(folder, schema)


def write_part(
    folder: Path, schema: Schema, chunks: Iterable[Trajectories], *, part: int, first: int
) -> int:
    """Write one part, whose patients are numbered from `first` on, and return how many they are.

    It is written aside and renamed: of two who write the same part, each leaves it whole.
    """
    tables = cohort_tables(schema)
    with TemporaryDirectory(prefix=ASIDE, dir=folder) as aside:
        patients = write_tables(Path(aside), chunks, tables, first=first)
        for table in tables:
            target = folder / part_file(table, part)
            target.parent.mkdir(exist_ok=True)
            (Path(aside) / f"{table}.parquet").replace(target)
    return patients


def remove_unfinished(folder: Path) -> None:
    """Remove what writers left behind that were killed."""
    for aside in folder.glob(f"{ASIDE}*"):
        shutil.rmtree(aside)


def _together(head: Trajectories, rest: Iterator[Trajectories]) -> Iterator[Trajectories]:
    yield head
    yield from islice(rest, CHUNKS - 1)
