"""Factor: one severity behind the values, one behind masks and gaps, as a first picture of all
correlations; and how far the released blocks may leave it, given their known noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longsynth.model.copula.lags import Lags

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLACK = 0.05  # what a factor may miss without being pulled
VALUE_SD, MARK_SD, REST_SD = 0.8, 0.2, 0.4  # priors of loadings, on the scale of atanh
OWN_SD = 0.6  # and of what a channel keeps of itself, beside others of its kind
MOST_TAU = 0.3  # largest deviation of a correlation from the factors', in one block type


@dataclass(frozen=True)
class Blocks:
    """Correlations of latent channels by distance."""

    loadings: Floats  # (m, 2): on severity, and on what else masks and gaps share
    fitted: Floats  # (T, m, m): of the factors alone
    correlations: Floats  # (T, m, m)


@dataclass(frozen=True)
class Frame:
    """What is public about the channels."""

    lags: Lags
    values: int  # V: the first channels; the rest belong to the second factor
    static: Bools  # (m,)


def shrunk_blocks(seen: Floats, noise: Floats, frame: Frame) -> Blocks:
    """Return correlations (T, m, m) from noisy ones by group, (groups, m, m) each."""
    from scipy.optimize import least_squares  # here, so that planning need not wait for it

    lags, m = frame.lags, frame.lags.channels
    known = np.zeros(seen.shape, bool)
    known[0] = np.eye(m, dtype=bool)
    known[:, np.diag_indices(m)[0], np.diag_indices(m)[1]] |= frame.static
    upper = np.triu(np.ones((m, m), bool)) & ~known
    weight = np.where(upper, 1 / np.sqrt(noise**2 + SLACK**2), 0.0)

    def misfit(parameters: Floats) -> Floats:
        pooled = np.tensordot(lags.membership, _expected(parameters, frame), 1)
        return np.concatenate([(weight * (seen - pooled))[upper], _prior(parameters, frame)])

    start = np.zeros(2 * m + 7)
    start[:m] = _first_loadings(seen, noise, frame)
    found = least_squares(misfit, start, method="trf", max_nfev=40)
    fitted = _expected(found.x, frame)
    pooled = np.tensordot(lags.membership, fitted, 1)
    kept = np.where(known, 0.0, _kept(seen - pooled, noise, upper, frame))
    correlations = np.clip(fitted + lags.spread(kept), -0.99, 0.99)
    correlations[0][np.diag_indices(m)] = 1.0
    still = np.flatnonzero(frame.static)
    correlations[:, still, still] = 1.0
    return Blocks(_loadings(found.x, frame), fitted, correlations)


def _loadings(parameters: Floats, frame: Frame) -> Floats:
    """Masks and gaps follow severity as far as their factor goes along with that of the values."""
    m = frame.lags.channels
    loading, across = np.tanh(parameters[:m]), np.tanh(parameters[2 * m + 6])
    value = np.arange(m) < frame.values
    return np.stack(
        [
            np.where(value, loading, across * loading),
            np.where(value, 0.0, np.sqrt(1 - across**2) * loading),
        ],
        axis=1,
    )


def _expected(parameters: Floats, frame: Frame) -> Floats:
    """(T, m, m): loading × loading × how long a factor lasts; along the diagonal, what a channel
    keeps of itself besides."""
    m, slots = frame.lags.channels, frame.lags.slots
    loading, own = np.tanh(parameters[:m]), 1 / (1 + np.exp(-parameters[m : 2 * m]))
    lasting, fading, decay = (
        _chance(parameters[2 * m : 2 * m + 2]),
        _chance(parameters[2 * m + 2 : 2 * m + 4]),
        _chance(parameters[2 * m + 4 : 2 * m + 6]),
    )
    across = np.tanh(parameters[2 * m + 6])
    second = (np.arange(m) >= frame.values).astype(int)
    lag = np.arange(slots)[:, None]
    last = np.where(frame.static, 1.0, (lasting + (1 - lasting) * fading**lag)[:, second])
    root = np.sqrt(last)
    time = root[:, :, None] * root[:, None, :]
    time = np.where(frame.static[:, None] | frame.static, 1.0, time)
    link = np.where(second[:, None] == second, 1.0, across)
    found = loading[:, None] * loading * link * time
    rest = own * decay[second] ** np.maximum(lag - 1, 0)
    diagonal = loading**2 * last + (1 - loading**2) * rest
    found[:, np.arange(m), np.arange(m)] = np.where(frame.static, 1.0, diagonal)
    found[0][np.diag_indices(m)] = 1.0
    return np.asarray(found)


def _chance(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _prior(parameters: Floats, frame: Frame) -> Floats:
    """Loadings of values are free; those of marks are alike, and so is what channels of one kind
    keep of themselves."""
    m, v = frame.lags.channels, frame.values
    loading, own, rest = parameters[:m], parameters[m : 2 * m], parameters[2 * m :]
    marks = loading[v : 2 * v]
    alike = np.concatenate([own[:v] - own[:v].mean(), own[v:] - own[v:].mean()])
    return np.concatenate(
        [
            loading[:v] / VALUE_SD,
            (marks - marks.mean()) / MARK_SD,
            [marks.mean() / VALUE_SD],
            loading[2 * v :] / REST_SD,
            alike / OWN_SD,
            own / 3,
            (rest - 1) / 1.5,
        ]
    )


def _first_loadings(seen: Floats, noise: Floats, frame: Frame) -> Floats:
    """Start from the leading direction of the shortest lags, so that signs are right."""
    start = np.zeros(seen.shape[1])
    short = seen[: min(2, len(seen))].mean(axis=0)
    for part in (np.arange(len(start)) < frame.values, np.arange(len(start)) >= frame.values):
        block = np.clip(short[np.ix_(part, part)], -0.9, 0.9)
        np.fill_diagonal(block, np.abs(block - np.diag(np.diag(block))).max(axis=1, initial=0.1))
        values, vectors = np.linalg.eigh(block)
        first = vectors[:, -1] * np.sqrt(max(values[-1], 0.01))
        start[part] = np.arctanh(np.clip(first, -0.8, 0.8))
    return start


def _kept(apart: Floats, noise: Floats, upper: Bools, frame: Frame) -> Floats:
    """What of the deviations stands out of the noise, by group and type of block."""
    kept = np.zeros_like(apart)
    m = frame.lags.channels
    second = np.arange(m) >= frame.values
    diagonal = np.eye(m, dtype=bool)
    types = [
        (second[:, None] == a) & (second == b) & ~diagonal
        | ((second[:, None] == b) & (second == a) & ~diagonal)
        for a, b in ((False, False), (False, True), (True, True))
    ] + [diagonal & ~second, diagonal & second]
    variance = noise**2
    for g in range(len(apart)):
        for of_type in types:
            asked = of_type & upper[g]
            if not asked.any():
                continue
            d, v = apart[g][asked], variance[g][asked]
            weight = 1 / (v + 0.02) ** 2
            tau = np.clip((weight * (d**2 - v)).sum() / weight.sum(), 0.0, MOST_TAU**2)
            kept[g] = np.where(of_type, tau / (tau + variance[g]) * apart[g], kept[g])
    return kept
