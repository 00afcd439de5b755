"""What release and model of `dp-markov` share: settings, line names and public bins.

The paper describes DP-Markov in one sentence: discretised first-order transition tables. The
defaults are that chain and nothing more. Other rules that were tried are in the lab.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.sampling.auxiliary import GAP_SQUARES, GAPS, MASKS, STRATA
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Floats, Ints
from longsynth.system.errors import Code, Refused

FIRST, STEPS = "bins", "transitions"
SHARES = {STRATA: 5, FIRST: 20, STEPS: 50, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}  # percent of ρ
MOST_LEVELS = 60  # the transition tables grow with the square


@dataclass(frozen=True, slots=True)
class Settings:
    bins: int = 10  # of each continuous variable
    threshold: float = 1.0  # a count below so many standard deviations of noise is no evidence


@dataclass(frozen=True, slots=True)
class Bins:
    """Public bins of one variable: its levels, or intervals."""

    number: int  # K
    lowest: float  # the first level, or the lower bound
    edges: tuple[float, ...] | None  # (K + 1), transformed; None: levels
    log: bool = False
    ordered: bool = True  # whether neighbours in the list have anything in common

    def of(self, values: Floats) -> Ints:
        """The bin of each value in clinical units. A value outside is in the nearest bin."""
        if self.edges is None:
            place = np.rint(values - self.lowest)
        else:
            raw = np.log(np.maximum(values, self.lowest)) if self.log else values
            place = np.searchsorted(self.edges, raw, side="right") - 1.0
        return np.clip(place, 0, self.number - 1).astype(np.int64)

    def within(self, place: Ints, rng: Generator) -> Floats:
        """A level, or a value somewhere in its bin."""
        if self.edges is None:
            return self.lowest + place.astype(np.float64)
        edges = np.array(self.edges)
        raw = edges[place] + rng.random(place.shape) * np.diff(edges)[place]
        return np.asarray(np.exp(raw) if self.log else raw)


def bins_of(schema: Schema, number: int) -> list[Bins]:
    """One bin per level, and so many even intervals of each continuous variable."""
    return checked([_bins(variable, number) for variable in schema.variables])


def _bins(variable: Variable, number: int) -> Bins:
    low, high = variable.bounds
    if variable.kind != "continuous":
        return Bins(int(high - low) + 1, low, None, ordered=variable.kind != "nominal")
    log = variable.transform == "log"
    first, last = (float(np.log(end)) if log else end for end in (low, high))
    return Bins(number, low, tuple(np.linspace(first, last, number + 1).tolist()), log)


def checked(bins: list[Bins]) -> list[Bins]:
    """Return the same bins, or refuse a variable with too many levels."""
    if widest(bins) > MOST_LEVELS:
        raise Refused(
            Code.METHOD_UNSUITED,
            f"dp-markov takes at most {MOST_LEVELS} levels, and a variable has {widest(bins)}.",
            "Declare the variable continuous, or use another method.",
        )
    return bins


def widest(bins: list[Bins]) -> int:
    return max(b.number for b in bins)


def moving(schema: Schema) -> list[int]:
    """The variables that can change from slot to slot."""
    return [v for v, static in enumerate(schema.layout.static) if not static]
