"""The tidy table of a study: one number per row, with everything that made it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.system.folders import whole_file


@dataclass(frozen=True, slots=True, order=True)
class Row:
    experiment: str
    method: str
    seed: int
    setting: str
    metric: str
    value: float
    lower: float = math.nan  # 95 % interval over the judged patients of this seed
    upper: float = math.nan
    draw: int = 0  # of noise and synthetic patients, for the same training patients
    epsilon: float = math.nan  # NaN: nothing was promised
    delta: float = math.nan
    accounting: str = ""
    classifier: str = ""  # behind a metric of utility
    train_patients: int = 0  # and as many synthetic ones
    test_patients: int = 0
    patients_hash: str = ""  # of the training and the judged patients
    made_by: str = ""  # hash of the sources that the synthetic patients depend on
    judged_by: str = ""  # hash of the sources that the metrics depend on


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for one test patient, by a classifier trained on synthetic ones."""

    experiment: str
    method: str
    seed: int
    setting: str
    patient: int  # position in the test part
    event: int
    probability: float
    group: int
    site: int


_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def table_of(rows: Sequence[Any], kind: type) -> pa.Table:
    """Return rows of one dataclass as a table with one column per field."""
    columns = list(zip(*(astuple(row) for row in rows), strict=True))
    schema = _schema(kind)
    arrays = [
        pa.array(column, kind_) for column, kind_ in zip(columns, schema.types, strict=False)
    ] or [pa.array([], kind_) for kind_ in schema.types]
    return pa.Table.from_arrays(arrays, schema=schema)


def _schema(kind: type) -> pa.Schema:
    return pa.schema([(f.name, _TYPES[f.type]) for f in fields(kind)])  # type: ignore[index]


def write_whole(path: Path, table: pa.Table) -> None:
    """Write to a temporary name and rename, so that a killed run leaves no partial file. Parquet
    pages have checksums."""
    with whole_file(path) as scratch:
        pq.write_table(table, scratch, compression="zstd", write_page_checksum=True)


def write_text_whole(path: Path, text: str) -> None:
    with whole_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def is_whole(path: Path, kind: type) -> bool:
    """Whether a table of such rows is complete; a crash can truncate it."""
    try:
        found = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return False
    return bool(found.schema.equals(_schema(kind)))


class Results:
    """Rows, indexed by experiment, method, setting and metric."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        draws: dict[tuple[str, str, str, str], dict[int, list[float]]] = {}
        self._names: dict[str, tuple[dict[int, None], dict[str, None], dict[str, None]]] = {}
        for row in self.rows:
            seeds_of, settings, methods = self._names.setdefault(row.experiment, ({}, {}, {}))
            seeds_of[row.seed] = settings[row.setting] = methods[row.method] = None
            key = (row.experiment, row.method, row.setting, row.metric)
            draws.setdefault(key, {}).setdefault(row.seed, []).append(row.value)
        self._by_seed = {
            key: {seed: sum(values) / len(values) for seed, values in seeds.items()}
            for key, seeds in draws.items()
        }

    def by_seed(self, experiment: str, method: str, setting: str, metric: str) -> dict[int, float]:
        """Return seed → mean over its draws; empty if it was not measured."""
        return self._by_seed.get((experiment, method, setting, metric), {})

    def values(self, experiment: str, method: str, setting: str, metric: str) -> list[float]:
        found = self.by_seed(experiment, method, setting, metric)
        return [found[seed] for seed in sorted(found)]

    def seeds(self, experiment: str) -> list[int]:
        return sorted(self._names_of(experiment)[0])

    def settings(self, experiment: str) -> list[str]:
        """Labels in numeric order if they are numbers, otherwise in the order of the rows."""
        labels = self._names_of(experiment)[1]
        try:
            return sorted(labels, key=float)
        except ValueError:
            return list(labels)

    def methods(self, experiment: str) -> list[str]:
        return list(self._names_of(experiment)[2])

    def _names_of(
        self, experiment: str
    ) -> tuple[dict[int, None], dict[str, None], dict[str, None]]:
        """Seeds, settings and methods, in the order of the rows."""
        return self._names.get(experiment, ({}, {}, {}))


def read_results(path: Path) -> Results:
    """Read column by column; an older file may lack the last columns."""
    table = pq.read_table(path)
    columns = [
        _cells(table[field.name])
        if field.name in table.column_names
        else repeat(field.default, len(table))
        for field in fields(Row)
    ]
    return Results(map(Row, *columns))


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Python's values; each text is made once, however many rows repeat it."""
    if column.type != pa.string():
        return list(column.to_pylist())
    listed = column.combine_chunks().dictionary_encode()
    texts = listed.dictionary.to_pylist()
    return [texts[place] for place in listed.indices.to_pylist()]


def read_predictions(path: Path) -> pa.Table:
    return pq.read_table(path)


def joined(paths: Iterable[Path]) -> pa.Table:
    """Return the tables of several files as one, in the order of the files."""
    tables: Iterator[pa.Table] = (pq.read_table(path) for path in paths)
    return pa.concat_tables(tables)


def pooled(
    predictions: pa.Table, experiment: str, method: str, setting: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return event, probability, group, site and seed of the test patients of all seeds."""
    import pyarrow.compute as pc

    chosen = pc.and_(
        pc.equal(predictions["experiment"], experiment),
        pc.and_(pc.equal(predictions["method"], method), pc.equal(predictions["setting"], setting)),
    )
    kept = predictions.filter(chosen)
    names = ("event", "probability", "group", "site", "seed")
    return {name: kept[name].to_numpy() for name in names}
