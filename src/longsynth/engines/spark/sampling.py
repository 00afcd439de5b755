"""Synthetic patients drawn on Spark: each executor draws parts and writes them where `folder` is.

A chunk has a seed of its own and a part is a fixed number of chunks, so the files are those that
one machine would write. There is nothing to protect: the model is made of what was released.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from longsynth.engines.spark.asking import asked
from longsynth.engines.spark.executor import unquoted
from longsynth.engines.spark.partials import Batches
from longsynth.sample import CHUNK, sample_chunks
from longsynth.sampling.model import Model
from longsynth.system.errors import Refused
from longsynth.writing.parts_writer import CHUNKS, part_file, remove_unfinished, write_part
from longsynth.writing.writer import write_schema


def write_on_spark(
    spark: SparkSession,
    folder: Path,
    model: Model,
    patients: int,
    *,
    seed: int,
    where: Mapping[str, str] | None = None,
) -> None:
    """Draw and write patients in parts. Executors must see `folder` under the same path."""
    parts = -(-patients // (CHUNK * CHUNKS))
    next(sample_chunks(model, 1, seed=seed, where=where))  # what is refused is refused here
    work = partial(
        _write, folder=folder, model=model, patients=patients, seed=seed, where=dict(where or {})
    )
    numbers = asked("plan the parts", lambda: spark.range(0, parts, 1, parts))
    drawn: pa.Table = asked(
        f"draw into {folder}",
        lambda: numbers.mapInArrow(unquoted(work), "patients long").toArrow(),
    )
    written = [folder / part_file(t, n) for t in ("patients", "observations") for n in range(parts)]
    if sum(drawn.column("patients").to_pylist()) != patients or not all(map(Path.exists, written)):
        raise Refused(
            f"{folder} lacks parts that executors wrote: give an --out that every machine of the "
            "cluster sees under the same path."
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
            drawn = sample_chunks(model, patients, seed=seed, where=where, chunks=chunks)
            number = write_part(folder, model.schema, drawn, part=part, first=chunks[0] * CHUNK + 1)
            yield pa.RecordBatch.from_pydict({"patients": [number]})
