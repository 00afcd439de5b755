"""Rows: what one patient adds to each line, before it is held to its radius."""

import numpy as np

from longsynth.encoding import rows as encoding
from longsynth.methods.private.copula.rules import EVENT_WEIGHT, PLACE_WEIGHT, Rules, weights
from longsynth.reading.records import Cohort
from longsynth.sampling.copula.channels import Seen, coding, plain_scaling, rulers
from longsynth.sampling.copula.codes import UNSEEN, Floats32, Whole, code_number, past_end
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Ints
from longsynth.system.remembered import remembered


def seen_of(batch: Cohort, schema: Schema) -> Seen:
    """Return what a batch shows; of what is static, the same in every slot."""
    scaling, code, n = plain_scaling(schema), coding(schema), batch.patients
    observed = encoding.seen(batch, schema).reshape(n, -1)
    unit = scaling.unit(batch.values).reshape(n, -1)
    values = code.values.of(unit, observed).reshape(batch.values.shape)
    slots, static = np.arange(schema.slots), np.array(schema.layout.static)
    if static.any():
        values = np.where(static, values[:, :1], values)
    length = encoding.lengths(batch, schema)
    timed = np.isfinite(batch.gaps) & (slots < length[:, None])
    if schema.length == "variable":
        past = np.array([past_end(ruler) for ruler in rulers(schema)[: len(static)]], np.int32)
        values = np.where((slots < length[:, None])[:, :, None] | static, values, past)
    else:  # what a shorter record lacks is missing
        length = np.full(n, schema.slots)
    return Seen(values, code.gaps.of(scaling.encode_gaps(batch.gaps), timed), length)


def marginal_rows(seen: Seen, schema: Schema) -> Floats32:
    """(n, width): mean waves of every measure over its slots, then how often each variable is
    observed less how often not."""
    tables, variables = _tables(schema), len(schema.variables)
    shown = [*np.moveaxis(seen.values, 2, 0), seen.gaps[:, :1], seen.gaps[:, 1:]]
    waves = sum(table.shape[1] - 1 for table in tables)
    found, start = np.empty((len(seen.gaps), waves + variables), np.float32), 0
    for j, (codes, table) in enumerate(zip(shown, tables, strict=True)):
        summed, end = _summed(codes, table), start + table.shape[1] - 1
        found[:, start:end] = summed[:, :-1]
        if j < variables:
            found[:, waves + j] = summed[:, -1]
        start = end
    return found


@remembered
def _tables(schema: Schema) -> list[Floats32]:
    """Of each measure (codes, K + 1): what a slot adds to the mean waves, and to the mark."""
    rules, variables, slots = Rules.of(schema), len(schema.variables), schema.slots
    asked = [*[slots] * variables, 1, max(slots - 1, 1)]
    found = []
    for ruler, weight, times in zip(rulers(schema), weights(schema, rules), asked, strict=True):
        table = np.zeros((code_number(ruler), len(weight) + 1), np.float32)
        table[1:-1, :-1] = ruler.waves(rules.waves) * weight / times
        table[UNSEEN, -1], table[1:-1, -1] = -rules.mark_weight / times, rules.mark_weight / times
        found.append(table)
    return found


def _summed(codes: Whole, table: Floats32) -> Floats32:
    """(n, K): the rows of the table (codes, K) at a patient's codes (n, T), added up."""
    from scipy.sparse import csr_array  # here, so that planning need not wait for it

    n, slots = codes.shape
    ones, ends = np.ones(codes.size, np.float32), np.arange(n + 1, dtype=np.int32) * slots
    return np.asarray(csr_array((ones, codes.ravel(), ends), shape=(n, len(table))) @ table)


def left_rows(schema: Schema, stratum: Ints) -> Ints:
    """(n, 2 + places): which event, which site and group."""
    site, group, event = schema.strata[stratum].T
    places = 2 * len(schema.sites)
    return np.concatenate(
        [
            EVENT_WEIGHT * encoding.one_hot(event, 2),
            PLACE_WEIGHT * encoding.one_hot(2 * site + group, places),
        ],
        axis=1,
    )
