"""Records as an attacker compares them, and the distances between them."""

from collections.abc import Sequence

import numpy as np

from longsynth.audit.view import summaries
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.workers import single_thread

CHUNK = 1024  # records compared at a time, so that memory does not grow with their product


def records(schema: Schema, cohort: Trajectories) -> Floats:
    """(n, D): all that an attacker knows: summaries, sites, then group, and the event last."""
    sites = cohort.site[:, None] == np.arange(len(schema.sites))
    return np.column_stack([summaries(schema, cohort), sites, cohort.group, cohort.event])


class Scale:
    """Distances in standard deviations of a reference cohort, which the attacker also has."""

    def __init__(self, reference: Floats) -> None:
        spread = reference.std(axis=0)
        # a column that does not vary keeps its public unit: a record that differs in it is far away
        self._spread = np.where(spread > 1e-9, spread, 1.0)

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(rows / self._spread)


def nearest(asked: Floats, among: Floats, k: int = 1) -> tuple[Floats, np.ndarray]:
    """Return distance and position of the k nearest, nearest first: (n, k) each."""
    k = min(k, len(among))
    with single_thread():
        parts = [_nearest(asked[i : i + CHUNK], among, k) for i in range(0, len(asked), CHUNK)]
    distance, position = _joined([p[0] for p in parts], k), _joined([p[1] for p in parts], k)
    return distance, position.astype(np.int64)


def _joined(parts: Sequence[np.ndarray], k: int) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty((0, k))


def _nearest(asked: Floats, among: Floats, k: int) -> tuple[Floats, np.ndarray]:
    """Screen by expanded squares, then take exact distances: copies are at distance 0."""
    screen = (among**2).sum(axis=1) - 2 * asked @ among.T
    wide = min(len(among), k + 2)
    close = np.argpartition(screen, wide - 1, axis=1)[:, :wide]
    exact = np.sqrt(((asked[:, None] - among[close]) ** 2).sum(axis=2))
    order = np.lexsort((close, exact), axis=1)[:, :k]
    return np.take_along_axis(exact, order, 1), np.take_along_axis(close, order, 1)
