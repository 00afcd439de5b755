"""Observation masks: conditional missing probabilities and the repair (eq:auxiliary).

A patient can only be observed in slots up to the length: what lies beyond is padding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Masks:
    missing: Floats  # p̂(U = 1 | c_s) (S, T, V)
    static: Bools  # (V,)
    least: int  # observations of each variable over time, as far as the length allows

    def draw(self, stratum: NDArray[np.int64], length: NDArray[np.int64], rng: Generator) -> Bools:
        """Return M (n, T, V)."""
        probability = self.missing[stratum]
        scores = rng.random(probability.shape) - probability  # a cell is observed where positive
        used = cells_in_use(length, scores.shape[1], self.static)
        return repaired(scores, used, np.where(self.static, 0, self.least))


def cells_in_use(length: NDArray[np.int64], slots: int, static: Bools) -> Bools:
    """(n, T, V): the slots up to the length, and the first of what is static."""
    slot = np.arange(slots)[:, None]
    return np.asarray(np.where(static, slot == 0, slot < length[:, None, None]))


def repaired(scores: Floats, used: Bools, least: NDArray[np.int64]) -> Bools:
    """Observe where the score is positive; where that is too rare, at the largest scores too."""
    observed = used & (scores >= 0)
    seen, could = _over_time(observed), _over_time(used)
    patient, variable = np.nonzero(seen < np.minimum(could, least))  # few: to rank all is slow
    if len(patient):
        rare, there = scores[patient, :, variable], used[patient, :, variable]  # (few, T)
        order = np.argsort(-np.where(there, rare, -np.inf), axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        wanted = np.broadcast_to(least, seen.shape)[patient, variable]
        observed[patient, :, variable] |= there & (rank < wanted[:, None])
    return np.asarray(observed)


def _over_time(cells: Bools) -> NDArray[np.int64]:
    """(n, V): how many of (n, T, V). Slot by slot, as numpy is slow along an axis in the middle."""
    return np.asarray(sum(cells[:, t].astype(np.int64) for t in range(cells.shape[1])))
