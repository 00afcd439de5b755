"""The lines of `dp-markov`, in one pass.

For each variable, a patient fills one block with the first observed bin, and one block with up to
T - 1 transitions. A static variable has no transitions.
"""

from functools import cached_property, partial

import numpy as np

from longsynth.encoding.rows import Encoded, Encoder
from longsynth.methods import lines
from longsynth.methods.dp_markov.settings import (
    FIRST,
    SHARES,
    STEPS,
    Settings,
    bins_of,
    moving,
    widest,
)
from longsynth.methods.fact import Fact, empty
from longsynth.methods.method import Line, Stage
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Ints


def markov_lines(schema: Schema, settings: Settings) -> Stage:
    shares = lines.shares_of(SHARES, schema)
    blocks, moves, most = len(schema.variables), len(moving(schema)), max(schema.slots - 1, 1)
    size, events = widest(bins_of(schema, settings.bins)), len(schema.levels("event"))
    first = Statistic(
        FIRST, "first bin by variable and event", "count", blocks * events * size, blocks=blocks
    )
    steps = Statistic(
        STEPS,
        "transitions between states by variable and event",
        "count",
        moves * events * size**2,
        blocks=moves,
        grid=most,
    )
    return (
        lines.strata(schema, shares),
        Line(first, shares[FIRST], _first_rows, _first_noise),
        Line(steps, shares[STEPS], _step_rows, partial(_steps_noise, most)),
        *lines.unconditional(schema, shares),
    )


def _first_noise(sd: float, patients: int) -> str:
    return f"±{sd:.1f} patients in each first bin"


def _steps_noise(most: int, sd: float, patients: int) -> str:
    """`sd` is in units of all transitions that one patient can add."""
    return f"±{sd * most:.1f} transitions, of {patients * most:,} at most"


class MarkovEncoder(Encoder):
    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema)
        self.bins = bins_of(schema, settings.bins)

    def __call__(self, batch: Cohort) -> "MarkovEncoded":
        return MarkovEncoded(batch, self)


class MarkovEncoded(Encoded):
    encoder: MarkovEncoder

    def __init__(self, batch: Cohort, encoder: MarkovEncoder) -> None:
        super().__init__(batch, encoder)

    @cached_property
    def places(self) -> list[Ints]:
        """(n, T) for each variable: the bin of each cell, whether or not it is observed."""
        values = np.where(self.observed, self.batch.values, 0.0)
        return [bins.of(values[:, :, v]) for v, bins in enumerate(self.encoder.bins)]


def _first_rows(encoded: MarkovEncoded) -> Contribution:
    places, bins = encoded.places, encoded.encoder.bins
    shape = len(bins), len(encoded.schema.levels("event")), widest(bins)
    first = np.zeros((encoded.batch.patients, *shape), np.int64)
    for v, place in enumerate(places):
        mark_first(place, encoded.observed[:, :, v], encoded.event, first[:, v])
    return Contribution(first.reshape(len(first), -1))


def _step_rows(encoded: MarkovEncoded) -> Contribution:
    size, variables = widest(encoded.encoder.bins), moving(encoded.schema)
    shape = len(variables), len(encoded.schema.levels("event")), size, size
    steps = np.zeros((encoded.batch.patients, *shape), np.int64)
    for i, v in enumerate(variables):
        count_steps(encoded.places[v], encoded.observed[:, :, v], encoded.event, steps[:, i])
    return Contribution(steps.reshape(len(steps), -1))


def mark_first(place: Ints, observed: Bools, event: Ints, first: Ints) -> None:
    """Mark the first bin that was observed."""
    some = np.flatnonzero(observed.any(axis=1))
    slot = observed[some].argmax(axis=1)
    first[some, event[some], place[some, slot]] = 1


def count_steps(state: Ints, observed: Bools, event: Ints, steps: Ints) -> None:
    """Walk the slots; `last` is the last state that was observed, or -1."""
    last = np.full(len(event), -1)
    for slot in range(state.shape[1]):
        now, here = state[:, slot], observed[:, slot]
        known = np.flatnonzero(here & (last >= 0))
        steps[known, event[known], last[known], now[known]] += 1
        last = np.where(here, now, last)


def markov_facts(schema: Schema, settings: Settings) -> list[Fact]:
    """Bins and states that a variable lacks stay empty."""
    bins, events = bins_of(schema, settings.bins), len(schema.levels("event"))
    no_bin = absent([b.number for b in bins], widest(bins))
    no_state = no_bin[moving(schema)]
    no_step = no_state[:, :, None] | no_state[:, None, :]
    return [
        *lines.patient_facts(schema),
        empty(FIRST, no_bin.repeat(events, axis=0)),
        empty(STEPS, no_step.repeat(events, axis=0)),
    ]


def absent(numbers: list[int], size: int) -> Bools:
    """(variables, size): the bins that a variable does not have."""
    return np.asarray(np.arange(size) >= np.array(numbers)[:, None])
