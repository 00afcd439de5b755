"""bootstrap: resamples complete records. The most useful data, and no privacy at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.bundle import Bundle
from longsynth.encoding.record import lengths, observed_cells, strata
from longsynth.methods.method import OpenMethod
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model
from longsynth.sampling.strata import population_masses, synthesis_strata
from longsynth.schema.schema import Schema
from longsynth.system.arrays import sizes_only


@dataclass(frozen=True, slots=True)
class Records:
    """Looks up one array of the sampled records."""

    rows: NDArray[Any]  # (N, …)

    __repr__ = sizes_only

    def draw(self, record: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
        return self.rows[record]


@dataclass(frozen=True, slots=True)
class RecordMasks:
    """Which of their cells were observed; their lengths are their own."""

    rows: NDArray[Any]  # (N, T, V)

    __repr__ = sizes_only

    def draw(
        self, record: NDArray[np.int64], length: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.bool_]:
        return np.asarray(self.rows[record] > 0)


@dataclass(frozen=True, slots=True)
class RecordOfStratum:
    """Draws a record from each patient's stratum."""

    by_stratum: list[NDArray[np.int64]]

    __repr__ = sizes_only

    def __call__(self, stratum: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        sizes = np.array([len(rows) for rows in self.by_stratum])
        chosen = (rng.random(len(stratum)) * sizes[stratum]).astype(np.int64)
        return np.array([self.by_stratum[s][k] for s, k in zip(stratum, chosen, strict=True)])


class Bootstrap(OpenMethod):
    name: ClassVar[str] = "bootstrap"
    summary: ClassVar[str] = "resamples complete records"

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        observed = observed_cells(cohort, schema)
        return {
            "values": np.where(observed, cohort.values, 0.0),
            "observed": observed,
            "gaps": np.nan_to_num(cohort.gaps),
            "length": lengths(cohort, schema),
            "stratum": strata(cohort, schema),
        }

    def model(self, bundle: Bundle) -> Model:
        schema, n = bundle.schema, bundle.patients
        stratum = bundle.array("stratum", n).astype(np.int64)
        cells = len(schema.strata)
        mass = population_masses(np.bincount(stratum, minlength=cells).astype(np.float64))
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=Records(bundle.array("length", n).astype(np.int64)),
            values=Records(bundle.array("values", n, schema.slots, -1)),
            masks=RecordMasks(bundle.array("observed", n, schema.slots, -1)),
            gaps=Records(bundle.array("gaps", n, schema.slots)),
            fingerprint=bundle.fingerprint,
            shared=RecordOfStratum([_records(stratum, s, schema) for s in range(cells)]),
        )


def _records(stratum: NDArray[np.int64], wanted: int, schema: Schema) -> NDArray[np.int64]:
    """The records of a stratum. If it is empty, those with its event, or else all."""
    same_event = schema.strata[stratum, 2] == schema.strata[wanted, 2]
    alike = (stratum == wanted, same_event, np.ones_like(same_event))
    return next(np.flatnonzero(chosen) for chosen in alike if chosen.any())
