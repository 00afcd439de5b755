"""Shrinkage: correlations as a release gives them, after the factor fit, and calibrated."""

import numpy as np
from numpy.typing import NDArray

from longsynth.methods.copula_score.features import Lags
from longsynth.methods.copula_score.latent import Latent
from longsynth.methods.copula_score.reading import (
    correlations,
    first_pass,
    lags_of,
    released_products,
)
from longsynth.methods.copula_score.settings import Settings
from longsynth.sampling.model import Model
from pictures.canvas import FAINT, INK, NOTE, PUBLIC, RED, Axes, Canvas
from pictures.example import EPSILON, PATIENTS, Example

LEAST, MOST, VALUES = -0.6, 1.0, 6


def drawn(shown: Example) -> str:
    c = Canvas(
        "Correlations before and after shrinkage",
        "Each dot is a correlation of two variables at some distance: across, what it is in the "
        "simulated population; upwards, what the release says. As released, dots scatter widely; "
        "shrunk toward the factor fit they lie near a line; calibrated, near the diagonal.",
        height=402,
    )
    lags, few = lags_of(shown.released), first_pass(shown.released)
    raw = released_products(shown.released, few)
    fit = correlations(raw, shown.released, few, Settings())
    truth = _latent(shown.whole, lags)
    panels = (
        ("as released", raw.released / raw.gain, f"{PATIENTS} patients, ε = {EPSILON}"),
        ("shrunk", np.tensordot(lags.membership, fit.correlations, 1), "toward a factor fit"),
        ("calibrated", _latent(shown.model, lags), "bias of clipping taken off"),
    )
    for column, (words, found, note) in enumerate(panels):
        left = 14 + 329 * column
        c.panel(left, 14, 314, 374, PUBLIC)
        axes = Axes((LEAST, MOST), (LEAST, MOST), (left + 40, 78, 258, 252))
        for mark in (-0.5, 0, 0.5, 1):
            c.text(axes.at(mark, 0)[0], 348, f"{mark:g}", fill=NOTE)
            c.text(left + 34, axes.at(0, mark)[1] + 4, f"{mark:g}", "note right", NOTE)
            c.line([axes.at(LEAST, mark), axes.at(MOST, mark)], FAINT, 0.8)
        c.line([axes.at(LEAST, LEAST), axes.at(MOST, MOST)], INK, 1.2, "4 3")
        x, y = _chosen(truth), _chosen(found)
        for a, b in zip(x, np.clip(y, LEAST, MOST), strict=True):
            c.dot(*axes.at(a, b), RED, 2.6, 0.55)
        c.text(left + 157, 42, words, "name")
        c.text(left + 157, 60, f"{note} · mean error {np.abs(x - y).mean():.2f}")
        c.text(left + 170, 370, "in the simulated population")
    return c.svg()


def _latent(model: Model, lags: Lags) -> NDArray[np.float64]:
    """(groups, m, m): correlations of a model's latent numbers over all strata, by distance."""
    assert isinstance(model.shared, Latent)
    path, mass = model.shared.path, model.strata.mass
    apart = path.means - mass @ path.means
    whole = (path.spectrum.vectors * path.spectrum.values) @ path.spectrum.vectors.T
    whole = whole + (apart.T * mass) @ apart
    spread = np.sqrt(np.diag(whole))
    m, slots = lags.channels, lags.slots
    blocks = (whole / spread[:, None] / spread).reshape(slots, m, slots, m)
    by_distance = np.stack(
        [
            np.mean([blocks[t, :, t + lag] for t in range(slots - lag)], axis=0)
            for lag in range(slots)
        ]
    )
    both = (by_distance + by_distance.transpose(0, 2, 1)) / 2
    return np.asarray(np.tensordot(lags.membership, both, 1))


def _chosen(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with values: all pairs, but for a channel with itself in one slot."""
    return np.concatenate(
        [
            block[np.triu_indices(VALUES, 1 if group == 0 else 0)]
            for group, block in enumerate(blocks[:, :VALUES, :VALUES])
        ]
    )
