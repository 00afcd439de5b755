"""Does the noise look like noise? Tests on the released integers alone, without any patient.

Every test turns numbers into distances, in units of their noise. With honest noise the distances
are half-normal, as |x| is for a normal x. Where only small distances count against a release they
may also be larger, and where only large ones count, smaller. Noise consists of whole numbers, so
0.5 is added or subtracted on the safe side. `too_small` and `too_large` bound how probable such
distances are.

None of this proves noise. A random number generator with a known seed passes, and so does half the
noise on sums about which nothing is known.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isqrt, log10, sqrt
from typing import Literal

import numpy as np

from longsynth.bundle import Bundle
from longsynth.methods.fact import Fact
from longsynth.privacy.ledger import Released
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic, kept
from longsynth.system.arrays import Floats, Ints
from longsynth.system.errors import Code, ReleaseError

Outcome = Literal["like noise", "unusual", "impossible"]

UNUSUAL, IMPOSSIBLE = 1e-4, 1e-9  # share of honest releases that are called so, at most
FARTHEST = 8.0  # larger distances add no information


@dataclass(frozen=True, slots=True)
class Look:
    sentence: str  # what is wrong, if something is
    chance: float  # upper bound: honest noise gives this or something more extreme


@dataclass(frozen=True, slots=True)
class NoiseCheck:
    tests: tuple[Look, ...]

    @property
    def chance(self) -> float:
        """At most this share of honest releases has a test as extreme as the worst one here."""
        return least([t.chance for t in self.tests])

    @property
    def outcome(self) -> Outcome:
        if self.chance < IMPOSSIBLE:
            return "impossible"
        return "unusual" if self.chance < UNUSUAL else "like noise"

    @property
    def sentence(self) -> str:
        often = in_words(self.chance)
        match self.outcome:
            case "like noise":
                worst = f"honest noise looks at least this unusual in {often}"
                return (
                    f"the numbers look like noise of the stated size in {len(self.tests)} tests: "
                    f"{worst if self.chance < 1 else 'nothing is unusual'}."
                )
            case "unusual":
                return (
                    f"UNUSUAL noise, possibly by chance: honest noise looks like this in {often}. "
                    f"{self._worst(UNUSUAL)} Ask for a second release, or who drew the noise."
                )
            case "impossible":
                return (
                    "the numbers do NOT carry the noise that the ledger states: honest noise looks "
                    f"like this in {often}. {self._worst(IMPOSSIBLE)}"
                )

    def _worst(self, bound: float) -> str:
        bad = sorted((t for t in self.tests if len(self.tests) * t.chance < bound), key=_chance)
        more = f" {len(bad) - 3} more tests say so." if len(bad) > 3 else ""
        return " ".join(t.sentence for t in bad[:3]) + more


def _chance(look: Look) -> float:
    return look.chance


def in_words(chance: float) -> str:
    """A probability as a number of releases, rounded up."""
    if chance >= 0.01:
        return f"up to {ceil(100 * chance)} of 100 releases"
    if chance < 1e-30:
        return "fewer than 1 of 10³⁰ releases"
    exponent = floor(log10(1 / chance))
    if exponent >= 9:
        return f"fewer than 1 of 10{str(exponent).translate(_RAISED)} releases"
    step = 10 ** (exponent - 1)
    return f"up to 1 of {floor(1 / chance / step) * step:,} releases"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def check_noise(bundle: Bundle, facts: Iterable[Fact] = ()) -> NoiseCheck:
    """Test each line by itself, then what is known about the sums behind the numbers."""
    tests: list[Look] = []
    for released in bundle.released.values():
        tests += _line(released, bundle.patients)
    for fact in facts:
        tests += _fact(fact, bundle)
    return NoiseCheck(tuple(tests))


def _line(released: Released, patients: int) -> Iterator[Look]:
    """Tests of a line by itself, whatever its sums are."""
    statistic, sigma = released.entry.statistic, released.entry.sigma
    name, values = f"'{statistic.name}'", released.values.astype(np.float64)
    sums = possible_sums(statistic)
    some = sums.unit > 1  # any number is a multiple of 1
    residues, units = released.values[some] % sums.unit[some], sums.unit[some]
    yield Look(
        f"{name}: the sums are visible, with hardly any noise.",
        too_small(_from_multiple(residues, units, sigma, 0.5)),
    )
    yield Look(
        f"{name}: the numbers avoid the values that sums can have.",
        too_large(_from_multiple(residues, units, sigma, -0.5)),
    )
    for unit in np.unique(units):
        yield Look(
            f"{name}: many numbers carry the same noise.",
            _repeated(residues[units == unit], unit, sigma),
        )
    yield Look(
        f"{name}: the numbers are smaller than noise alone would be.",
        too_small((np.abs(values) + 0.5) / sigma),
    )
    chances = [
        too_small((np.abs(_apart(released.values, one, other)) + 0.5) / (sqrt(2) * sigma))
        for one, other in similar_numbers(statistic)
    ]
    yield Look(
        f"{name}: the numbers differ less from each other than noise alone would.",
        least(chances),
    )
    beyond = np.maximum(values - patients * sums.high, patients * sums.low - values)
    yield Look(
        f"{name}: numbers are further from every possible sum than noise explains.",
        too_large(np.maximum(beyond, 0.0) / sigma),
    )


def _apart(values: Ints, one: Ints, other: Ints) -> Floats:
    return (values[one] - values[other]).astype(np.float64)  # exact for all that noise can give


def _fact(fact: Fact, bundle: Bundle) -> Iterator[Look]:
    """The sums of a fact minus their public values are weighted noise and nothing else."""
    apart, variance, rounded, step = -float(bundle.patients * fact.value), 0.0, 0.0, np.inf
    for name, weights in fact.weights.items():
        if name not in bundle.released:
            raise ReleaseError(
                Code.METHOD_FAULTY,
                f"method '{bundle.method}' states a fact about a line '{name}', which it does not "
                "release.",
                "Ask its author to correct it.",
            )
        if not weights.nnz:
            return
        entry, values = bundle.released[name].entry, bundle.released[name].values.astype(float)
        scaled = weights.astype(np.float64) / entry.statistic.lift
        apart = apart + scaled @ values
        variance = variance + (scaled**2).sum(axis=1) * entry.sigma**2
        rounded = rounded + abs(scaled) @ np.abs(values) * 2.0**-52
        step = min(step, np.abs(scaled.data).min(where=scaled.data != 0, initial=np.inf))
    apart, off, noise = np.abs(apart), step / 2 + rounded, np.sqrt(variance)
    near, far = (apart + off) / noise, np.maximum(apart - off, 0.0) / noise
    yield Look(f"{fact.says}: the numbers fit this too well for noise.", too_small(near))
    yield Look(f"{fact.says}: the numbers fit this worse than noise explains.", too_large(far))


def least(chances: Sequence[float]) -> float:
    """An upper bound on the chance of so small a minimum (Bonferroni)."""
    return min(1.0, len(chances) * min(chances)) if chances else 1.0


def too_small(distances: Floats) -> float:
    """An upper bound on the chance that so many half-normal distances are so small."""
    from scipy.special import chdtr, erf

    together = float(chdtr(len(distances), float((distances**2).sum())))
    return _smallest(erf(distances / sqrt(2)), together)


def too_large(distances: Floats) -> float:
    """An upper bound on the chance that so many half-normal distances are so large."""
    from scipy.special import chdtrc, erfc

    together = float(chdtrc(len(distances), float((distances**2).sum())))
    return _smallest(erfc(distances / sqrt(2)), together)


def _smallest(chances: Floats, together: float) -> float:
    """The smallest chance of several tests, times their number: all distances together, and the 1,
    2, 4, 8, … smallest; the k-th smallest of n uniform numbers has a beta distribution."""
    from scipy.special import betainc

    n, ordered = len(chances), np.sort(chances)
    if not n:
        return 1.0
    k = np.unique(np.append(2 ** np.arange(n.bit_length()), n))
    return least([*betainc(k, n - k + 1, ordered[k - 1]).tolist(), together])


def _from_multiple(residues: Ints, units: Ints, sigma: float, rounding: float) -> Floats:
    """How far numbers are from multiples of their units, as half-normal distances. The residue of
    noise has a wrapped normal distribution; from σ = 1 unit on it is uniform to 1e-8."""
    from scipy.special import erfinv, ndtr

    unit = units.astype(np.float64)
    away = np.clip(np.minimum(residues, units - residues) + rounding, 0.0, unit / 2)
    chance = 2 * away / unit
    narrow = unit > sigma
    if narrow.any():
        x, circle = away[narrow] / sigma, unit[narrow] / sigma
        turns = range(-ceil(FARTHEST / circle.min()) - 1, ceil(FARTHEST / circle.min()) + 2)
        chance[narrow] = sum(ndtr(t * circle + x) - ndtr(t * circle - x) for t in turns)
    return np.asarray(np.minimum(sqrt(2) * erfinv(np.minimum(chance, 1.0)), FARTHEST))


def _repeated(residues: Ints, unit: int, sigma: float) -> float:
    """An upper bound on the chance of so many repeated residues: each repeats one of at most n - 1
    earlier ones, each with at most the probability of the most probable residue."""
    from scipy.special import bdtrc

    n, most = len(residues), 1 / unit + 1 / (sqrt(2 * np.pi) * sigma)
    repeats = n - len(np.unique(residues))
    return float(bdtrc(repeats - 1, n, min(1.0, (n - 1) * most))) if repeats else 1.0


@dataclass(frozen=True, slots=True)
class PossibleSums:
    """One entry for each number of a line, after the lift and without noise."""

    unit: Ints  # the sum is a multiple of it
    low: Ints  # the least that one patient adds
    high: Ints  # the most


def possible_sums(statistic: Statistic) -> PossibleSums:
    box, left, lift = statistic.box, isqrt(statistic.left_squared), statistic.lift
    match statistic.kind:
        case "count":
            parts = [(statistic.right, 1, 0, box)]
        case "cross":
            parts = [(statistic.dimension, 1, -left * box, left * box)]
        case "joint":
            count, by_cell = statistic.count_weight, statistic.sum_weight
            cells, sums = statistic.left, statistic.left * statistic.right
            parts = [(cells, count, 0, count), (sums, by_cell, -by_cell * box, by_cell * box)]
        case _:
            parts = []
    numbers = [part[0] for part in parts]
    unit, low, high = (
        np.repeat([p[i] for p in parts], numbers).astype(np.int64) for i in (1, 2, 3)
    )
    if statistic.kind in ("gram", "joint"):  # a product of two is at most half of R²
        row, column = kept(statistic)
        weight = np.where(row == column, DIAGONAL, OFF_DIAGONAL)
        most = np.where(row == column, box**2, min(box**2, statistic.right_squared // 2))
        unit = np.concatenate([unit, weight])
        low = np.concatenate([low, np.where(row == column, 0, -weight * most)])
        high = np.concatenate([high, weight * most])
    return PossibleSums(unit * lift, low * lift, high * lift)


FURTHEST = 64  # entries of a row: a slot seldom has more channels
ENOUGH = 100_000  # numbers of a line that are compared, so that time stays bounded


def similar_numbers(statistic: Statistic) -> Iterator[tuple[Ints, Ints]]:
    """For each distance, yield the places of pairs. No place is in two pairs of one distance."""
    products = statistic.kind in ("gram", "joint")
    row, column = kept(statistic) if products else np.zeros((2, 0), np.int64)
    before = statistic.dimension - len(row)  # numbers that are not products
    ends = np.array(statistic.band or [statistic.right] * statistic.right)
    starts = before + np.cumsum(ends - np.arange(statistic.right)) - ends  # + column: the place
    row, column = row[:ENOUGH], column[:ENOUGH]
    counts = statistic.left if statistic.kind == "joint" else 0  # which stand first
    single = np.arange(counts, before)[:ENOUGH]
    entry = (single - counts) % statistic.right
    for distance in range(1, min(FURTHEST, statistic.right - 1) + 1):
        chosen = (entry // distance % 2 == 0) & (entry + distance < statistic.right)
        paired = (row // distance % 2 == 0) & (column + distance < statistic.right)
        paired[paired] = (column + distance)[paired] < ends[(row + distance)[paired]]
        first, i, j = np.flatnonzero(paired) + before, row[paired], column[paired]
        yield (
            np.concatenate([single[chosen], first]),
            np.concatenate([single[chosen] + distance, starts[i + distance] + j + distance]),
        )
