"""Channels: a record as latent-like numbers over time: values, what was observed, gaps."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from longsynth.encoding.record import lengths, observed_cells
from longsynth.encoding.scaling import Scaling
from longsynth.methods.copula_score.cells import (
    NOT_OBSERVED,
    USUAL_SCALE,
    Cells,
    Codes,
    Floats32,
    Marginal,
    Whole,
    code_number,
    past_end,
)
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

LEAST_RATE = 0.002  # of observed cells: no variable is never, and none always observed
GAP_WEIGHT = 0.5  # of the gap beside values: it has its own line, and takes room from them


def bounds_scaling(schema: Schema) -> Scaling:
    """The public bounds become -1 and 1, whatever encoding other methods use."""
    constants = schema.constants.model_copy(update={"encoding": "bounds"})
    return Scaling(schema.model_copy(update={"constants": constants}))


def measures_of(schema: Schema) -> tuple[Cells, ...]:
    """The cells of the variables in the schema's order, then of the first gap and of later ones."""
    scaling, measures = bounds_scaling(schema), []
    for v, variable in enumerate(schema.variables):
        levels = None
        if variable.kind != "continuous":
            levels = round(variable.bounds[1] - variable.bounds[0]) + 1
        place = (0.0, USUAL_SCALE)
        if variable.centre is not None and variable.scale is not None:
            place = scaling.reference_in_unit(v, variable.centre, variable.scale)
        measures.append(Cells(levels, *place, ordered=variable.kind != "nominal"))
    return (
        *measures,
        Cells(),
        Cells(None, *scaling.usual_gap(USUAL_SCALE), lowest=scaling.shortest),
    )


class Coded(NamedTuple):
    """Codes of what a batch of records shows. A static variable is the same in every slot."""

    values: Whole  # (n, T, V)
    gaps: Whole  # (n, T)
    length: Ints  # (n,): slots in use

    def __repr__(self) -> str:
        return sizes_only(self)


