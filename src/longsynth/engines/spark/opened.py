"""A cohort on Spark for one command: the session starts when the cohort is opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longsynth.engines.distributed import Distributed
from longsynth.engines.spark.session import require_spark, spark_session


@contextmanager
def opened_on_spark(
    cohort: Path, *, master: str, tables: str | None = None, partitions: int | None = None
) -> Iterator[Distributed]:
    """Yield the patients of a cohort folder. With `tables`, a database of Spark's catalogue, its
    tables observations and patients are read in place of the folder's."""
    require_spark()
    from longsynth.engines.spark.cohort import SparkCohort

    named = {name: f"{tables}.{name}" for name in ("observations", "patients") if tables}
    with (
        spark_session(master) as session,
        SparkCohort(session, cohort, partitions=partitions, **named) as source,
    ):
        yield source
