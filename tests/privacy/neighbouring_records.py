"""Two records for one seat: far apart, or such as no one should have to think of."""

from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st

from longsynth.methods.method import PrivateMethod
from longsynth.privacy.errors import ArithmeticFault
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, add_up
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.workers import one_thread
from support import early_rows, one_patient

Pair = tuple[Cohort, Cohort]
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

nasty_number = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 20.0, 80.0, 220.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]
) | st.floats(allow_nan=True, allow_infinity=True)
nasty_label = st.integers(-1, 4) | st.sampled_from([LEAST, MOST])


@st.composite
def records(draw: st.DrawFn, schema: Schema) -> Cohort:
    shape = (schema.slots, len(schema.variables))
    cells = shape[0] * shape[1]
    values = draw(st.lists(nasty_number, min_size=cells, max_size=cells))
    observed = draw(st.lists(st.booleans(), min_size=cells, max_size=cells))
    return one_patient(
        np.reshape(values, shape),
        observed=np.reshape(observed, shape),
        gaps=draw(st.lists(nasty_number, min_size=shape[0], max_size=shape[0])),
        length=draw(st.integers(0, shape[0] + 2)),
        group=draw(nasty_label),
        event=draw(nasty_label),
        site=draw(nasty_label),
        shape=shape,
    )


def witnesses(schema: Schema) -> dict[str, Pair]:
    """Two records for each statistic that are as far apart as it says two can be."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    ordered = np.array([v.kind != "nominal" for v in schema.variables])
    moving = ordered & ~np.array(schema.layout.static)
    shape = (schema.slots, len(ordered))

    def someone(values: object = low, *, first: bool = False, **more: object) -> Cohort:
        """In the last stratum, or the first."""
        labels = (0, 0, 0) if first else (1, 1, len(schema.sites) - 1)
        given = dict(zip(("group", "event", "site"), labels, strict=True))
        given |= {"length": schema.slots, "gaps": 5.0, "shape": shape}
        return one_patient(values, **given | more)

    early = (np.arange(schema.slots) < schema.slots / 2)[:, None]
    halves = (someone(high, observed=early & moving), someone(high, observed=~early & moving))
    narrow = (
        schema.resolved_constants.bandwidth < schema.slots - 1
    )  # then products of far slots do not count
    every_other = np.where((np.arange(schema.slots) % 2 == 0)[:, None], high, low)  # ⊥ to all high
    no_event = dict(zip(("group", "event", "site"), (1, 0, len(schema.sites) - 1), strict=True))
    return {
        "event": (someone(**no_event), someone()),
        "strata": (someone(first=True), someone()),
        "lengths": (someone(length=0), someone()),
        "times": (someone(low), someone(high)),
        "point masses": (someone(low), someone(high)),
        "values": (someone(high, observed=ordered), someone(low, observed=ordered)),
        "second": halves
        if narrow
        else (someone(high, observed=moving), someone(every_other, observed=moving)),
        "joint": (
            someone(high, observed=moving),
            someone(every_other, observed=moving, first=True),
        ),
        "masks": (someone(), someone(observed=False)),
        "gaps": (someone(gaps=0.0), someone(gaps=schema.max_gap)),
        "gap squares": (someone(gaps=schema.max_gap), someone(gaps=np.nan)),
        "squares": (someone(high, observed=ordered), someone(observed=False)),
        "bins": (someone(low), someone(high)),
        "transitions": (someone(low), someone(high)),
        "marginals": (someone(low, gaps=0.0), someone(high, gaps=schema.max_gap)),
    }


def opposites(schema: Schema) -> list[Pair]:
    """Full records, each ordered value at a bound, against those with all at the other bound; with
    gaps unknown, or at either end too."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    ordered = np.array([v.kind != "nominal" for v in schema.variables])
    given = {"observed": ordered, "event": 1, "length": schema.slots}
    ends = ((np.nan, np.nan), (0.0, schema.max_gap), (schema.max_gap, 0.0))
    found = []
    for signs in product((False, True), repeat=len(low)):
        pair = (np.where(signs, high, low), np.where(signs, low, high))
        for gaps in ends:
            one, other = (
                one_patient(v, shape=(schema.slots, len(low)), gaps=gap, **given)
                for v, gap in zip(pair, gaps, strict=True)
            )
            found.append((one, other))
    return found


def strangers(schema: Schema) -> list[Cohort]:
    """Records with everything that a record should not hold."""
    shape = (schema.slots, len(schema.variables))
    return [
        one_patient(np.nan, gaps=np.nan, shape=shape, length=shape[0]),
        one_patient(np.inf, gaps=-np.inf, group=1, event=1, site=1, shape=shape, length=shape[0]),
        one_patient(-1e308, gaps=1e308, group=9, event=-1, site=99, shape=shape, length=99),
        one_patient(1e308, gaps=5e-324, group=LEAST, event=MOST, site=MOST, shape=shape),
        one_patient(observed=False, length=0, shape=shape),
    ]


def pairs(schema: Schema) -> list[Pair]:
    far = witnesses(schema)
    wild, usual = strangers(schema), far["values"]
    return [*far.values(), *((one, other) for one in wild for other in (*usual, wild[0]))]


def added(
    cohort: Cohort, schema: Schema, method: PrivateMethod, number: int = 0
) -> dict[str, tuple[Statistic, list[int]]]:
    """What a cohort adds to each statistic of a stage, as Python integers."""
    stage = method.stages(schema)[number]
    with one_thread(), np.errstate(all="ignore"):  # as in a fit
        parts = early_rows(method, cohort, schema, stage)
    return {
        line.name: (line.statistic, integers(line.statistic, parts[line.name])) for line in stage
    }


def integers(statistic: Statistic, part: Contribution) -> list[int]:
    """The sum of some rows, as Python integers. No row may stop it."""
    try:
        with np.errstate(all="ignore"):
            sums = add_up(statistic, part)
    except ArithmeticFault:
        pytest.fail(f"'{statistic.name}': a patient's row stopped the sum, which tells of it")
    assert sums.rows == len(part.right)
    return [int(k) for k in sums.total]


def squared_distance(a: list[int], b: list[int]) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
