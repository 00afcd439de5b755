"""Features: what the lines sum of a patient's channels: products pooled over time, in a few groups
of distances between slots, and means over time on smooth shapes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from longsynth.methods.copula_score.cells import Floats32
from longsynth.system.arrays import Floats, Ints

FIRST = (0, 1, 2, 4, 8)  # where each group starts; the last goes on to the end
SHAPES = 3
TOGETHER = 512  # patients whose products are added up at once


@dataclass(frozen=True)
class Lags:
    slots: int  # T
    channels: int  # m
    still: tuple[int, ...] = ()  # channels that are the same in every slot

    @cached_property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """First and last distance of each group."""
        starts = [lag for lag in FIRST if lag < self.slots]
        ends = [lag - 1 for lag in starts[1:]] + [self.slots - 1]
        return tuple(zip(starts, ends, strict=True))

    @cached_property
    def membership(self) -> Floats:
        """(groups, T): the part of a group's pairs of slots at each distance."""
        pairs = self.slots - np.arange(self.slots)
        chosen = np.zeros((len(self.groups), self.slots))
        for g, (low, high) in enumerate(self.groups):
            chosen[g, low : high + 1] = pairs[low : high + 1]
        return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))

    @property
    def size(self) -> int:
        """Numbers in a row."""
        return len(self.groups) * self.channels * (self.channels + 1) // 2

    def rows(self, u: Floats32) -> Floats32:
        """(n, T, m) to (n, size): each group's mean product, symmetric, so the upper triangle with
        √2 off the diagonal, which keeps norms. A channel's own square is known and left out,
        and so is what does not change times itself: it would take the room of what is not known."""
        groups, m = len(self.groups), self.channels
        ahead = np.matmul(self._pairs.reshape(-1, self.slots), u)  # (n, T · groups, m)
        shifted = ahead.reshape(len(u), self.slots, groups * m)
        product = np.matmul(u.transpose(0, 2, 1), shifted)  # (n, m, groups · m), patient by patient
        place, kept = self._kept
        rows: Floats32 = np.take(product.reshape(len(u), -1), place, axis=1)
        rows *= kept
        return rows

    def clipped_blocks(self, u: Floats32, radius: float) -> Floats:
        """(n, T, m) to (groups, m, m): blocks of the mean row, each clipped to a radius first.

        For many patients and channels the rows would fill the memory. Their norms follow from
        products between slots, and their sum is one product of matrices."""
        blocks = np.zeros((len(self.groups) * self.channels, self.channels))
        by_group = self._pairs.transpose(1, 0, 2).astype(np.float64)
        for start in range(0, len(u), TOGETHER):
            some = u[start : start + TOGETHER].astype(np.float64)
            turned = np.matmul(by_group, np.matmul(some, some.transpose(0, 2, 1))[:, None])
            squares = np.einsum("ngst,ngts->n", turned, turned)
            own = (some**2).mean(axis=1)  # known, and left out
            norms = np.sqrt(np.maximum(squares - (own**2).sum(axis=1), 0.0))
            kept = some * np.minimum(1.0, radius / np.maximum(norms, 1e-12))[:, None, None]
            ahead = np.matmul(by_group, kept[:, None])  # (n, groups, T, m)
            blocks += ahead.transpose(1, 3, 0, 2).reshape(len(blocks), -1) @ some.reshape(
                -1, self.channels
            )
        mean = blocks.reshape(-1, self.channels, self.channels) / len(u)
        mean[0][np.diag_indices(self.channels)] = 0.0
        return mean

    def blocks(self, row: Floats) -> Floats:
        """(size,) to (groups, m, m)."""
        upper, weight = self._upper
        blocks = np.zeros((len(self.groups), self.channels, self.channels))
        blocks[:, upper[0], upper[1]] = row.reshape(len(self.groups), -1) / weight
        blocks[:, upper[1], upper[0]] = blocks[:, upper[0], upper[1]]
        return blocks

    def spread(self, groups: Floats) -> Floats:
        """(groups, m, m) to (T, m, m): in a straight line from one group's middle to the next."""
        middles = self.membership @ np.arange(self.slots)
        lag = np.arange(self.slots)
        place = np.clip(np.searchsorted(middles, lag, side="right") - 1, 0, len(middles) - 2)
        if len(middles) == 1:
            return groups[np.zeros(self.slots, np.int64)]
        part = np.clip((lag - middles[place]) / (middles[place + 1] - middles[place]), 0.0, 1.0)
        low, high = groups[place], groups[place + 1]
        return np.asarray(low + part[:, None, None] * (high - low))

    def noise(self, deviation: float) -> Floats:
        """(m, m): of each entry of a block, given that of a number in a row."""
        return deviation * np.where(np.eye(self.channels, dtype=bool), 1.0, np.sqrt(0.5))

    @cached_property
    def _pairs(self) -> Floats32:
        """(T, groups, T): each pair of slots of a group, in either order, by half its part."""
        distance = np.abs(np.arange(self.slots)[:, None] - np.arange(self.slots))
        chosen = [(low <= distance) & (distance <= high) for low, high in self.groups]
        pairs = np.array(chosen, np.float64) * np.where(distance == 0, 1.0, 0.5)
        pairs /= pairs.sum(axis=(1, 2), keepdims=True)
        return np.ascontiguousarray(pairs.transpose(1, 0, 2), np.float32)

    @cached_property
    def _kept(self) -> tuple[Ints, Floats32]:
        """(size,) each: where the numbers of a row stand in (m, groups · m), and their weights."""
        groups, ((one, other), weight) = np.arange(len(self.groups))[:, None], self._upper
        place = (one * len(self.groups) + groups) * self.channels + other
        kept = np.tile(weight.astype(np.float32), (len(self.groups), 1))
        own = one == other
        kept[0, own] = 0.0
        kept[:, own & np.isin(one, self.still)] = 0.0
        return place.ravel(), kept.ravel()

    @cached_property
    def _upper(self) -> tuple[tuple[Ints, Ints], Floats]:
        row, column = np.triu_indices(self.channels)
        return (row, column), np.where(row == column, 1.0, np.sqrt(2.0))


def time_shapes(slots: int) -> Floats:
    """(P, T): level, slope and bend, of mean square one."""
    x = np.linspace(0.0, 1.0, slots) if slots > 1 else np.array([0.5])
    shapes = np.stack([np.ones(slots), 2 * x - 1, 6 * x**2 - 6 * x + 1])[: min(SHAPES, slots)]
    return np.asarray(shapes / np.sqrt((shapes**2).mean(axis=1, keepdims=True)))


def shape_features(u: Floats32) -> Floats32:
    """(n, T, m) to (n, P, m): the mean product with each shape."""
    slots = u.shape[1]
    means = (time_shapes(slots) / slots).astype(np.float32)
    return np.asarray(np.matmul(means, u))  # one product per patient
