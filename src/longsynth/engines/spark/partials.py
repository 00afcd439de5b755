"""Partial sums on their way to the driver: one row a name, whole numbers that can only be added."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from longsynth.system.arrays import Ints
from longsynth.system.origin import VERSION

Batches = Iterator[pa.RecordBatch]

COLUMNS = "part int, name string, rows long, total binary, version string"  # as Spark says it
_ARROW = pa.schema(
    {
        "part": pa.int32(),
        "name": pa.string(),
        "rows": pa.int64(),
        "total": pa.binary(),
        "version": pa.string(),
    }
)


@dataclass(slots=True)
class Totals:
    """Sums by name, and over how many patients each runs."""

    rows: dict[str, int] = field(default_factory=dict)
    total: dict[str, Ints] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)  # of longsynth, where they were made

    def add(self, name: str, total: Ints, rows: int = 0, version: str = VERSION) -> None:
        known = self.total.get(name)
        self.total[name] = total if known is None else known + total
        self.rows[name] = self.rows.get(name, 0) + rows
        self.versions.add(version)

    def count(self, name: str) -> int:
        """Return a sum that is one number; none was made over no rows."""
        return int(self.total[name][0]) if name in self.total else 0

    def add_rows(self, batch: pa.RecordBatch | pa.Table) -> None:
        for row in batch.to_pylist():
            total = np.frombuffer(row["total"], "<i8").astype(np.int64)
            self.add(row["name"], total, row["rows"], row["version"])

    def as_rows(self, part: int) -> Batches:
        """Yield them as one batch; `part` says where they came from, so that others can group."""
        version = ", ".join(sorted(self.versions))
        yield pa.RecordBatch.from_pylist(
            [
                {
                    "part": part,
                    "name": name,
                    "rows": self.rows[name],
                    "total": total.astype("<i8").tobytes(),
                    "version": version,
                }
                for name, total in self.total.items()
            ],
            schema=_ARROW,
        )
