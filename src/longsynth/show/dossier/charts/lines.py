"""Lines: bands along a record, curves of a prediction, and one patient's readings."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from longsynth.show.dossier.charts.distribution import short
from longsynth.show.dossier.charts.figure import Series
from longsynth.show.dossier.charts.svg import (
    Frame,
    Number,
    el,
    number,
    percent,
    percent_ticks,
    signed,
    svg,
    ticks_of,
)

Band = tuple[Sequence[Number], Sequence[Number], Sequence[Number]]  # low, middle, high


def bands(
    id_: str,
    title: str,
    about: str,
    xs: Sequence[float],
    found: Mapping[str, Mapping[Series, Band]],
    xlabel: str,
    shares: bool = False,
) -> Markup:
    """One panel for each named part, on one scale; in it a middle line and a band a cohort."""
    known = [
        y
        for cohorts in found.values()
        for band in cohorts.values()
        for line in band
        for y in line
        if y is not None
    ]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low or abs(high) or 1.0) * 0.06
    span = (0.0, high + room) if shares else (low - room, high + room)
    ends = (xs[0], xs[-1] if len(xs) > 1 else xs[0] + 1)
    left, gap, whole, top = 36.0, 12.0, Frame(ends, span).width, 22.0 if len(found) > 1 else 10.0
    width = (whole - left - 10 - gap * (len(found) - 1)) / len(found)
    drawn: list[Markup] = []
    for place, (name, cohorts) in enumerate(found.items()):
        start = left + place * (width + gap)
        frame = Frame(ends, span, width=start + width + 10, left=start, top=top)
        yticks = percent_ticks(span[1]) if shares else ticks_of(*span, 4)
        blank = [(tick, "" if place else text) for tick, text in yticks]
        drawn.append(frame.axes(ticks_of(*ends, 3 if len(found) > 1 else 5), blank, xlabel))
        if len(found) > 1:
            drawn.append(el("text", short(name, 20), x=start, y=12, class_="name"))
        for series, band in cohorts.items():
            if series.class_ != "training":
                drawn.append(frame.area(xs, band[0], band[2], f"band {series.class_}"))
        for series, band in cohorts.items():
            drawn.append(frame.line(xs, band[1], f"line {series.class_}"))
    return svg(id_, title, about, whole, Frame(ends, span).height, *drawn)


def lags(
    id_: str,
    title: str,
    about: str,
    xs: Sequence[float],
    found: Mapping[Series, Sequence[Number]],
    xlabel: str,
) -> Markup:
    """Correlations by distance, with a dot each."""
    known = [y for ys in found.values() for y in ys if y is not None]
    frame = Frame(
        (xs[0] - 0.3, xs[-1] + 0.3), (min([0.0, *known]) - 0.03, max([0.2, *known]) + 0.05)
    )
    drawn = [frame.axes([(x, number(x)) for x in xs], ticks_of(*frame.y, 4), xlabel)]
    for series, ys in found.items():
        drawn.append(frame.line(xs, ys, f"line {series.class_}"))
        for x, y in zip(xs, ys, strict=True):
            if y is not None:
                tip = f"{series.name}, {number(x)} slots apart: {signed(y)}"
                drawn.append(frame.dot(x, y, 3.0, f"point {series.class_}", tip))
    return svg(id_, title, about, frame.width, frame.height, *drawn)


def curve(
    id_: str,
    title: str,
    about: str,
    found: Mapping[Series, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    floor: float | None = None,
    diagonal: bool = False,
    dots: Mapping[Series, Sequence[int]] | None = None,
) -> Markup:
    """Curves in the unit square. `floor` is a level line of no skill; `dots` are crowds."""
    frame = Frame((0, 1), (0, 1), height=270, left=44, bottom=38)
    ticks = [(k / 4, f"{25 * k}%") for k in range(5)]
    drawn = [frame.axes(ticks, ticks, labels[0])]
    middle = (frame.top + frame.height - frame.bottom) / 2
    drawn.append(
        el(
            "text",
            labels[1],
            class_="label",
            text_anchor="middle",
            transform=f"translate(10 {middle:.0f}) rotate(-90)",
        )
    )
    if diagonal:
        drawn.append(frame.line([0, 1], [0, 1], "chance"))
    if floor is not None:
        drawn.append(frame.line([0, 1], [floor, floor], "chance"))
    for series, (xs, ys) in found.items():
        if dots is None:
            drawn.append(frame.line(xs, list(ys), f"line {series.class_}"))
            continue
        crowd = dots[series]
        for x, y, n in zip(xs, ys, crowd, strict=True):
            radius = 2.5 + 9 * (n / max(sum(crowd), 1)) ** 0.5
            tip = f"{series.name}: {percent(x)} predicted, {percent(y)} observed, {n} patients"
            drawn.append(frame.dot(x, y, radius, f"crowd {series.class_}", tip))
    return svg(id_, title, about, frame.width, frame.height, *drawn)


def readings(
    id_: str,
    title: str,
    about: str,
    hours: Sequence[float],
    values: Sequence[Number],
    scale: tuple[float, float],
    end: float,
    levels: Sequence[str] = (),
    unit: str = "",
) -> Markup:
    """One patient's readings of one variable: dots joined by a thin line, gaps as they are."""
    low, high = scale
    room = (high - low or 1.0) * 0.08
    frame = Frame(
        (0.0, end or 1.0), (low - room, high + room), width=280, height=112, bottom=22, left=54
    )
    if levels:
        yticks = [(float(i), _cut(name)) for i, name in enumerate(levels) if len(levels) < 6]
    else:
        yticks = ticks_of(*frame.y, 3)
    drawn = [frame.axes([(x, f"{x:g} h") for x, _ in ticks_of(*frame.x, 4)], yticks)]
    known = [(h, y) for h, y in zip(hours, values, strict=True) if y is not None]
    drawn.append(
        frame.line([h for h, _ in known], [y for _, y in known], "thread") if known else Markup("")
    )
    for h, y in known:
        says = levels[round(y)] if levels and 0 <= round(y) < len(levels) else number(y)
        tip = f"after {h:.1f} h: {says} {unit}".strip()
        drawn.append(frame.dot(h, y, 3.1, "point synthetic", tip))
    return svg(id_, title, about, frame.width, frame.height, *drawn)


def _cut(name: str) -> str:
    return name if len(name) <= 7 else name[:6] + "…"
