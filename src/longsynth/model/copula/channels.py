"""Channels: a record as latent-like numbers over time: values, what was observed, gaps."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longsynth.model.copula.marginal import Marginal
from longsynth.model.copula.ruler import PLAIN_SCALE, Ruler
from longsynth.remembered import remembered
from longsynth.scaling import Scaling
from longsynth.schema import Schema

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GAP_WEIGHT = 0.5  # of the gap beside values: it has its own line, and takes room from them


class Seen(NamedTuple):
    """What a batch of records shows, on [-1, 1]. Of what is static, every slot shows the same."""

    unit: Floats  # (n, T, V), 0 where not observed
    observed: Bools  # (n, T, V)
    gaps: Floats  # (n, T), 0 where not known
    timed: Bools  # (n, T)
    used: Bools  # (n, T)


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

    def of(self, seen: Seen) -> Floats:
        """(n, T, m): normal scores, 0 if missing; marks less their rate; the gap's score. All are
        zero in padding, but for what is static, which has none."""
        variables = len(self.rates)
        found = np.zeros((*seen.used.shape, self.number))
        for v, marginal in enumerate(self.marginals[:variables]):  # numpy is slow across a few
            shown = seen.observed[:, :, v]
            score = np.take(marginal.scores, marginal.ruler.cell(seen.unit[:, :, v]))
            np.multiply(score, shown, out=found[:, :, v])
            np.subtract(shown, self.rates[v], out=found[:, :, variables + v])
        first, later = self.marginals[variables:]
        gap = found[:, :, 2 * variables]
        gap[:, 0] = first.scores[first.ruler.cell(seen.gaps[:, 0])]
        gap[:, 1:] = later.scores[later.ruler.cell(seen.gaps[:, 1:])]
        gap *= GAP_WEIGHT * seen.timed
        if self.length:
            found[:, :, -1] = self.length.scores[seen.used.sum(axis=1)][:, None]
        if not seen.used.all():
            found *= seen.used[:, :, None] | self.is_static
        return found
