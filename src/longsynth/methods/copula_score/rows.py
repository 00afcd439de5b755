"""Rows: what one patient adds to each line, before clipping. The release counts real patients with
it; the model counts simulated patients in the same way when it is calibrated."""

import numpy as np

from longsynth.encoding.record import one_hot
from longsynth.methods.copula_score.cells import NOT_OBSERVED, Floats32, Whole, code_number
from longsynth.methods.copula_score.channels import Coded, measures_of
from longsynth.methods.copula_score.settings import (
    EVENT_WEIGHT,
    PLACE_WEIGHT,
    Sizes,
    measure_weights,
)
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Ints


class WaveTables:
    """What each code of a measure adds to its mean waves and its mark. Build it once per pass."""

    def __init__(self, schema: Schema) -> None:
        sizes, self.variables, slots = Sizes.of(schema), len(schema.variables), schema.slots
        times = [*[slots] * self.variables, 1, max(slots - 1, 1)]
        weights = measure_weights(schema, sizes)
        self.tables: list[Floats32] = []  # of each measure (codes, K + 1)
        for cells, weight, number in zip(measures_of(schema), weights, times, strict=True):
            table = np.zeros((code_number(cells), len(weight) + 1), np.float32)
            table[1:-1, :-1] = cells.waves(sizes.waves) * weight / number
            table[NOT_OBSERVED, -1] = -sizes.mark_weight / number
            table[1:-1, -1] = sizes.mark_weight / number
            self.tables.append(table)

    def rows(self, coded: Coded) -> Floats32:
        """(n, width): mean waves of every measure over its slots, then how often each variable is
        observed less how often not."""
        measures = [*np.moveaxis(coded.values, 2, 0), coded.gaps[:, :1], coded.gaps[:, 1:]]
        waves = sum(table.shape[1] - 1 for table in self.tables)
        rows, start = np.empty((len(coded.gaps), waves + self.variables), np.float32), 0
        for j, (codes, table) in enumerate(zip(measures, self.tables, strict=True)):
            summed, end = _summed(codes, table), start + table.shape[1] - 1
            rows[:, start:end] = summed[:, :-1]
            if j < self.variables:
                rows[:, waves + j] = summed[:, -1]
            start = end
        return rows


def _summed(codes: Whole, table: Floats32) -> Floats32:
    """(n, K): the rows of the table (codes, K) at a patient's codes (n, T), added up."""
    from scipy.sparse import csr_array  # here, to keep planning fast

    n, slots = codes.shape
    ones, ends = np.ones(codes.size, np.float32), np.arange(n + 1, dtype=np.int32) * slots
    return np.asarray(csr_array((ones, codes.ravel(), ends), shape=(n, len(table))) @ table)


def left_rows(schema: Schema, stratum: Ints) -> Ints:
    """(n, E + places): the event, and the site and group."""
    event = one_hot(schema.strata[stratum, 2], len(schema.levels("event")))
    return np.concatenate([EVENT_WEIGHT * event, PLACE_WEIGHT * places(schema)[stratum]], axis=1)


def places(schema: Schema) -> Ints:
    """(S, places): where the patients of a stratum are: a site and a group together if there are
    two groups, as in the paper; otherwise a site, and a group."""
    sites, groups, _ = schema.label_sizes
    site, group, _ = schema.strata.T
    if groups <= 2:
        return one_hot(groups * site + group, sites * groups).astype(np.int64)
    both = [one_hot(site, sites), one_hot(group, groups)]
    return np.concatenate(both, axis=1).astype(np.int64)
