"""Observation masks: conditional missing probabilities and the repair (eq:auxiliary).

A patient can only be observed in slots up to the length: what lies beyond is padding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from longsynth.sampling.score import Draws
from longsynth.schema.record import Layout
from longsynth.system.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Masks:
    missing: Floats  # p̂(U = 1 | c_s) (S, T, V)
    layout: Layout
    least: int  # observations of each variable over time, as far as the length allows

    def draw(self, stratum: Ints, length: Ints, rng: Generator) -> Bools:
        """Return M (n, T, V)."""
        probability = self.missing[stratum]
        scores = rng.random(probability.shape) - probability  # a cell is observed where positive
        return repaired(scores, length, self.layout, self.least)


def repaired(scores: Draws, length: Ints, layout: Layout, least: int) -> Bools:
    """Observe where the score is positive; where that is too rare over time, at the largest scores
    too."""
    used, wanted = layout.up_to(length), np.where(layout.static, 0, least)
    observed = used & (scores >= 0)
    seen, could = _over_time(observed), _over_time(used)
    patient, variable = np.nonzero(seen < np.minimum(could, wanted))  # few: to rank all is slow
    if len(patient):
        rare, there = scores[patient, :, variable], used[patient, :, variable]  # (few, T)
        order = np.argsort(-np.where(there, rare, -np.inf), axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        observed[patient, :, variable] |= there & (rank < wanted[variable, None])
    return np.asarray(observed)


def _over_time(cells: Bools) -> Ints:
    """(n, V): how many of (n, T, V). Slot by slot, as numpy is slow along an axis in the middle."""
    return np.asarray(sum(cells[:, t].astype(np.int64) for t in range(cells.shape[1])))
