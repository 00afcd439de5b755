"""What a fit notes for the data holder only. Every figure here is a raw fact about patients."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from longsynth.encoding import encoded_values, in_use, seen
from longsynth.records import Cohort, Patients
from longsynth.schema import Schema

NOTICE = """# Not for release

Everything in this folder was computed from real patients without any protection. It may not leave
the place where the patients' data are kept. What may leave, if anything, is in `release/` next to
it. `reading.json` counts what could not be read as it stands: look at it before a release leaves.
"""


class Watched:
    """Patients that are counted on their way into a fit."""

    def __init__(
        self,
        source: Patients,
        schema: Schema,
        watch: Callable[[Iterator[Cohort]], Iterator[Cohort]] = iter,
    ) -> None:
        self._source, self._schema, self._watch = source, schema, watch
        self._bounds = np.array([v.bounds for v in schema.variables]).T
        self._cells = self._missing = self._long = self._events = self._protected = 0
        self._clipped = np.zeros(len(schema.variables), np.int64)
        self._noted = False

    @property
    def patients(self) -> int:
        return self._source.patients

    def batches(self) -> Iterator[Cohort]:
        for batch in self._watch(self._source.batches()):
            if not self._noted:
                self._note(batch)
            yield batch
        self._noted = True  # a method may read its patients more than once

    def _note(self, batch: Cohort) -> None:
        observed, used = seen(batch, self._schema), in_use(batch, self._schema)
        values = np.where(observed, batch.values, self._bounds[0])
        self._clipped += ((values < self._bounds[0]) | (values > self._bounds[1])).sum(axis=(0, 1))
        self._cells += int(used.sum())
        self._missing += int((used & ~observed).sum())
        z = encoded_values(batch, self._schema, observed)
        norms = np.sqrt(np.einsum("ij,ij->i", z, z))
        self._long += int((norms > self._schema.fixed.clip_radius).sum())
        self._events += int(batch.event.sum())
        self._protected += int(batch.group.sum())

    def notes(self) -> dict[str, Any]:
        names = [v.name for v in self._schema.variables]
        return {
            "patients": self.patients,
            "event_rate": self._events / self.patients,
            "group_share": self._protected / self.patients,
            "missing_rate": self._missing / max(self._cells, 1),
            "patients_clipped_to_the_radius": self._long / self.patients,
            "cells_clipped_to_the_bounds": dict(zip(names, self._clipped.tolist(), strict=True)),
        }
