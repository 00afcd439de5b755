"""independent: marginal distributions by event, every cell drawn on its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.methods.private import lines
from longsynth.model.auxiliary import masks_of
from longsynth.model.lengths import lengths_of
from longsynth.model.model import Model
from longsynth.model.strata import population_masses, synthesis_strata
from longsynth.records import Cohort
from longsynth.schema import Schema

Floats = NDArray[np.float64]

LEVELS = np.linspace(0.0, 1.0, 65)  # of the quantiles that describe a marginal


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Draws every cell from its own quantile table."""

    table: Floats  # (2, Q, …): by event
    events: NDArray[np.int64]  # (S,)
    whole: NDArray[np.bool_]  # last axis: which take whole numbers

    def draw(self, course: NDArray[np.int64], rng: Generator) -> Floats:
        event = self.events[course]
        shape = self.table.shape[2:]
        place = rng.random((len(course), *shape)) * (len(LEVELS) - 1)
        low = place.astype(np.int64)
        cells = np.indices((len(course), *shape), sparse=True)[1:]
        events = event.reshape(-1, *(1,) * len(shape))
        left, right = self.table[(events, low, *cells)], self.table[(events, low + 1, *cells)]
        drawn = left + (place - low) * (right - left)
        near = np.where(place - low < 0.5, left, right)  # between two levels there is nothing
        return np.asarray(np.where(self.whole, near, drawn))


class Independent:
    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "marginals by event, every cell on its own"

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        observed, used = encoding.seen(cohort, schema), encoding.in_use(cohort, schema)
        values = np.where(observed, cohort.values, np.nan)
        slots = np.arange(schema.slots) < cohort.length[:, None]
        length = lines.length_rows(cohort, schema).right
        gaps = np.where(slots, np.nan_to_num(cohort.gaps), np.nan)
        middle, whole = np.array([np.mean(v.bounds) for v in schema.variables]), _whole(schema)
        middle = np.where(whole, np.floor(middle), middle)
        return {
            "histogram": np.bincount(encoding.strata(cohort, schema), minlength=len(schema.strata)),
            "values": _by_event(values, cohort.event, middle, whole),
            "gaps": _by_event(gaps, cohort.event, np.zeros(1), np.zeros(schema.slots, np.bool_)),
            "lengths": length.sum(axis=0),
            "missing": np.stack([_missing(observed, used, cohort.event == y) for y in (0, 1)]),
        }

    def model(self, bundle: Bundle) -> Model:
        schema, events = bundle.schema, bundle.schema.strata[:, 2]
        size = (2, len(LEVELS), schema.slots)
        missing = bundle.array("missing", 2, schema.slots, -1)[events]
        counts = bundle.array("lengths", -1) if schema.length == "variable" else None
        mass = population_masses(bundle.array("histogram", -1))
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=lengths_of(counts, 0.0, schema),
            values=Quantiles(bundle.array("values", *size, -1), events, _whole(schema)),
            masks=masks_of(schema.layout.cell_rows(missing), schema),
            gaps=Quantiles(bundle.array("gaps", *size), events, np.array(False)),
            fingerprint=bundle.fingerprint,
        )


def _whole(schema: Schema) -> NDArray[np.bool_]:
    return np.array([v.kind != "continuous" for v in schema.variables])


def _missing(
    observed: NDArray[np.bool_], used: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> Floats:
    """The share missing of the cells in use; a cell that nobody uses is as good as missing."""
    chosen = chosen if chosen.any() else ~chosen
    number = used[chosen].sum(axis=0)
    return np.asarray(1 - observed[chosen].sum(axis=0) / np.maximum(number, 1))


def _by_event(
    values: Floats, event: NDArray[np.int64], empty: Floats, whole: NDArray[np.bool_]
) -> Floats:
    """Quantiles over patients (2, Q, …); a cell nobody has takes everyone's, or the midpoint."""
    everyone = _quantiles(values, np.broadcast_to(empty, values.shape[1:]), whole)
    tables = []
    for chosen in (event == 0, event == 1):
        known = np.isfinite(values[chosen]).any(axis=0)
        table = _quantiles(values[chosen], everyone[0], whole) if chosen.any() else everyone
        tables.append(np.where(known, table, everyone))
    return np.stack(tables)


def _quantiles(values: Floats, empty: Floats, whole: NDArray[np.bool_]) -> Floats:
    """Quantiles of each cell (Q, …); of whole numbers only those that occur."""
    filled = np.where(np.isfinite(values).any(axis=0), values, empty)
    table = np.nanquantile(filled, LEVELS, axis=0)
    if whole.any():
        found = filled[..., whole]
        table[..., whole] = np.nanquantile(found, LEVELS, axis=0, method="inverted_cdf")
    return np.asarray(table)
