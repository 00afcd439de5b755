"""A MEDS 0.4 dataset: events of subjects, sorted, each subject in one shard.

Labels, static variables and weights are events without a time. A record begins with RECORD_START on
a made-up day, and its times count from there. schema.yaml says how `longsynth import meds` reads it
back. A slot without observations leaves no trace, and values are float32.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.schema.columns import LABELS, Labels
from longsynth.schema.file import dump
from longsynth.schema.mapping import Dataset, Moment, Source
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Floats, Ints
from longsynth.system.origin import VERSION
from longsynth.writing import Writer
from longsynth.writing.cohort import long_rows, named_levels, text_of_levels

Objects = NDArray[np.object_]

START, WEIGHT = "RECORD_START", "SAMPLING_WEIGHT"
DAY_ZERO = np.datetime64("2000-01-01", "us")  # made up: synthetic patients have no calendar
MICROSECONDS = 3_600_000_000  # in an hour
APART = 2 / 3_600_000  # hours between two slots: readers count in milliseconds
COLUMNS = pa.schema(
    [
        ("subject_id", pa.int64()),
        ("time", pa.timestamp("us")),
        ("code", pa.string()),
        ("numeric_value", pa.float32()),
    ]
)
CODES = pa.schema(
    [
        ("code", pa.string()),
        ("description", pa.string()),
        ("parent_codes", pa.list_(pa.string())),
    ]
)
SPLITS = pa.schema([("subject_id", pa.int64()), ("split", pa.string())])


def write_meds(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    """Write data/, metadata/ and schema.yaml, one shard per chunk."""
    (folder / "data").mkdir()
    (folder / "metadata").mkdir()
    first = 1
    with pq.ParquetWriter(folder / "metadata" / "subject_splits.parquet", SPLITS) as splits:
        for shard, chunk in enumerate(chunks):
            ids = np.arange(first, first + chunk.patients)
            first += chunk.patients
            pq.write_table(_events(chunk, schema, ids), folder / "data" / f"{shard}.parquet")
            splits.write_table(pa.table([ids, ["train"] * len(ids)], schema=SPLITS))
    codes = pa.Table.from_pylist(list(_codes(schema)), schema=CODES)
    pq.write_table(codes, folder / "metadata" / "codes.parquet")
    about = {
        "dataset_name": f"{schema.name}, synthetic",
        "dataset_version": "1",
        "etl_name": "longsynth",
        "etl_version": VERSION,
        "meds_version": "0.4.1",
    }
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    (folder / "metadata" / "dataset.json").write_text(text, encoding="utf-8")
    (folder / "schema.yaml").write_text(dump(meds_schema(schema)), encoding="utf-8")


def meds_schema(schema: Schema) -> Schema:
    """The canonical schema, with where each variable and label is found in the events."""
    canonical = schema.canonical()
    variables = [v.model_copy(update={"source": _source(v)}) for v in canonical.variables]
    labels: dict[str, object] = {
        what: label.model_copy(update={"source": Source(pattern=_pattern(what.upper()))})
        for what, label in _labels(canonical).items()
    }
    lists = [
        c.model_copy(update={"source": Source(pattern=_pattern(c.name))}) for c in canonical.codes
    ]
    labels["codes"] = tuple(lists)
    begins = Dataset(start=Moment(codes=(START,)))
    return canonical.model_copy(update={"variables": tuple(variables), "source": begins, **labels})


def code_of(variable: Variable) -> str:
    """The code of a variable with its unit. With levels, only the part before the level."""
    return f"{variable.name}//{variable.unit}" if variable.unit else variable.name


def _source(variable: Variable) -> Source:
    if variable.levels is None:
        return Source(codes=(code_of(variable),))
    return Source(pattern=_pattern(variable.name))


def _pattern(name: str) -> str:
    return f"{name}//(?P<value>.*)"


def _labels(schema: Schema) -> dict[str, Labels]:
    return {what: label for what in LABELS if (label := getattr(schema, what)) is not None}


def _codes(schema: Schema) -> Iterator[dict[str, object]]:
    texts = {START: "start of the record, on a made-up day", WEIGHT: "weight in the population"}
    for what, labels in _labels(schema.canonical()).items():
        told = ": ".join(filter(None, (labels.name, labels.meaning))) or what
        texts |= {f"{what.upper()}//{level}": told for level in labels.levels}
    for v in schema.variables:
        codes = [f"{v.name}//{level}" for level in v.levels] if v.levels else [code_of(v)]
        texts |= {code: f"{v.name} {v.unit}".strip() for code in codes}
    for listed in schema.codes:
        meanings = listed.meanings
        texts |= {f"{listed.name}//{c}": meanings.get(c) or listed.name for c in listed.levels}
    for code, description in texts.items():
        yield {"code": code, "description": description, "parent_codes": None}


def _events(chunk: Trajectories, schema: Schema, ids: Ints) -> pa.Table:
    parts = zip(*_parts(chunk, schema), strict=True)
    patient, time, code, number = (np.concatenate(arrays) for arrays in parts)
    order = np.lexsort((np.arange(len(patient)), time, patient))  # no time: before all others
    patient, time, code, number = patient[order], time[order], code[order], number[order]
    stamps = pa.array(DAY_ZERO + time.astype("timedelta64[us]"), mask=time < 0)
    values = pa.array(number.astype(np.float32), mask=np.isnan(number))
    return pa.table([ids[patient], stamps, pa.array(code, pa.string()), values], schema=COLUMNS)


def _parts(chunk: Trajectories, schema: Schema) -> Iterator[tuple[Ints, Ints, Objects, Floats]]:
    """Yield patient, microseconds since the start (-1: no time), code and number of events."""
    everyone = np.arange(chunk.patients)
    timeless, nothing = np.full(chunk.patients, -1), np.full(chunk.patients, np.nan)
    for what, label in _labels(schema.canonical()).items():
        codes = np.array([f"{what.upper()}//{level}" for level in label.levels], dtype=object)
        yield everyone, timeless, codes[getattr(chunk, what)], nothing
    weight = getattr(chunk, "weight", None)
    if weight is not None:
        yield everyone, timeless, np.full(chunk.patients, WEIGHT, dtype=object), weight
    for v in np.flatnonzero(schema.layout.static):
        known = np.flatnonzero(chunk.observed[:, 0, v])
        coded = _coded(schema, np.full(len(known), v), chunk.values[known, 0, v])
        yield known, timeless[known], *coded
    yield everyone, 0 * everyone, np.full(chunk.patients, START, dtype=object), nothing
    rows = long_rows(chunk, schema, smallest=APART)
    microseconds = np.rint(rows.time * MICROSECONDS).astype(np.int64)
    yield rows.patient, microseconds, *_coded(schema, rows.variable, rows.value)


def _coded(schema: Schema, variable: Ints, value: Floats) -> tuple[Objects, Floats]:
    """One code and one number each; a level is part of the code and has no number."""
    plain = [*map(code_of, schema.variables), *(listed.name for listed in schema.codes)]
    codes = np.array(plain, dtype=object)[variable]
    number = value.astype(np.float64)
    for i, (name, levels) in enumerate(named_levels(schema)):
        if levels:
            of_it = variable == i
            texts = text_of_levels(levels, value[of_it])
            codes[of_it] = [f"{name}//{text}" for text in texts]
            number[of_it] = np.nan
    return codes, number


MEDS = Writer(
    write_meds,
    people_files=lambda _: ["metadata/subject_splits.parquet"],
    other_files=lambda chunks: [
        "metadata/codes.parquet",
        "metadata/dataset.json",
        *(f"data/{chunk}.parquet" for chunk in range(chunks)),
    ],
)
