"""Summaries: a record as a few numbers that do not depend on its length, from which the label model
tells how likely each level of the event is."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from longsynth.encoding.record import one_hot
from longsynth.methods.copula_score.cells import Floats32
from longsynth.methods.copula_score.channels import Channels, channel_number
from longsynth.methods.copula_score.features import shape_features, time_shapes
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only

FAR = 4.0  # standard deviations: a summary is clipped there


class Summarised(NamedTuple):
    """Few summaries, of which a release can say something, with the latest readings first; and
    many, of which a simulation can."""

    latest: int  # how many of the few say where and how long a patient was, and the last readings
    few: Floats32  # (n, d)
    many: Floats32  # (n, D)

    def __repr__(self) -> str:
        return sizes_only(self)


@dataclass(frozen=True)
class Summaries:
    schema: Schema
    channels: Channels

    def of(self, u: Floats32, length: Ints, stratum: Ints) -> Summarised:
        """Summarise channels (n, T, m) of patients of these lengths and strata.

        Few: the last reading of each variable as a normal score, the place and the length; then the
        highest and the lowest reading, and how much of the record has one. Many: also the mean,
        whether there is any reading, each length by itself, and all channels on the time shapes.
        """
        n, slots = u.shape[:2]
        variables = len(self.schema.variables)
        moving, fixed = ~self.channels.static, self.channels.static
        observed = u[:, :, variables : 2 * variables] > 0
        last, high, low, total = _over_time(u[:, :, :variables], observed)
        number = observed.sum(axis=1)
        used = np.maximum(length, 1)[:, None]
        share = np.where(fixed, observed[:, 0], number / used).astype(np.float32)
        mean = total / np.maximum(number, 1)
        latest = [last, self._places[stratum]]
        if self.channels.length:
            latest.append((length[:, None] / slots).astype(np.float32))
        few = [*latest, high[:, moving], low[:, moving], share]
        many = [*few, mean[:, moving], (number > 0)[:, moving], shape_features(u).reshape(n, -1)]
        if self.channels.length:
            many.append(one_hot(length, slots + 1))
        return Summarised(
            sum(part.shape[1] for part in latest),
            np.concatenate(few, axis=1, dtype=np.float32),
            np.concatenate(many, axis=1, dtype=np.float32),
        )

    @staticmethod
    def few_number(schema: Schema) -> int:
        """How many the few are: d."""
        fixed = sum(schema.layout.static)
        sites, groups, _ = schema.label_sizes
        moving = len(schema.variables) - fixed
        return 4 * moving + 2 * fixed + sites - 1 + groups - 1 + (schema.length != "full")

    @classmethod
    def many_number(cls, schema: Schema) -> int:
        """How many the many are: D."""
        moving = len(schema.variables) - sum(schema.layout.static)
        shapes = len(time_shapes(schema.slots)) * channel_number(schema)
        lengths = schema.slots + 1 if schema.length != "full" else 0
        return cls.few_number(schema) + 2 * moving + shapes + lengths

    @cached_property
    def _places(self) -> Floats32:
        """(S, sites - 1 + groups - 1): all but the first of each."""
        sites, groups, _ = self.schema.label_sizes
        site, group, _ = self.schema.strata.T
        both = [one_hot(site, sites)[:, 1:], one_hot(group, groups)[:, 1:]]
        return np.concatenate(both, axis=1, dtype=np.float32)


def _over_time(
    readings: Floats32, observed: Bools
) -> tuple[Floats32, Floats32, Floats32, Floats32]:
    """(n, V) each: the last, the highest and the lowest of what was observed, and its sum; zero
    where nothing was."""
    last = np.zeros((len(readings), readings.shape[2]), np.float32)
    total, high, low = last.copy(), np.full_like(last, -np.inf), np.full_like(last, np.inf)
    for reading, seen in zip(readings.transpose(1, 0, 2), observed.transpose(1, 0, 2), strict=True):
        np.copyto(last, reading, where=seen)
        np.add(total, reading, out=total, where=seen)
        np.maximum(high, reading, out=high, where=seen)
        np.minimum(low, reading, out=low, where=seen)
    return (
        last,
        np.where(np.isfinite(high), high, 0).astype(np.float32),
        np.where(np.isfinite(low), low, 0).astype(np.float32),
        total,
    )


@dataclass(frozen=True)
class Scale:
    """Puts summaries on the scale of the patients it was made from, and clips what is far off."""

    middle: Floats32
    spread: Floats32

    @classmethod
    def of(cls, summaries: Floats32, weight: Floats) -> "Scale":
        share = weight / weight.sum()
        middle = share @ summaries
        spread = np.sqrt(np.maximum(share @ np.square(summaries) - middle**2, 0.0))
        spread = np.where(spread > 1e-3, spread, 1.0)
        return cls(middle.astype(np.float32), spread.astype(np.float32))

    def __call__(self, summaries: Floats32) -> Floats32:
        scaled = summaries - self.middle
        scaled /= self.spread
        return np.clip(scaled, -FAR, FAR, out=scaled)
