"""Options that say where a command runs: on this machine, or on Spark."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.privacy.errors import Refused

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from longsynth.engines.distributed import Distributed


class Engines(StrEnum):
    local = "local"
    spark = "spark"


Engine = Annotated[Engines, typer.Option(help="Where it runs: on this machine, or on Spark.")]
Master = Annotated[
    str | None,
    typer.Option(help="Spark only: local[4], spark://host:7077, yarn, k8s://…", show_default=False),
]
Tables = Annotated[
    str | None,
    typer.Option(
        help="Spark only: a database with tables observations and patients, in place of files."
    ),
]
Partitions = Annotated[
    int | None, typer.Option(min=1, help="Spark only: into how many the patients are divided.")
]


def cohort_on(
    engine: Engines, cohort: Path, master: str | None, tables: str | None, partitions: int | None
) -> "Path | AbstractContextManager[Distributed]":
    """Return the folder, or its patients on Spark, which starts when they are opened."""
    if engine == Engines.local:
        require_local(master, tables, partitions)
        return cohort
    from longsynth.engines.spark.opened import opened_on_spark

    return opened_on_spark(
        cohort, master=master or "local[*]", tables=tables, partitions=partitions
    )


def require_local(*of_spark: object) -> None:
    if any(option is not None for option in of_spark):
        raise Refused("--master, --tables and --partitions are Spark's: add --engine spark.")
