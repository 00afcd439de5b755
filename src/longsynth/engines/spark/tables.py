"""Where Spark finds the two tables: Parquet files, folders of them, SQL tables or data frames."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from longsynth.engines.spark.asking import asked
from longsynth.errors import CohortError
from longsynth.io.columns import require_columns
from longsynth.io.reading import Types


def found_table(spark: SparkSession, name: str, given: DataFrame | str | Path) -> DataFrame:
    """Return a table: a path stands for a file or folder of Parquet, text for a table of Spark's
    catalogue. Only the schema of what is there is looked at."""
    if isinstance(given, DataFrame):
        return given
    if isinstance(given, str):
        return asked(f"find the {name} table {given!r}", lambda: spark.table(given))
    if not given.exists():
        raise CohortError(
            f"{given.parent} has no {given.name}, neither as a file nor as a folder of Parquet "
            "files: Spark reads no CSV. Name the tables of its catalogue if they are there."
        )
    # A Delta folder also holds files that were taken out of the table: its log says which.
    address = f"file://{given.absolute()}"
    if (given / "_delta_log").is_dir():
        doing = f"open {given} as Delta, whose package has to be on Spark's path"
        return asked(doing, lambda: spark.read.format("delta").load(address))
    reader = spark.read.option("__globPaths__", "false")  # a path, not a pattern
    return asked(f"open {given} as Parquet", lambda: reader.parquet(address))


def wanted_columns(frame: DataFrame, table: str, columns: list[str]) -> tuple[DataFrame, Types]:
    """Return the columns that are read, each once, and their types in Arrow."""
    columns = list(dict.fromkeys(columns))
    require_columns(table, frame.columns, columns)
    quoted = ["`" + column.replace("`", "``") + "`" for column in columns]
    chosen = asked(f"read the {table} table", lambda: frame.select(*quoted))
    schema: pa.Schema = asked(f"read the {table} table", lambda: chosen.limit(0).toArrow().schema)
    return chosen, {field.name: field.type for field in schema}
