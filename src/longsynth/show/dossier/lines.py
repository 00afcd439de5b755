"""Lines: bands along a record, curves in the unit square, and one patient's readings."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from statistics import NormalDist

from markupsafe import Markup

from longsynth.show.dossier.svg import (
    Frame,
    Number,
    Series,
    Span,
    el,
    label,
    path,
    percent_ticks,
    svg,
    ticks_of,
    turned,
)
from longsynth.show.dossier.words import number, percent, short, signed

Band = tuple[Sequence[Number], Sequence[Number], Sequence[Number]]  # low, middle, high
NORMAL = NormalDist()
QUARTERS = [(k / 4, f"{25 * k}%") for k in range(5)]
TRADEOFF = Frame((0, 1), (0, 1), width=350, height=330, left=54, bottom=42, top=12, right=14)


def bands(
    id_: str,
    title: str,
    about: str,
    xs: Sequence[float],
    panels: Mapping[str, Mapping[Series, Band]],
    xlabel: str,
    shares: bool = False,
) -> Markup:
    """One panel per named part, on one scale; in each, a middle line and a band per cohort."""
    known = [
        y
        for cohorts in panels.values()
        for band in cohorts.values()
        for line in band
        for y in line
        if y is not None
    ]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low or abs(high) or 1.0) * 0.06
    span = (0.0, high + room) if shares else (low - room, high + room)
    ends = (xs[0], xs[-1] if len(xs) > 1 else xs[0] + 1)
    several, whole = len(panels) > 1, Frame(ends, span)
    left, gap, top = whole.left, 12.0, 22.0 if several else 10.0
    width = (whole.width - left - 10 - gap * (len(panels) - 1)) / len(panels)
    parts: list[Markup] = []
    for place, (name, cohorts) in enumerate(panels.items()):
        start = left + place * (width + gap)
        frame = Frame(ends, span, width=start + width + 10, left=start, top=top)
        yticks = percent_ticks(span[1]) if shares else ticks_of(*span, 4)
        blank = [(tick, "" if place else text) for tick, text in yticks]
        parts.append(frame.axes(ticks_of(*ends, 3 if several else 5), blank, xlabel))
        if several:
            parts.append(label(short(name, 20), start, 12, "name", "start"))
        for series, band in cohorts.items():
            if series.class_ != "training":
                parts.append(frame.area(xs, band[0], band[2], f"band {series.class_}"))
        for series, band in cohorts.items():
            parts.append(frame.line(xs, band[1], f"line {series.class_}"))
    return svg(id_, title, about, whole.width, whole.height, *parts)


def lags(
    id_: str,
    title: str,
    about: str,
    xs: Sequence[float],
    correlations: Mapping[Series, Sequence[Number]],
    xlabel: str,
) -> Markup:
    """Correlations by distance in slots."""
    known = [y for ys in correlations.values() for y in ys if y is not None]
    span = min([0.0, *known]) - 0.03, max([0.2, *known]) + 0.05
    frame = Frame((xs[0] - 0.3, xs[-1] + 0.3), span)
    parts = [frame.axes([(x, number(x)) for x in xs], ticks_of(*frame.y, 4), xlabel)]
    for series, ys in correlations.items():
        parts.append(frame.line(xs, ys, f"line {series.class_}"))
        for x, y in zip(xs, ys, strict=True):
            if y is not None:
                tip = f"{series.name}, {number(x)} slots apart: {signed(y)}"
                parts.append(frame.dot(x, y, 3.0, f"point {series.class_}", tip))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def curve(
    id_: str,
    title: str,
    about: str,
    curves: Mapping[Series, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    floor: float | None = None,
    diagonal: bool = False,
    dots: Mapping[Series, Sequence[int]] | None = None,
) -> Markup:
    """Curves in the unit square. `floor` marks the level of no skill; `dots` replace the line by
    one dot per number of patients."""
    frame = Frame((0, 1), (0, 1), height=270, left=44, bottom=38)
    parts = [frame.axes(QUARTERS, QUARTERS, *labels)]
    if diagonal:
        parts.append(frame.line([0, 1], [0, 1], "chance"))
    if floor is not None:
        parts.append(frame.line([0, 1], [floor, floor], "chance"))
    for series, (xs, ys) in curves.items():
        if dots is None:
            parts.append(frame.line(xs, list(ys), f"line {series.class_}"))
            continue
        patients = dots[series]
        for x, y, n in zip(xs, ys, patients, strict=True):
            radius = 2.5 + 9 * (n / max(sum(patients), 1)) ** 0.5
            tip = f"{series.name}: {percent(x)} predicted, {percent(y)} observed, {n} patients"
            parts.append(frame.dot(x, y, radius, f"crowd {series.class_}", tip))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def over_time(
    id_: str,
    title: str,
    about: str,
    at: Sequence[float],
    shares: Mapping[Series, Sequence[Number]],
    noise: Sequence[float] | None,
    unit: str,
) -> Markup:
    """Growing shares of patients by time. `noise` holds standard deviations of synthetic ones."""
    known = [y for ys in shares.values() for y in ys if y is not None]
    reach = [0.0] * len(at) if noise is None else [2 * x for x in noise]
    top = min(max([0.02, *known]) + max(reach), 1.0)
    frame = Frame((at[0], at[-1]), (0.0, top * 1.05))
    parts = [frame.axes(ticks_of(*frame.x), percent_ticks(frame.y[1]), unit)]
    for series, ys in shares.items():
        if noise is not None and series.class_ == "synthetic":
            pairs = list(zip(ys, reach, strict=True))
            low = [None if y is None else max(y - r, 0.0) for y, r in pairs]
            high = [None if y is None else min(y + r, 1.0) for y, r in pairs]
            parts.append(frame.area(at, low, high, "noise"))
        parts.append(frame.line(at, ys, f"line {series.class_}"))
    for i, (a, b) in enumerate(pairwise(at)):
        each = [(s.name, ys[i + 1]) for s, ys in shares.items()]
        tip = "; ".join(f"{name} {percent(y, 1)}" for name, y in each if y is not None)
        parts.append(frame.hover(a, b, f"by {number(b)} {unit}: {tip}"))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def mu_of(rho: float) -> float:
    return sqrt(2 * rho)


def detected_at(mu: float, alarms: float) -> float:
    """The largest rate of true alarms at this rate of false alarms, against Gaussian noise."""
    if not 0 < alarms < 1:
        return min(max(alarms, 0.0), 1.0)
    return NORMAL.cdf(NORMAL.inv_cdf(alarms) + mu)


def tradeoff(id_: str, title: str, about: str, mu: float) -> Markup:
    """The strongest attacker's true alarms by false alarms, above the line of guessing. The group
    `{id_}-mark` is what the slider of the page moves."""
    frame = TRADEOFF
    xs = sorted({k / 100 for k in range(101)} | {k / 2000 for k in range(41)})
    ys = [detected_at(mu, x) for x in xs]
    at, height = frame.px(0.01), frame.py(detected_at(mu, 0.01))
    corner = [(frame.px(x), frame.py(y)) for x, y in [*zip(xs, ys, strict=True), (1, 1), (0, 0)]]
    mark = (
        el("line", x1=at, x2=at, y1=frame.py(0), y2=height, class_="guide"),
        el("circle", cx=at, cy=height, r=4.5, class_="marker"),
    )
    parts = [
        frame.axes(QUARTERS, QUARTERS, "false alarms", "true alarms, at most"),
        el("path", d=f"{path(corner)}Z", class_="gain"),
        frame.line([0, 1], [0, 1], "chance"),
        frame.line(xs, ys, "line synthetic"),
        el("g", *mark, id=f"{id_}-mark"),
        turned("guessing", frame.px(0.6), frame.py(0.6), -43, "label", "middle", 15),
    ]
    return svg(id_, title, about, frame.width, frame.height, *parts)


def readings(
    id_: str,
    title: str,
    about: str,
    times: Sequence[float],
    time_unit: str,
    values: Sequence[Number],
    scale: Span,
    levels: Sequence[str] = (),
    unit: str = "",
) -> Markup:
    """One patient's readings of one variable: dots joined by a thin line."""
    low, high = scale
    room = (high - low or 1.0) * 0.08
    span = (low - room, high + room)
    frame = Frame((0.0, times[-1] or 1.0), span, height=112, bottom=22, left=54, right=22)
    known = [(t, y) for t, y in zip(times, values, strict=True) if y is not None]
    yticks = ticks_of(*frame.y, 3) if known else []
    if levels:
        marked = range(len(levels)) if len(levels) < 6 else (0, len(levels) - 1)
        yticks = [(float(i), _cut(levels[i])) for i in marked]
    xticks = ticks_of(*frame.x, 4)
    xticks[-1] = xticks[-1][0], f"{xticks[-1][1]} {time_unit}"
    parts = [frame.axes(xticks, yticks)]
    if known:
        parts.append(frame.line([t for t, _ in known], [y for _, y in known], "thread"))
    for t, y in known:
        value = levels[round(y)] if levels and 0 <= round(y) < len(levels) else number(y)
        tip = f"after {number(t)} {time_unit}: {value} {unit}".strip()
        parts.append(frame.dot(t, y, 3.1, "point synthetic", tip))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def _cut(name: str) -> str:
    return name if len(name) <= 7 else name[:6] + "…"
