"""Rows: what one patient adds to each line, before it is held to its radius."""

import numpy as np

from longsynth import encoding
from longsynth.methods.private.copula.rules import EVENT_WEIGHT, PLACE_WEIGHT, Rules, weights
from longsynth.model.copula.channels import Seen, plain_scaling, rulers
from longsynth.records import Bools, Cohort, Floats, Ints
from longsynth.schema import Schema


def seen_of(batch: Cohort, schema: Schema) -> Seen:
    """Return what a batch shows; of what is static, the same in every slot."""
    scaling, static = plain_scaling(schema), np.array(schema.layout.static)
    observed = encoding.seen(batch, schema)
    unit = scaling.unit(batch.values, observed)
    if static.any():
        unit = np.where(static, unit[:, :1], unit)
        observed = np.where(static, observed[:, :1], observed)
    slots = np.arange(schema.slots)
    length = batch.length if schema.length == "variable" else np.full(batch.patients, schema.slots)
    timed = np.isfinite(batch.gaps) & (slots < batch.length[:, None])
    gaps = scaling.encode_gaps(np.where(timed, batch.gaps, 0.0))
    return Seen(
        unit=unit,
        observed=observed,
        gaps=np.where(timed, gaps, 0.0),
        timed=timed,
        used=slots < length[:, None],
    )


def marginal_rows(seen: Seen, schema: Schema, rules: Rules) -> Floats:
    """(n, width): mean waves of every measure over its slots, then how often each variable is
    observed less how often not."""
    variables, static, weigh = len(schema.variables), schema.layout.static, weights(schema, rules)
    found, start = np.empty((len(seen.used), sum(map(len, weigh)) + variables)), 0
    times = []  # each measure is shown
    for j, (ruler, weight) in enumerate(zip(rulers(schema), weigh, strict=True)):
        if j < variables:
            at, shown = seen.unit[:, :, j], seen.observed[:, :, j] & seen.used
            if static[j]:
                at, shown = at[:, :1], seen.observed[:, :1, j]
        else:
            asked = slice(0, 1) if j == variables else slice(1, None)
            at, shown = seen.gaps[:, asked], seen.timed[:, asked]
        end, table = start + len(weight), ruler.waves(rules.waves) * weight
        times.append(_mean_waves(ruler.cell(at), shown, table, out=found[:, start:end]))
        start = end
    observed = np.stack(times[:variables], axis=1)
    marks = (2 * observed - seen.used.sum(axis=1)[:, None]) / schema.slots
    once = np.where(seen.observed[:, 0], 1.0, -1.0)
    np.multiply(np.where(static, once, marks), rules.mark_weight, out=found[:, start:])
    return found


def _mean_waves(cell: Ints, shown: Bools, table: Floats, out: Floats) -> Ints:
    """Write (n, K): rows of the table (G, K), summed over the slots that show a cell (n, T), over
    T. Return how many slots do (n,)."""
    from scipy.sparse import csr_array  # here, so that planning need not wait for it

    times = shown.sum(axis=1)
    ends = np.concatenate([[0], np.cumsum(times)])
    counts = csr_array((np.ones(int(ends[-1])), cell[shown], ends), shape=(len(cell), len(table)))
    np.divide(counts @ table, max(cell.shape[1], 1), out=out)
    return np.asarray(times)


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
