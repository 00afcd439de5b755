"""Marginals: from the public prior to the distribution, as noise falls."""

import numpy as np
from numpy.typing import NDArray

from longsynth import simulate
from longsynth.methods.copula_score.cells import Marginal, marginal
from longsynth.methods.copula_score.reading import first_pass
from pictures.canvas import BLUE, FAINT, INK, NOTE, PUBLIC, RED, Axes, Canvas
from pictures.example import PATIENTS, Example, released

CRP, TOP = 3, 300  # mg/L, and the largest one drawn
BINS = np.linspace(0, TOP, 61)


def drawn(shown: Example) -> str:
    c = Canvas(
        "A marginal from noisy waves",
        "The distribution of CRP in the simulated population, and three marginals: the public "
        "prior, that of a release of 504 patients with epsilon 1, and with epsilon 12.",
        height=330,
    )
    seen = shown.population.values[:, :, CRP][shown.population.observed[:, :, CRP]]
    truth = np.histogram(seen, BINS)[0] / len(seen)
    few = simulate(PATIENTS, seed=101)
    prior = first_pass(shown.released).channels.marginals[CRP].cells
    found = [
        ("the public prior", marginal(prior, np.zeros(8), np.full(8, 1e6))),
        ("504 patients, ε = 1", first_pass(released(few, 1)).channels.marginals[CRP]),
        ("504 patients, ε = 12", first_pass(released(few, 12)).channels.marginals[CRP]),
    ]
    for column, (words, curve) in enumerate(found):
        left = 14 + 329 * column
        c.panel(left, 14, 314, 302, PUBLIC)
        axes = Axes((0, TOP), (0, 1.15 * truth.max()), (left + 20, 60, 274, 210))
        steps = [axes.at(0, 0)]
        for low, high, part in zip(BINS[:-1], BINS[1:], truth, strict=True):
            steps += [axes.at(low, part), axes.at(high, part)]
        c.line([*steps, axes.at(TOP, 0)], FAINT, 1, fill="#d6dde0")
        middles = (BINS[1:] + BINS[:-1]) / 2
        c.line(
            [axes.at(x, min(y, axes.y[1])) for x, y in zip(middles, _shares(curve), strict=True)],
            BLUE if column == 0 else RED,
            2.2,
        )
        c.line([axes.at(0, 0), axes.at(TOP, 0)], INK)
        for x in (0, 100, 200, 300):
            c.text(axes.at(x, 0)[0], 287, f"{x}", fill=NOTE)
        c.text(left + 157, 304, "CRP, mg/L")
        c.text(left + 157, 42, words, "name")
    return c.svg()


def _shares(found: Marginal) -> NDArray[np.float64]:
    """Of each bin; CRP lies between 0 and 500."""
    even = (np.arange(200_000) + 0.5) / 200_000
    values = (found.unit(even) + 1) / 2 * 500
    return np.asarray(np.histogram(values, BINS)[0] / len(even))
