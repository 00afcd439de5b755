"""Synthetic patients generated on Spark: each executor generates parts and writes them to a folder.

Each chunk has its own seed, and a part is a fixed number of chunks, so the files are the same as
those of a single machine. There is nothing to protect: the model depends only on the release.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from longsynth.engines.spark.executor import Batches, guarded
from longsynth.engines.spark.session import ask
from longsynth.sample import CHUNK, sample_chunks
from longsynth.sampling.model import Model
from longsynth.system.errors import Code, Refused
from longsynth.writing.cohort import CHUNKS, part_file, remove_unfinished, write_part, write_schema


def write_on_spark(
    spark: SparkSession,
    folder: Path,
    model: Model,
    patients: int,
    *,
    seed: int,
    where: Mapping[str, str] | None = None,
) -> None:
    """Generate and write patients in parts. Executors must see `folder` under the same path."""
    parts = -(-patients // (CHUNK * CHUNKS))
    next(sample_chunks(model, 1, seed=seed, where=where))  # refuse here, not on an executor
    work = partial(
        _write, folder=folder, model=model, patients=patients, seed=seed, where=dict(where or {})
    )
    numbers = ask("plan the parts", lambda: spark.range(0, parts, 1, parts))
    counts: pa.Table = ask(
        f"generate patients into {folder}",
        lambda: numbers.mapInArrow(guarded(work), "patients long").toArrow(),
    )
    written = [folder / part_file(t, n) for t in ("patients", "observations") for n in range(parts)]
    if sum(counts.column("patients").to_pylist()) != patients or not all(map(Path.exists, written)):
        raise Refused(
            Code.OUTPUT_NOT_WRITTEN,
            f"{folder} lacks parts that executors wrote.",
            "Choose a folder that every machine of the cluster sees under the same path.",
        )
    remove_unfinished(folder)
    write_schema(folder, model.schema)


def _write(
    batches: Batches,
    *,
    folder: Path,
    model: Model,
    patients: int,
    seed: int,
    where: dict[str, str],
) -> Batches:
    for batch in batches:
        for part in batch.column("id").to_pylist():
            chunks = range(part * CHUNKS, min((part + 1) * CHUNKS, -(-patients // CHUNK)))
            some = sample_chunks(model, patients, seed=seed, where=where, chunks=chunks)
            number = write_part(folder, model.schema, some, part=part, first=chunks[0] * CHUNK + 1)
            yield pa.RecordBatch.from_pydict({"patients": [number]})
