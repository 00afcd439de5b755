"""The trade-off curve: what the best possible attacker finds at each rate of false alarms."""

from math import sqrt
from statistics import NormalDist

from markupsafe import Markup

from longsynth.show.dossier.charts.svg import Frame, el, path, svg

NORMAL = NormalDist()
FRAME = Frame((0, 1), (0, 1), width=350, height=330, left=42, bottom=42, top=12, right=14)


def found_at(mu: float, alarms: float) -> float:
    """The largest share of true alarms at this share of false ones, against Gaussian noise."""
    if not 0 < alarms < 1:
        return min(max(alarms, 0.0), 1.0)
    return NORMAL.cdf(NORMAL.inv_cdf(alarms) + mu)


def mu_of(rho: float) -> float:
    return sqrt(2 * rho)


def tradeoff(id_: str, title: str, about: str, mu: float) -> Markup:
    """The curve of the actual account, over the line of pure guessing."""
    frame = FRAME
    xs = sorted({k / 100 for k in range(101)} | {k / 2000 for k in range(41)})
    curve = [(frame.px(x), frame.py(found_at(mu, x))) for x in xs]
    ticks = [(k / 4, f"{25 * k}%") for k in range(5)]
    one = frame.px(0.01), frame.py(found_at(mu, 0.01))
    parts = [
        frame.axes(ticks, ticks, "false alarms: outsiders who are accused"),
        el(
            "path",
            d=path([*curve, (frame.px(1), frame.py(1)), (frame.px(0), frame.py(0))]) + "Z",
            class_="gain",
        ),
        el(
            "path",
            d=path([(frame.px(0), frame.py(0)), (frame.px(1), frame.py(1))]),
            class_="chance",
        ),
        el("path", d=path(curve), class_="line synthetic"),
        el(
            "g",
            el("line", x1=one[0], x2=one[0], y1=frame.py(0), y2=one[1], class_="guide"),
            el("circle", cx=one[0], cy=one[1], r=4.5, class_="marker"),
            id=f"{id_}-mark",
        ),
        el(
            "text",
            "pure guessing",
            class_="label",
            text_anchor="middle",
            dy=15,
            transform=f"translate({frame.px(0.6):.1f} {frame.py(0.6):.1f}) rotate(-43)",
        ),
    ]
    return svg(id_, title, about, frame.width, frame.height, *parts)