class Coding:
    """Turns records into codes. Build it once per pass."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.scaling = schema, bounds_scaling(schema)
        *variables, first, later = measures_of(schema)
        self._values = Codes(tuple(variables) * schema.slots)
        self._gaps = Codes((first, *[later] * (schema.slots - 1)))
        self._past_end = np.array([past_end(cells) for cells in variables], np.int32)

    def of(self, batch: Trajectories) -> Coded:
        schema, n = self.schema, batch.patients
        observed = observed_cells(batch, schema).reshape(n, -1)
        unit = self.scaling.unit(batch.values).reshape(n, -1)
        values = self._values.of(unit, observed).reshape(batch.values.shape)
        slots, static = np.arange(schema.slots), np.array(schema.layout.static)
        if static.any():
            values = np.where(static, values[:, :1], values)
        length = lengths(batch, schema)
        timed = np.isfinite(batch.gaps) & (slots < length[:, None])
        if schema.length == "variable":
            used = (slots < length[:, None])[:, :, None] | static
            values = np.where(used, values, self._past_end)
        else:  # what a shorter record lacks is missing
            length = np.full(n, schema.slots)
        return Coded(values, self._gaps.of(self.scaling.encode_gaps(batch.gaps), timed), length)


def channel_number(schema: Schema) -> int:  # m
    return 2 * len(schema.variables) + (1 if schema.length == "full" else 2)


def still_channels(schema: Schema) -> Bools:
    """(m,): static variables, their marks and the length belong to the patient, not to a slot."""
    static = schema.layout.static
    return np.array([*static, *static, False, *([] if schema.length == "full" else [True])])


@dataclass(frozen=True)
class Channels:
    """V values, V observation marks, the gap, and the length where it varies, in that order."""

    marginals: tuple[Marginal, ...]  # of the variables, the first gap, later gaps
    rates: Floats  # (V,): how often a variable is observed in a slot in use
    static: Bools  # (V,)
    length: Marginal | None  # None: every record is full

    @property
    def number(self) -> int:  # m
        return len(self.is_static)

    @cached_property
    def is_static(self) -> Bools:
        """(m,): a length belongs to the patient, not to a slot."""
        return np.array([*self.static, *self.static, False, *([True] if self.length else [])])

    @cached_property
    def gains(self) -> Floats:
        """(m,): channel × latent normal variable on average, where a value is observed."""
        values = [marginal.gain for marginal in self.marginals]
        rest = [GAP_WEIGHT * values[-1], *([self.length.gain] if self.length else [])]
        return np.concatenate([values[: len(self.rates)], _density(self.rates), rest])

    def of(self, coded: Coded) -> Floats32:
        """(n, T, m): normal scores, 0 if missing; marks less their rate; the gap's score. All are
        zero in padding, except for static variables, which have none."""
        n, slots, variables = shape = coded.values.shape
        scores, marks, starts = self._of_codes
        place = coded.values.reshape(n, -1) + np.tile(starts, slots)  # numpy is slow across a few
        channels = np.empty((n, slots, self.number), np.float32)
        channels[:, :, :variables] = np.take(scores, place).reshape(shape)
        channels[:, :, variables : 2 * variables] = np.take(marks, place).reshape(shape)
        gap, (first, later) = channels[:, :, 2 * variables], self.marginals[variables:]
        gap[:, 0] = np.take(GAP_WEIGHT * _scores(first), coded.gaps[:, 0])
        gap[:, 1:] = np.take(GAP_WEIGHT * _scores(later), coded.gaps[:, 1:])
        if self.length:
            channels[:, :, -1] = self.length.scores[coded.length][:, None]
        return channels

    def seen(self, coded: Coded, event: Floats) -> Floats:
        """(E, T, m): the part of its gain that each channel has in each slot of patients with each
        event, one-hot (n, E). What is measured in patients with the event alone moves the sums by
        more than what is measured in one of ten of all."""
        used = event.T @ (np.arange(coded.gaps.shape[1]) < coded.length[:, None])  # (E, T)
        number = np.maximum(event.sum(axis=0), 1.0)[:, None]
        ends = np.array([past_end(m.cells) for m in self.marginals[: len(self.rates)]])
        observed = (coded.values != NOT_OBSERVED) & (coded.values != ends)
        values = np.tensordot(event.T, observed, 1) / number[:, :, None]  # (E, T, V)
        slots = np.where(self.static, 1.0, (used / number)[:, :, None])
        marks = slots * _density(values / np.maximum(slots, 1e-9)) / _density(self.rates)
        rest = np.broadcast_to((used / number)[:, :, None], (*used.shape, 2 if self.length else 1))
        return np.concatenate([values, marks, rest], axis=2)

    @cached_property
    def _of_codes(self) -> tuple[Floats32, Floats32, Ints]:
        """Score and mark of every code of every variable, and (V,) where each one's begin."""
        of_variables = self.marginals[: len(self.rates)]
        scores = np.concatenate([_scores(marginal) for marginal in of_variables])
        pairs = zip(of_variables, self.rates, strict=True)
        marks = np.concatenate([_marks(*pair) for pair in pairs])
        ends = np.cumsum([code_number(marginal.cells) for marginal in of_variables])
        return scores, marks, np.concatenate([[0], ends[:-1]])


def _density(rates: Floats) -> Floats:
    """Of a standard normal variable where it is exceeded this often: how a mark's mean moves."""
    from scipy.special import ndtri  # here, to keep planning fast

    threshold = ndtri(np.clip(rates, LEAST_RATE, 1 - LEAST_RATE))
    return np.asarray(np.exp(-(threshold**2) / 2) / np.sqrt(2 * np.pi))


def _scores(marginal: Marginal) -> Floats32:
    return np.concatenate([[0.0], marginal.scores, [0.0]]).astype(np.float32)


def _marks(marginal: Marginal, rate: float) -> Floats32:
    """Of every code: observed or not, less the rate, and nothing past the end."""
    observed = np.full(marginal.cells.number, 1 - rate)
    return np.concatenate([[-rate], observed, [0.0]]).astype(np.float32)
