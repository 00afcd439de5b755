"""Passes: what is released when, and what is worked out of it."""

from pictures.canvas import PRIVATE, PUBLIC, Canvas

LINES = (
    ("pass 1", "event, strata, lengths,", "marginals", 84),
    ("pass 2", "lag blocks", "", 208),
    ("pass 3", "severity, effects", "", 332),
)


def drawn() -> str:
    c = Canvas(
        "Three passes of copula-score",
        "Pass 1 releases events, strata, lengths and marginals. Marginals become normal scores, "
        "with which pass 2 counts products by distance. A factor fit of these makes a severity "
        "score, with which pass 3 counts effects. Correlations and effects make a latent Gaussian, "
        "calibrated by simulation; its draws become masks, values and gaps.",
        height=462,
    )
    c.panel(14, 14, 376, 434, PRIVATE)
    c.panel(404, 14, 582, 434, PUBLIC)
    c.text(32, 42, "STAYS WITH THE PATIENTS' DATA", "side")
    c.text(422, 42, "FROM RELEASES ALONE", "side")
    for name, first, second, y in LINES:
        c.box(32, y, 146, name, "rows held to", "a public radius")
        c.box(216, y, 156, "curator", first, second, door=True)
        c.flow(f"M178,{y + 35} H214")
    c.box(428, 84, 160, "marginals", "normal scores,", "shares observed")
    c.box(428, 208, 160, "correlations", "shrunk toward", "a factor fit")
    c.box(428, 332, 160, "effects", "of event, site, group", "over time")
    for _, _, _, y in LINES:
        c.flow(f"M372,{y + 35} H426")
    c.flow("M508,154 V181 H105 V206")
    c.text(118, 197, "channels of the next pass", "note left")
    c.flow("M508,278 V305 H105 V330")
    c.text(118, 321, "severity score of the next pass", "note left")
    c.box(634, 208, 164, "latent Gaussian", "balanced draws", "along the score path")
    c.box(634, 84, 164, "simulation", "counted like patients,", "its bias taken off")
    c.box(834, 84, 134, "masks", "above a threshold")
    c.box(834, 217, 134, "values", "by rank")
    c.box(834, 350, 134, "gaps, lengths", "events with weights")
    c.flow("M588,243 H632")
    c.flow("M588,367 H611 V262 H632")
    c.flow("M716,208 V156")
    c.flow("M634,119 H590")
    c.flow("M798,243 H832")
    c.flow("M798,230 H815 V110 H832")
    c.flow("M798,256 H815 V376 H832")
    c.text(724, 186, "calibrates", "note left")
    return c.svg()
