"""independent: marginal distributions by event or by stratum, every cell sampled on its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from longsynth.bundle import Bundle
from longsynth.encoding.record import in_use, observed_cells, strata
from longsynth.encoding.rows import Encoder
from longsynth.methods.lines import length_rows
from longsynth.methods.method import OpenMethod
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import masks_of
from longsynth.sampling.model import Model
from longsynth.sampling.strata import lengths_of, population_masses, synthesis_strata
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, sizes_only

LEVELS = np.linspace(0.0, 1.0, 65)  # of the quantiles that describe a marginal


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Draws every cell from its own quantile table."""

    table: Floats  # (parts, Q, …)
    part: NDArray[np.int64]  # (S,): whose table a stratum draws from
    whole: NDArray[np.bool_]  # last axis: which take whole numbers

    __repr__ = sizes_only

    def draw(self, stratum: NDArray[np.int64], rng: Generator) -> Floats:
        shape = self.table.shape[2:]
        part = self.part[stratum].reshape(-1, *(1,) * len(shape))
        place = rng.random((len(stratum), *shape)) * (len(LEVELS) - 1)
        low = place.astype(np.int64)
        cells = np.indices((len(stratum), *shape), sparse=True)[1:]
        left, right = self.table[(part, low, *cells)], self.table[(part, low + 1, *cells)]
        between = left + (place - low) * (right - left)
        near = np.where(place - low < 0.5, left, right)  # between two levels there is nothing
        return np.asarray(np.where(self.whole, near, between))


class Independent(OpenMethod):
    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "marginals by event or stratum, every cell on its own"

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        observed, used = observed_cells(cohort, schema), in_use(cohort, schema)
        values = np.where(observed, cohort.values, np.nan)
        slots = np.arange(schema.slots) < cohort.length[:, None]
        length = length_rows(Encoder(schema)(cohort)).right
        gaps = np.where(slots, np.nan_to_num(cohort.gaps), np.nan)
        middle, whole = np.array([np.mean(v.bounds) for v in schema.variables]), _whole(schema)
        middle = np.where(whole, np.floor(middle), middle)
        stratum = strata(cohort, schema)
        return {
            "histogram": np.bincount(stratum, minlength=len(schema.strata)),
            "values": _tables(values, stratum, middle, whole, schema),
            "gaps": _tables(gaps, stratum, np.zeros(1), np.zeros(schema.slots, np.bool_), schema),
            "lengths": length.sum(axis=0),
            "missing": _missing(observed, used, stratum, schema),
        }

    def model(self, bundle: Bundle) -> Model:
        schema, part = bundle.schema, _part(bundle.schema)
        parts = int(part.max()) + 1
        size = (parts, len(LEVELS), schema.slots)
        missing = bundle.array("missing", parts, schema.slots, -1)[part]
        counts = bundle.array("lengths", -1) if schema.length == "variable" else None
        mass = population_masses(bundle.array("histogram", -1))
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=lengths_of(counts, 0.0, schema),
            values=Quantiles(bundle.array("values", *size, -1), part, _whole(schema)),
            masks=masks_of(schema.layout.cell_rows(missing), schema),
            gaps=Quantiles(bundle.array("gaps", *size), part, np.array(False)),
            fingerprint=bundle.fingerprint,
        )


def _part(schema: Schema) -> NDArray[np.int64]:
    """(S,): the table of each stratum: its event's, or its own."""
    strata = schema.strata
    return strata[:, 2] if schema.constants.marginals_by == "event" else np.arange(len(strata))


def _whole(schema: Schema) -> NDArray[np.bool_]:
    return np.array([v.kind != "continuous" for v in schema.variables])


def _missing(
    observed: NDArray[np.bool_],
    used: NDArray[np.bool_],
    stratum: NDArray[np.int64],
    schema: Schema,
) -> Floats:
    """The share missing of the cells in use (parts, …). A cell that nobody with the event uses
    counts as missing; for one that nobody in a stratum uses, the event's share counts."""
    event, levels = schema.strata[stratum, 2], range(len(schema.levels("event")))

    def share(chosen: NDArray[np.bool_], otherwise: Floats | float) -> Floats:
        number = used[chosen].sum(axis=0)
        missing = 1 - observed[chosen].sum(axis=0) / np.maximum(number, 1)
        return np.where(number > 0, missing, otherwise)

    by_event = [share(event == y if (event == y).any() else event != y, 1.0) for y in levels]
    if schema.constants.marginals_by == "event":
        return np.stack(by_event)
    events = enumerate(schema.strata[:, 2])
    return np.stack([share(stratum == s, by_event[y]) for s, y in events])


def _tables(
    values: Floats,
    stratum: NDArray[np.int64],
    empty: Floats,
    whole: NDArray[np.bool_],
    schema: Schema,
) -> Floats:
    """Quantiles over patients (parts, Q, …). A cell that nobody in a stratum has takes the
    event's table; one that nobody with the event has takes everyone's, or the midpoint."""
    event, levels = schema.strata[stratum, 2], range(len(schema.levels("event")))

    def table(chosen: NDArray[np.bool_], otherwise: Floats) -> Floats:
        if not chosen.any():
            return otherwise
        known = np.isfinite(values[chosen]).any(axis=0)
        return np.where(known, _quantiles(values[chosen], otherwise[0], whole), otherwise)

    everyone = _quantiles(values, np.broadcast_to(empty, values.shape[1:]), whole)
    by_event = [table(event == y, everyone) for y in levels]
    if schema.constants.marginals_by == "event":
        return np.stack(by_event)
    return np.stack([table(stratum == s, by_event[y]) for s, y in enumerate(schema.strata[:, 2])])


def _quantiles(values: Floats, empty: Floats, whole: NDArray[np.bool_]) -> Floats:
    """Quantiles of each cell (Q, …); of whole numbers only those that occur."""
    filled = np.where(np.isfinite(values).any(axis=0), values, empty)
    table = np.nanquantile(filled, LEVELS, axis=0)
    if whole.any():
        levels = filled[..., whole]
        table[..., whole] = np.nanquantile(levels, LEVELS, axis=0, method="inverted_cdf")
    return np.asarray(table)
