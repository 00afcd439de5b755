"""One patient: from latent numbers to what is observed."""

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.methods.copula_score.latent import Latent, Thresholds
from pictures.canvas import BLUE, FAINT, INK, NOTE, PUBLIC, RED, Axes, Canvas
from pictures.example import Example

HEART, SLOTS = 0, 14


def drawn(shown: Example) -> str:
    c = Canvas(
        "One generated patient",
        "Left: the latent numbers of heart rate and of its observation mark over fourteen slots, "
        "with the threshold of the mark. Right: heart rate in beats per minute where the mark "
        "lies above the threshold; the other slots are missing.",
        height=360,
    )
    model = shown.model
    shared, masks = model.shared, model.masks
    assert isinstance(shared, Latent)
    assert isinstance(masks, Thresholds)
    rng = Generator(SFC64(SeedSequence(3)))
    stratum = rng.choice(len(model.strata.draw), 600, p=model.strata.draw)
    made = shared(stratum, rng)
    length = model.lengths.draw(made, rng)
    values, seen = model.values.draw(made, rng), masks.draw(made, length, rng)
    missing = (~seen[:, :, HEART]).sum(axis=1)
    i = int(np.flatnonzero((missing == 4) & (model.schema.strata[stratum, 2] == 1))[0])
    latent, mark = made.latent[i, :, HEART], made.latent[i, :, len(masks.cuts) + HEART]

    c.panel(14, 14, 478, 332, PUBLIC)
    c.panel(508, 14, 478, 332, PUBLIC)
    c.text(32, 42, "LATENT NUMBERS", "side")
    c.text(526, 42, "WHAT IS OBSERVED", "side")
    axes = Axes((0, SLOTS - 1), (-2.8, 2.8), (60, 70, 410, 230))
    slots = range(SLOTS)
    c.line([axes.at(0, 0), axes.at(SLOTS - 1, 0)], FAINT)
    cut = float(masks.cuts[HEART])
    c.line([axes.at(0, cut), axes.at(SLOTS - 1, cut)], BLUE, 1.2, "4 3")
    c.line([axes.at(t, mark[t]) for t in slots], BLUE, 1.6)
    c.line([axes.at(t, latent[t]) for t in slots], RED, 2.2)
    for t in slots:
        c.dot(*axes.at(t, latent[t]), RED, 3.2)
        c.dot(*axes.at(t, mark[t]), BLUE, 2.6)
    c.text(60, 328, "heart rate", "note left", RED)
    c.text(140, 328, "its mark, and the threshold", "note left", BLUE)
    c.text(470, 328, "slot 1 to 14", "note right", NOTE)
    for y in (-2, 0, 2):
        c.text(50, axes.at(0, y)[1] + 4, f"{y}", "note right")

    rate = values[i, :, HEART]
    low, high = rate.min() - 9, rate.max() + 3
    right = Axes((0, SLOTS - 1), (low, high), (562, 70, 402, 230))
    for y in np.arange(np.ceil((low + 4) / 20) * 20, high, 20):
        c.line([right.at(0, y), right.at(SLOTS - 1, y)], FAINT, 0.8)
        c.text(552, right.at(0, y)[1] + 4, f"{y:g}", "note right")
    for t in slots:
        if seen[i, t, HEART]:
            c.dot(*right.at(t, rate[t]), INK, 4)
        else:
            c.ring(right.at(t, 0)[0], right.at(0, low)[1] - 4)
    c.text(562, 328, "heart rate, bpm", "note left", INK)
    c.text(700, 328, "○ missing", "note left", NOTE)
    c.text(964, 328, "slot 1 to 14", "note right", NOTE)
    return c.svg()
