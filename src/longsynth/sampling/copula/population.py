"""Masses of strata from two releases: how many events, and who is where."""

import numpy as np
from numpy.typing import NDArray

from longsynth.sampling.strata import Strata
from longsynth.system.arrays import Floats, Ints

USUAL_RATE, RATE_SD = 0.15, 1.2  # prior of an event's rate: one in seven, give or take a factor 3
LOGITS = np.linspace(-7.0, 7.0, 1401)
RATES = 1 / (1 + np.exp(-LOGITS))


def event_share(seen: float, noise: float) -> float:
    """Return the posterior mean of the events' share, seen with noise of this deviation."""
    usual = np.log(USUAL_RATE / (1 - USUAL_RATE))
    prior = -(((LOGITS - usual) / RATE_SD) ** 2) / 2
    fit = prior - ((seen - RATES) / max(noise, 1e-6)) ** 2 / 2
    weight = np.exp(fit - fit.max())
    return float(weight @ RATES / weight.sum())


def masses(share: float, counts: Floats, noise: float, strata: Ints) -> Floats:
    """(S,): places by their counts; events as rare in each as everywhere, as far as the noise on
    the counts leaves it open (positive-part James-Stein)."""
    table = counts.reshape(-1, 2)  # (sites · groups, event)
    place = np.maximum(table.sum(axis=1), 0.2 * noise)
    place = place / place.sum()
    events = np.array([1 - share, share])
    expected = place[:, None] * events
    apart = table / max(table.sum(), 1e-9) - expected
    apart -= apart.mean(axis=0)
    apart -= apart.mean(axis=1, keepdims=True)
    spread, chance = (apart**2).sum(), (noise / max(table.sum(), 1e-9)) ** 2 * apart.size / 2
    keep = max(0.0, 1 - chance / spread) if spread > 0 else 0.0
    found = np.maximum(expected + keep * apart, 0.02 * expected)
    found *= events / found.sum(axis=0)
    return np.asarray(found.ravel())


def synthesis(
    mass: Floats, strata: Ints, protected: NDArray[np.bool_], floor: float, balance: float
) -> Strata:
    """Return where to draw patients: events at least a public part of them, and no protected
    stratum below its floor; weights restore the population."""
    event = strata[:, 2] == 1
    events = mass[event].sum()
    wanted = min(max(events, balance), 1.0)
    draw = mass.copy()
    if 0 < events < 1:
        draw = np.where(event, mass / events * wanted, mass / (1 - events) * (1 - wanted))
    draw = np.maximum(draw, np.where(protected, floor, 0.0))
    draw /= draw.sum()
    weight = np.divide(mass, draw, out=np.zeros_like(mass), where=draw > 0)
    return Strata(mass, draw, weight)
