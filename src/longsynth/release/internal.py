"""What a fit notes for the data holder only. Every figure here is a raw fact about patients."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longsynth.encoding.rows import encoded_values, in_use, seen
from longsynth.engines.distributed import Facts
from longsynth.reading.records import Cohort, Patients
from longsynth.schema.schema import Schema

NOTICE = """# Not for release

Everything in this folder was computed from real patients without any protection. It may not leave
the place where the patients' data are kept. What may leave, if anything, is in `release/` next to
it. `reading.json` counts what could not be read as it stands: look at it before a release leaves.
"""


def raw_facts(batch: Cohort, schema: Schema) -> Facts:
    """Return what `cohort_notes` needs of some patients, as whole numbers that add up."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    observed, used = seen(batch, schema), in_use(batch, schema)
    values = np.where(observed, batch.values, low)
    with np.errstate(all="ignore"):  # no warning may tell of a wild value
        z = encoded_values(batch, schema, observed)
        norms = np.sqrt(np.einsum("ij,ij->i", z, z))
    return {
        "cells": np.array([used.sum()]),
        "missing": np.array([(used & ~observed).sum()]),
        "clipped": ((values < low) | (values > high)).sum(axis=(0, 1)),
        "long": np.array([(norms > schema.resolved_constants.clip_radius).sum()]),
        "events": np.array([batch.event.sum()]),
        "group": np.array([batch.group.sum()]),
    }


def cohort_notes(facts: Facts, schema: Schema, patients: int) -> dict[str, Any]:
    names = [v.name for v in schema.variables]
    return {
        "patients": patients,
        "event_rate": int(facts["events"][0]) / patients,
        "group_share": int(facts["group"][0]) / patients,
        "missing_rate": int(facts["missing"][0]) / max(int(facts["cells"][0]), 1),
        "patients_clipped_to_the_radius": int(facts["long"][0]) / patients,
        "cells_clipped_to_the_bounds": dict(zip(names, facts["clipped"].tolist(), strict=True)),
    }


class Watched:
    """Patients that are counted on their way into a fit, in its first pass."""

    def __init__(
        self,
        source: Patients,
        schema: Schema,
        watch: Callable[[Iterator[Cohort]], Iterator[Cohort]] = iter,
    ) -> None:
        self._source, self._schema, self._watch = source, schema, watch
        self._facts: Facts | None = None

    @property
    def patients(self) -> int:
        return self._source.patients

    def batches(self) -> Iterator[Cohort]:
        found: dict[str, NDArray[np.int64]] = {}
        for batch in self._watch(self._source.batches()):
            if self._facts is None:
                for name, number in raw_facts(batch, self._schema).items():
                    found[name] = found[name] + number if name in found else number
            yield batch
        self._facts = self._facts or found

    def notes(self) -> dict[str, Any]:
        if self._facts is None:
            raise TypeError("nobody has been read yet")
        return cohort_notes(self._facts, self._schema, self.patients)
