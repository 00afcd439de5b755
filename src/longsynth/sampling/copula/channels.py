"""Channels: a record as latent-like numbers over time: values, what was observed, gaps."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.sampling.copula.codes import Codes, Floats32, Whole, code_number
from longsynth.sampling.copula.marginal import Marginal
from longsynth.sampling.copula.ruler import PLAIN_SCALE, Ruler
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints
from longsynth.system.remembered import remembered

GAP_WEIGHT = 0.5  # of the gap beside values: it has its own line, and takes room from them


class Seen(NamedTuple):
    """Codes of what a batch of records shows. Of what is static, every slot shows the same."""

    values: Whole  # (n, T, V)
    gaps: Whole  # (n, T)
    length: Ints  # (n,): slots in use


@remembered
def plain_scaling(schema: Schema) -> Scaling:
    """The public bounds become -1 and 1, whatever encoding other methods use."""
    constants = schema.constants.model_copy(update={"encoding": "bounds"})
    return Scaling(schema.model_copy(update={"constants": constants}))


@remembered
def rulers(schema: Schema) -> tuple[Ruler, ...]:
    """The variables in the schema's order, then the first gap and the later ones."""
    plain, found = plain_scaling(schema), []
    for v, variable in enumerate(schema.variables):
        levels = None
        if variable.kind != "continuous":
            levels = round(variable.bounds[1] - variable.bounds[0]) + 1
        place = (0.0, PLAIN_SCALE)
        if variable.centre is not None and variable.scale is not None:
            place = plain.reference_in_unit(v, variable.centre, variable.scale)
        found.append(Ruler(levels, *place, ordered=variable.kind != "nominal"))
    return (*found, Ruler(), Ruler())


class Coding(NamedTuple):
    """Rows of a batch as codes."""

    values: Codes  # of T · V columns
    gaps: Codes  # of T columns


@remembered
def coding(schema: Schema) -> Coding:
    *variables, first, later = rulers(schema)
    gaps = first, *[later] * (schema.slots - 1)
    return Coding(Codes(tuple(variables) * schema.slots), Codes(gaps))


def channel_number(schema: Schema) -> int:  # m
    return 2 * len(schema.variables) + (1 if schema.length == "full" else 2)


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
        from scipy.special import ndtri

        density = np.exp(-(ndtri(self.rates) ** 2) / 2) / np.sqrt(2 * np.pi)
        values = [found.gain for found in self.marginals]
        rest = [GAP_WEIGHT * values[-1], *([self.length.gain] if self.length else [])]
        return np.concatenate([values[: len(self.rates)], density, rest])

    def of(self, seen: Seen) -> Floats32:
        """(n, T, m): normal scores, 0 if missing; marks less their rate; the gap's score. All are
        zero in padding, but for what is static, which has none."""
        n, slots, variables = shape = seen.values.shape
        scores, marks, starts = self._of_codes
        place = seen.values.reshape(n, -1) + np.tile(starts, slots)  # numpy is slow across a few
        found = np.empty((n, slots, self.number), np.float32)
        found[:, :, :variables] = np.take(scores, place).reshape(shape)
        found[:, :, variables : 2 * variables] = np.take(marks, place).reshape(shape)
        gap, (first, later) = found[:, :, 2 * variables], self.marginals[variables:]
        gap[:, 0] = np.take(GAP_WEIGHT * _scores(first), seen.gaps[:, 0])
        gap[:, 1:] = np.take(GAP_WEIGHT * _scores(later), seen.gaps[:, 1:])
        if self.length:
            found[:, :, -1] = self.length.scores[seen.length][:, None]
        return found

    @cached_property
    def _of_codes(self) -> tuple[Floats32, Floats32, Ints]:
        """Score and mark of every code of every variable, and (V,) where each one's begin."""
        found = self.marginals[: len(self.rates)]
        scores = np.concatenate([_scores(marginal) for marginal in found])
        marks = np.concatenate([_marks(*pair) for pair in zip(found, self.rates, strict=True)])
        ends = np.cumsum([code_number(marginal.ruler) for marginal in found])
        return scores, marks, np.concatenate([[0], ends[:-1]])


def _scores(marginal: Marginal) -> Floats32:
    return np.concatenate([[0.0], marginal.scores, [0.0]]).astype(np.float32)


def _marks(marginal: Marginal, rate: float) -> Floats32:
    """Of every code: observed or not, less the rate, and nothing past the end."""
    observed = np.full(marginal.ruler.cells, 1 - rate)
    return np.concatenate([[-rate], observed, [0.0]]).astype(np.float32)
