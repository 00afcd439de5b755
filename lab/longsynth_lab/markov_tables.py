"""Noisy counts of bins and of transitions as distributions, shrunk toward each other as far as the
known noise explains their difference."""

import numpy as np

from longsynth.system.arrays import Floats, Ints

LEAST = 1e-12
RAREST = 1e-9  # share of a bin that nobody seems to be in
STUCK = 0.05  # of a pair of states that noise has wiped out, what is kept
UNLIKE = 0.3  # how far the part of readings may be from the part of patients, as a ratio


def on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest table of non-negative counts with this total."""
    falling = np.sort(counts, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    cut = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(counts - cut, 0.0))


def shrunk_toward(table: Floats, toward: Floats, noise: float) -> Floats:
    """Positive-part James-Stein: keep of the difference what noise does not explain."""
    apart = table - toward
    spread = float((apart**2).sum())
    keep = 1 - noise**2 * apart.size / spread if spread > 0 else 0.0
    return np.asarray(toward + max(keep, 0.0) * apart)


def gaussian_pairs(share: Floats, correlation: float) -> Floats:
    """(K, K): how often two neighbours fall into two bins, if normal scores of bins with these
    shares have this correlation."""
    score = _scores(share)
    width = max(1 - correlation**2, 1e-3)
    exponent = correlation * np.outer(score, score) / width
    exponent -= correlation**2 * (score[:, None] ** 2 + score**2) / (2 * width)
    return balanced(np.exp(exponent - exponent.max()), share)


def balanced(kernel: Floats, share: Floats, rounds: int = 50) -> Floats:
    """A symmetric kernel scaled until both its margins are `share`."""
    factor = np.ones(len(share))
    for _ in range(rounds):
        factor = np.sqrt(factor * share / np.maximum(kernel @ factor, LEAST))
    return np.asarray(kernel * np.outer(factor, factor))


def correlation_of(pairs: Floats, share: Floats, state: Ints, noise: float) -> tuple[float, float]:
    """The correlation of neighbours' normal scores whose Gaussian pairs are nearest to a table of
    pairs of states, and its standard error. The public range is 0 to .97."""
    total = max(float(pairs.sum()), 1.0)
    tried = np.linspace(0.0, 0.97, 49)
    expected = np.array([gathered(gaussian_pairs(share, r), state).ravel() for r in tried])
    best = int(((expected - pairs.ravel() / total) ** 2).sum(axis=1).argmin())
    low, high = max(best - 1, 0), min(best + 1, len(tried) - 1)
    slope = (expected[high] - expected[low]) / (tried[high] - tried[low])
    return float(tried[best]), noise / total / max(float(np.sqrt(slope @ slope)), LEAST)


def shrunken(told: Floats, doubt: Floats, known: Ints, spread: float) -> Floats:
    """Numbers with these variances, shrunk toward the mean of the known ones by a prior spread."""
    if not len(known):
        return told
    weight = 1 / (doubt[known] + spread**2)
    centre = float(weight @ told[known] / weight.sum())
    shrunk = told.copy()
    shrunk[known] = centre + spread**2 * weight * (told[known] - centre)
    return shrunk


def gathered(pairs: Floats, state: Ints) -> Floats:
    """Pairs of bins as pairs of states."""
    member = (state == np.arange(state.max() + 1)[:, None]).astype(np.float64)
    return np.asarray(member @ pairs @ member.T)


def tilted(share: Floats, mean: float) -> Floats:
    """The shares, tilted along the bins until normal scores have this mean."""
    score, strength = _scores(share), 0.0
    for _ in range(30):
        now = share * np.exp(strength * score)
        now /= now.sum()
        centre = float(now @ score)
        strength += (mean - centre) / max(float(now @ score**2) - centre**2, 0.05)
        strength = float(np.clip(strength, -3.0, 3.0))
    return np.asarray(now)


def _scores(share: Floats) -> Floats:
    """Normal scores of the middles of bins, mean 0."""
    middle = np.cumsum(share) - share / 2
    from scipy.special import ndtri  # here, so that planning need not wait for it

    score = ndtri(np.clip(middle, 1e-4, 1 - 1e-4))
    return np.asarray(score - share @ score)


def shares_of(counts: Floats) -> Floats:
    """Noisy counts (K,) as shares, none of them quite zero."""
    total = max(float(counts.sum()), 1.0)
    share = np.maximum(on_simplex(counts, total) / total, RAREST)
    return np.asarray(share / share.sum())


def pairs_of(table: Floats, share: Floats, state: Ints, correlation: float, noise: float) -> Floats:
    """(K, K) pairs of bins: those of a Gaussian chain, corrected as far as a noisy table of pairs
    of states differs from it by more than noise."""
    return pairs_of_event(table, gaussian_pairs(share, correlation), share, state, noise)


def moved(
    counts: Floats,
    share: Floats,
    expected: float,
    noise: float,
    few: float,
    effect: float,
    temper: float,
) -> Floats:
    """The shares of patients with one outcome: everybody's, tilted along the bins as far as noisy
    counts of about so many readings and a prior of spread `effect` make it likely; `few` is the
    variance that few patients' own means add, and of the effect a part `temper` is kept.

    Least squares: a bin that hardly anybody is in says little, whatever its noisy count.
    """
    score = _scores(share)
    lean = share * score
    strength = max(float(lean @ lean), LEAST)
    size = _size(counts, share, expected, noise)
    shift = float((counts / size - share) @ lean) / strength
    variance = noise**2 / (size**2 * strength) + few
    kept = temper * effect**2 / (effect**2 + variance)
    return tilted(share, kept * shift * float(share @ score**2))


def shrunk_shares(counts: Floats, share: Floats, expected: float, noise: float) -> Floats:
    """The same where bins have no order: everybody's shares, as far as noise explains the rest."""
    size = _size(counts, share, expected, noise)
    return shares_of(shrunk_toward(counts, size * share, noise))


def _size(counts: Floats, share: Floats, expected: float, noise: float) -> float:
    """How many readings the counts hold, believed the less the noisier they are."""
    strength = float(share @ share)
    doubt, trust = noise**2 / strength, (UNLIKE * expected) ** 2
    told = float(counts @ share) / strength
    if doubt + trust <= 0:
        return max(told, 1.0)
    return max((trust * told + doubt * expected) / (doubt + trust), 0.1 * expected, 1.0)


def rows_of(pairs: Floats) -> Floats:
    """Pairs as the distribution of the second, given the first."""
    return np.asarray(pairs / pairs.sum(axis=-1, keepdims=True))


def pairs_of_event(
    table: Floats, pairs: Floats, share: Floats, state: Ints, noise: float
) -> Floats:
    """Pairs of bins of those with one outcome: `pairs`, corrected by their own noisy table."""
    number, coarse = max(float(table.sum()), 1.0), gathered(pairs, state)
    mixed = on_simplex(shrunk_toward(table, number * coarse, noise), number) / number
    least = STUCK if noise else RAREST
    factor = np.maximum(mixed, least * coarse) / np.maximum(coarse, LEAST)
    return balanced(pairs * factor[np.ix_(state, state)], share)
