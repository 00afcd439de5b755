"""The two tables as Spark data frames: from Parquet files, or tables and data frames of Spark.

Parquet files are read in the types in which they are stored. Time stamps are read as whole numbers:
Spark's own conversion stops at some of them, and a cell must not decide whether a fit stops.
"""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from longsynth.engines.spark import ask
from longsynth.reading.cohort_folder import no_table
from longsynth.reading.columns import TEXT, Roles, Types, accepted_types, require_columns
from longsynth.reading.parquet import LONGEST, is_stamp, stored_types
from longsynth.system.errors import Code, CohortError, without_cells

READ_AS = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32()), spark_types.IntegerType()),
    **dict.fromkeys((pa.uint8(), pa.uint16(), pa.date32()), spark_types.IntegerType()),
    **dict.fromkeys((pa.uint32(), pa.int64()), spark_types.LongType()),
    pa.float32(): spark_types.FloatType(),
    pa.float64(): spark_types.DoubleType(),
    pa.bool_(): spark_types.BooleanType(),
    **dict.fromkeys(TEXT, spark_types.StringType()),
}


def read_table(
    spark: SparkSession, name: str, given: DataFrame | str | Path, roles: Roles
) -> tuple[DataFrame, Types]:
    """Return the columns that a fit reads, each once, and the types of their cells.

    A path is a file or folder of Parquet; text is a table in Spark's catalogue. Only names and
    types of columns are inspected.
    """
    if isinstance(given, DataFrame):
        return _of_spark(name, given, roles)
    if isinstance(given, str):
        frame = ask(f"find the {name} table {given!r}", lambda: spark.table(given))
        return _of_spark(name, frame, roles)
    # A Delta folder also has files that were removed from the table: its log says which.
    if (given / "_delta_log").is_dir():
        doing = f"open {given} as Delta, whose package must be on Spark's path"
        return _of_spark(
            name, ask(doing, lambda: spark.read.format("delta").load(_address(given))), roles
        )
    return _of_files(spark, name, given, roles)


def _of_files(spark: SparkSession, name: str, path: Path, roles: Roles) -> tuple[DataFrame, Types]:
    files = _parquet_files(path)
    if not files:
        raise no_table(path.parent, name)
    with without_cells(f"{path} has no readable {name} table."):
        types, *others = (accepted_types(name, stored_types(file), roles) for file in files)
    for column, kind in types.items():
        if any(other[column] != kind for other in others):
            raise CohortError(
                Code.COLUMN_TYPE,
                f"the files in {path} store column {column!r} in different types.",
                "Write them with one type.",
            )
    stored = [
        spark_types.StructField(column, _read_as(kind))
        for column, kind in types.items()
        if not pa.types.is_null(kind)
    ]
    reader = spark.read.option("__globPaths__", "false")  # a path, not a pattern
    reader = reader.schema(spark_types.StructType(stored))
    frame = ask(f"open {path} as Parquet", lambda: reader.parquet(_address(path)))
    return _selected(name, frame, types), types


def _read_as(kind: pa.DataType) -> spark_types.DataType:
    return spark_types.LongType() if pa.types.is_timestamp(kind) else READ_AS[kind]


def _parquet_files(path: Path) -> list[Path]:
    """The files that Spark reads: it skips files and folders whose name starts with _ or a dot."""
    if not path.is_dir():
        return [path] if path.is_file() else []
    inside = ((file, file.relative_to(path).parts) for file in sorted(path.rglob("*")))
    return [
        file
        for file, parts in inside
        if file.is_file() and not any(part.startswith(("_", ".")) for part in parts)
    ]


def _of_spark(name: str, frame: DataFrame, roles: Roles) -> tuple[DataFrame, Types]:
    wanted = dict.fromkeys(column for column, _ in roles)
    require_columns(f"the {name} table", frame.columns, list(wanted))
    chosen = _selected(name, frame, wanted)
    stored: pa.Schema = ask(f"read the {name} table", lambda: chosen.limit(0).toArrow().schema)
    types = accepted_types(name, [(field.name, field.type) for field in stored], roles)
    for column, kind in types.items():
        if is_stamp(kind):
            raise CohortError(
                Code.COLUMN_TYPE,
                f"column {column!r} of the {name} table is a date or time stamp of Spark, which "
                "Spark cannot always read.",
                "Give the times as numbers, for example as hours since admission, or keep both "
                "tables as Parquet files in the cohort folder.",
            )
    return _selected(name, chosen, types), types


def _selected(name: str, frame: DataFrame, columns: Types | dict[str, None]) -> DataFrame:
    """Select columns in order; a column of nulls may be missing. Text that is too long for an id or
    a label is dropped before it can fill the memory."""
    cells = []
    for column, kind in columns.items():
        cell = F.col("`" + column.replace("`", "``") + "`")
        if kind is not None and pa.types.is_null(kind):
            cell = F.lit(None).cast("int").alias(column)
        elif kind in TEXT:
            cell = F.when(F.octet_length(cell) <= LONGEST, cell).alias(column)
        cells.append(cell)
    return ask(f"read the {name} table", lambda: frame.select(*cells))


def _address(path: Path) -> str:
    return f"file://{path.absolute()}"
