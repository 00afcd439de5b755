"""Courses: what a schema's hints say of how a variable moves, and what the releases add to it.

A hint is public and strong, and a released correlation of few patients is mostly noise: it cannot
tell a body weight that moves by half a kilogram from one that moves by five. So a slow variable
has a prior for its steps, which the releases move as far as they stand out from their noise."""

import numpy as np

from longsynth.methods.copula_score.features import Lags
from longsynth.sampling.score import Draws
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats

# Body weight differs by about a kilogram from one day to the next, and by 16 between adults.
USUAL_STEP = 0.06  # from slot to slot, in standard deviations between patients
STEP_DOUBT = 1.5  # of the logarithm of its square: a factor of two in a step
MODEL_ERROR = 0.02  # of a correlation that the two parts below cannot explain
HINTS = ("static", "slow")
GRID = 41  # places in each direction


def has_hint(schema: Schema, channels: int, *courses: str) -> Bools:
    """(m,): the values of variables over time with one of these hints, by default either."""
    found = np.zeros(channels, bool)
    for v, variable in enumerate(schema.variables):
        found[v] = variable.course in (courses or HINTS) and not variable.static
    return found


def slow_memory(released: Floats, noise: Floats, lags: Lags) -> Floats:
    """(T,): the correlation of a slow variable with itself by distance, from noisy ones (groups,).

    A reading differs from the patient's course by a little (`apart`), and the course drifts
    (`drift`). Half of the usual step is expected of either."""
    usual = np.log(USUAL_STEP**2 / 4)
    away = np.linspace(-4.0, 4.0, GRID) * STEP_DOUBT
    apart, drift = (x.ravel() for x in np.meshgrid(usual + away, usual + away))
    expected = _memory(np.exp(apart), np.exp(drift), lags.slots) @ lags.membership.T
    misfit = (released - expected) ** 2 / (noise**2 + MODEL_ERROR**2)
    prior = ((apart - usual) ** 2 + (drift - usual) ** 2) / STEP_DOUBT**2
    fit = -(misfit[:, 1:].sum(axis=1) + prior) / 2  # a channel is always like itself
    weight = np.exp(fit - fit.max())
    apart_mean, drift_mean = (np.exp(weight @ x / weight.sum()) for x in (apart, drift))
    return np.asarray(_memory(np.array([apart_mean]), np.array([drift_mean]), lags.slots)[0])


def _memory(apart: Floats, drift: Floats, slots: int) -> Floats:
    """(·, T): one at no distance, and a covariance whatever the parts are."""
    lag = np.arange(slots)
    correlation = np.maximum(1 - apart, 0.0)[:, None] * np.exp(-drift[:, None] * lag)
    return np.where(lag == 0, 1.0, correlation)


def even_steps(unit: Floats, latent: Draws, usual: float) -> Floats:
    """Return courses (n, T) that move by at most so much per step of their latent numbers.

    Few patients are in the tails of a marginal, and noise makes these long: there a small latent
    step is a large one in units. No patient loses five kilograms a day for being heavy."""
    centre = unit.mean(axis=1, keepdims=True)
    moved, most = unit - centre, usual * latent.std(axis=1, keepdims=True)
    spread = np.maximum(moved.std(axis=1, keepdims=True), 1e-12)
    return np.asarray(centre + moved * np.minimum(1.0, most / spread))


def held(covariance: Floats, own: Floats) -> Floats:
    """Return a covariance (T·m, T·m) in which the first channels have exactly the covariances with
    themselves over time that are wanted of them, (·, T, T).

    Noise on the correlations with other channels makes the matrix of all of them impossible, and
    the nearest possible one takes the difference from what is most certain: the memory. Each
    of them is therefore mapped over time by the linear map that moves it least (optimal transport
    of Gaussians), and its covariances with other channels follow."""
    slots, side = own.shape[1], len(covariance)
    every = covariance.reshape(slots, side // slots, slots, side // slots)
    channel = np.arange(len(own))
    root = _root(every[:, channel, :, channel])
    back = np.linalg.inv(root)
    change = back @ _root(root @ own @ root) @ back  # (channels, T, T)

    def moved(matrix: Floats) -> Floats:
        by_channel = matrix.reshape(slots, -1, side).transpose(1, 0, 2).copy()
        by_channel[channel] = change @ by_channel[channel]
        return by_channel.transpose(1, 0, 2).reshape(side, side)

    return np.asarray(moved(moved(covariance).T).T)


def _root(matrices: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrices)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return np.asarray(scaled @ np.swapaxes(vectors, -1, -2))
