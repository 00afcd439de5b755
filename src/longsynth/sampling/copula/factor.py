"""Factor: two factors as a first picture of all correlations, and how far the released blocks may
leave it, given their known noise."""

from dataclasses import dataclass

import numpy as np

from longsynth.sampling.copula.picture import Frame
from longsynth.system.arrays import Bools, Floats

SLACK = 0.05  # what a factor may miss without being pulled
MOST_TAU = 0.3  # largest deviation of a correlation from the factors', in one block type
EVALUATIONS = 40  # of the misfit, at most


@dataclass(frozen=True)
class Blocks:
    """Correlations of latent channels by distance."""

    parameters: Floats  # of the picture
    loadings: Floats  # (m, 2): on severity, and on what else masks and gaps share
    fitted: Floats  # (T, m, m): of the factors alone
    correlations: Floats  # (T, m, m)


def shrunk_blocks(
    seen: Floats,
    noise: Floats,
    frame: Frame,
    start: Floats | None = None,
    *,
    toward_factors: bool = True,
) -> Blocks:
    """Return correlations (T, m, m) from noisy ones by group, (groups, m, m) each; the search for
    the factors begins at `start`. Not toward the factors, they shrink toward none at all."""
    from scipy.optimize import least_squares  # here, so that planning need not wait for it

    lags, m = frame.lags, frame.lags.channels
    known = np.zeros(seen.shape, bool)
    known[0] = np.eye(m, dtype=bool)
    known[:, np.diag_indices(m)[0], np.diag_indices(m)[1]] |= frame.static
    upper = np.triu(np.ones((m, m), bool)) & ~known
    weight = 1 / np.sqrt(noise**2 + SLACK**2)[upper]

    def misfit(parameters: Floats) -> Floats:
        apart = (seen - frame.pooled(parameters))[upper]
        return np.concatenate([weight * apart, frame.prior(parameters)])

    def slope(parameters: Floats) -> Floats:
        return np.vstack(
            [-weight[:, None] * frame.derivative(parameters)[upper], frame.prior_slope]
        )

    first = _first_guess(seen, frame) if start is None else start
    found = least_squares(misfit, first, jac=slope, method="trf", max_nfev=EVALUATIONS)
    fitted = frame.expected(found.x)
    middle = fitted if toward_factors else np.zeros_like(fitted)
    apart = seen - np.tensordot(lags.membership, middle, 1)
    kept = np.where(known, 0.0, _kept(apart, noise, upper, frame))
    correlations = np.clip(middle + lags.spread(kept), -0.99, 0.99)
    correlations[0][np.diag_indices(m)] = 1.0
    still = np.flatnonzero(frame.static)
    correlations[:, still, still] = 1.0
    return Blocks(found.x, frame.loadings(found.x), fitted, correlations)


def _first_guess(seen: Floats, frame: Frame) -> Floats:
    """Start from the leading direction of the shortest lags, so that signs are right."""
    start = np.zeros(frame.size)
    short = seen[: min(2, len(seen))].mean(axis=0)
    for factor in (0, 1):
        part = np.flatnonzero(frame.second == factor)
        block = np.clip(short[np.ix_(part, part)], -0.9, 0.9)
        np.fill_diagonal(block, np.abs(block - np.diag(np.diag(block))).max(axis=1, initial=0.1))
        values, vectors = np.linalg.eigh(block)
        first = vectors[:, -1] * np.sqrt(max(values[-1], 0.01))
        start[part] = np.arctanh(np.clip(first, -0.8, 0.8))
    return start


def _kept(apart: Floats, noise: Floats, upper: Bools, frame: Frame) -> Floats:
    """What of the deviations stands out of the noise, by group and type of block."""
    kept = np.zeros_like(apart)
    second = frame.second == 1
    diagonal = np.eye(frame.lags.channels, dtype=bool)
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
