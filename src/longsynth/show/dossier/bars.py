"""Histograms, horizontal bars, scores with intervals, and correlations as coloured squares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from markupsafe import Markup

from longsynth.schema.variable import Variable
from longsynth.show.dossier.svg import (
    Figure,
    Frame,
    Number,
    Series,
    Span,
    el,
    label,
    percent_ticks,
    svg,
    ticks_of,
    turned,
)
from longsynth.show.dossier.words import level_names, number, percent, short, signed

BEYOND = 0.005  # the share on either side that a histogram may leave out
LETTERS = 20  # of a name beside a bar
TALLEST = 360.0  # of the bars of one figure, so that a printed page need not end early
LEVELS = 24  # of a scale without names, shown as bars
SMALLEST = 13.0  # side of a square: below it, names would overlap
MANY = 15  # names of the squares in one figure


def histogram(
    id_: str,
    title: str,
    about: str,
    edges: Sequence[float],
    shares: Mapping[Series, Sequence[float]],
    noise: Sequence[float] | None = None,
    unit: str = "",
    log: bool = False,
) -> Markup:
    """A histogram over the part of the scale that is in use. `noise` holds standard deviations of
    the synthetic shares; the band spans two of them on either side."""
    first, last = _bins_in_use(list(shares.values()))
    places = [float(np.log10(e)) if log else e for e in edges[first : last + 1]]
    widths = np.diff(places)
    usual = float(np.median(widths))
    # heights of uneven bins refer to the usual width, so that areas compare
    heights = {s: np.array(bins[first:last]) * usual / widths for s, bins in shares.items()}
    reach = 0.0 if noise is None else 2 * np.array(noise[first:last]) * usual / widths
    top = max(float((height + reach).max()) for height in heights.values())
    frame = Frame((places[0], places[-1]), (0.0, max(top * 1.05, 1e-6)))
    if log:
        xticks = [(float(np.log10(t)), number(t)) for t in _decades(edges[first], edges[last])]
    else:
        xticks = ticks_of(places[0], places[-1])
    parts = [frame.axes(xticks, percent_ticks(frame.y[1]), unit)]
    for series, height in heights.items():
        xs, ys = np.repeat(places, 2)[1:-1].tolist(), np.repeat(height, 2).tolist()
        if series.class_ == "synthetic":
            parts.append(frame.area(xs, [0.0] * len(xs), ys, f"fill {series.class_}"))
        parts.append(frame.line(xs, ys, f"line {series.class_}"))
        if noise is not None and series.class_ == "synthetic":
            low, high = np.maximum(height - reach, 0.0), height + reach
            band = np.repeat(low, 2).tolist(), np.repeat(high, 2).tolist()
            parts.append(frame.area(xs, *band, "noise"))
    for i in range(last - first):
        cohorts = "; ".join(f"{s.name} {percent(bins[first + i], 1)}" for s, bins in shares.items())
        spread = "" if noise is None else f" ± {200 * noise[first + i]:.1f}"
        span = f"{number(edges[first + i])}–{number(edges[first + i + 1])} {unit}".strip()
        parts.append(frame.hover(places[i], places[i + 1], f"{span}: {cohorts}{spread}"))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def distribution(
    id_: str,
    v: int,
    variable: Variable,
    edges: Sequence[float] | None,
    shares: Mapping[Series, Sequence[float]],
    noise: Sequence[float] | None,
    title: str,
    about: str,
    summary: str,
) -> tuple[Figure, ...]:
    """A variable's values: a histogram, or bars where levels have names or are few."""
    names = level_names(variable) if variable.kind != "continuous" else []
    if names and not variable.levels and len(names) > LEVELS:
        edges = np.arange(variable.bounds[0] - 0.5, variable.bounds[1] + 1).tolist()
    if edges is None:
        return bars(id_, title, about, summary, names, shares, noise, v=v)
    log = variable.transform == "log"
    chart = histogram(id_, title, about, edges, shares, noise, variable.unit, log)
    return (Figure(id_, title, chart, summary, v),)


def bars(
    id_: str,
    title: str,
    about: str,
    summary: str,
    names: Sequence[str],
    shares: Mapping[Series, Sequence[Number]],
    noise: Sequence[float] | None = None,
    least: int = 0,
    v: int | None = None,
) -> tuple[Figure, ...]:
    """Horizontal bars, so that names can be long; one bar per cohort. Long lists become several
    figures on one scale. `least` rows set how thick bars may become where there are few."""
    rows = len(names)
    pitch = min(max(15.0 * len(shares), 124.0 / max(rows, least, 1)), 34.0)
    most = max([x for row in shares.values() for x in row if x is not None] + [1e-6]) * 1.12
    count = -(-rows // int(TALLEST // pitch))
    figures = []
    for k, part in enumerate(np.array_split(np.arange(rows), count)):
        a, b = int(part[0]), int(part[-1]) + 1
        cut = {series: row[a:b] for series, row in shares.items()}
        spread = noise[a:b] if noise else None
        place = f"{id_}-{k + 1}" if k else id_
        head = f"{title}, {k + 1} of {count}" if count > 1 else title
        chart = _bars(place, head, about, names[a:b], cut, spread, pitch, most)
        figures.append(Figure(place, head, chart, "Continued." if k else summary, v))
    return tuple(figures)


def _bars(
    id_: str,
    title: str,
    about: str,
    names: Sequence[str],
    shares: Mapping[Series, Sequence[Number]],
    noise: Sequence[float] | None,
    pitch: float,
    most: float,
) -> Markup:
    count, height = len(shares), 20 + pitch * len(names) + 26
    left = 18 + 5.6 * min(max(map(len, names)), LETTERS)
    frame = Frame((0.0, most), (0.0, 1.0), height=height, left=left, bottom=24, top=8)
    parts = [frame.columns(percent_ticks(most, 3))]
    thick = min(pitch * 0.72 / count, 14.0)
    for row, name in enumerate(names):
        middle = 12 + pitch * (row + 0.5)
        parts.append(label(short(name, LETTERS), left - 8, middle + 3.5, "name", "end", tip=name))
        for place, (series, values) in enumerate(shares.items()):
            share, y = values[row], middle + thick * (place - count / 2)
            if share is None:
                continue
            tip = f"{name}: {series.name} {percent(share, 1)}"
            tip += f" ± {200 * noise[row]:.1f}" if noise else ""
            size = {"width": max(frame.px(share) - left, 0.8), "height": thick * 0.86}
            look = {"rx": 1.5, "class_": f"bar {series.class_}"}
            parts.append(el("rect", el("title", tip), x=left, y=y, **size, **look))
            if noise and series.class_ == "synthetic":
                low = frame.px(max(share - 2 * noise[row], 0.0))
                high = frame.px(min(share + 2 * noise[row], most))
                at = y + thick * 0.43
                ends = f"M{low:.1f} {at - 3:.1f}v6M{high:.1f} {at - 3:.1f}v6"
                parts.append(
                    el("path", d=f"M{low:.1f} {at:.1f}H{high:.1f}{ends}", class_="whisker")
                )
    parts.append(frame.upright(0.0, frame.top, "axis"))
    return svg(id_, title, about, frame.width, height, *parts)


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    class_: str
    value: float | None
    lower: float | None
    upper: float | None


def forest(
    id_: str, title: str, about: str, rows: Sequence[Row], nothing: float, span: Span
) -> Markup:
    """One score per row with its interval. `nothing`, the value of no effect, is a dotted line."""
    height = 18 + 24 * len(rows) + 26
    frame = Frame(span, (0, 1), width=366, height=height, left=172, bottom=26, top=8, right=14)
    parts = [frame.columns(ticks_of(*span, 4)), frame.upright(nothing, 4, "chance")]

    def inside(value: float) -> float:
        return frame.px(min(max(value, span[0]), span[1]))

    for place, row in enumerate(rows):
        y = 20 + 24.0 * place
        parts.append(label(short(row.name, 30), 164, y + 3.5, "name", "end"))
        if row.value is None:
            parts.append(label("not defined", frame.left + 6, y + 3.5, "tick", "start"))
            continue
        tip = f"{row.name}: {number(row.value)}"
        if row.lower is not None and row.upper is not None:
            tip += f" ({number(row.lower)} to {number(row.upper)})"
            ends = {"x1": inside(row.lower), "x2": inside(row.upper)}
            parts.append(el("line", **ends, y1=y, y2=y, class_=f"line {row.class_}"))
        dot = {"cx": inside(row.value), "cy": y, "r": 4.2, "class_": f"point {row.class_}"}
        parts.append(el("circle", el("title", tip), **dot))
    return svg(id_, title, about, frame.width, height, *parts)


def _bins_in_use(cohorts: Sequence[Sequence[float]]) -> tuple[int, int]:
    """The bins that hold nearly all of every cohort, and one more on each side."""
    first, last = len(cohorts[0]), 0
    for shares in cohorts:
        reached = np.cumsum(shares)
        if reached[-1] <= 0:
            continue
        first = min(first, int(np.searchsorted(reached, BEYOND)))
        last = max(last, int(np.searchsorted(reached, reached[-1] - BEYOND)) + 1)
    if first >= last:
        return 0, len(cohorts[0])
    return max(first - 1, 0), min(max(last + 1, first + 2), len(cohorts[0]))


def _decades(low: float, high: float) -> list[float]:
    ticks = [
        k * 10.0**power
        for power in range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        for k in ((1, 2, 5) if high / low < 1000 else (1,))
    ]
    return [tick for tick in ticks if low <= tick <= high]


def heatmap(
    id_: str,
    title: str,
    about: str,
    names: Sequence[str],
    pairs: Sequence[Number],
    noise: Sequence[float] | None = None,
) -> Markup:
    """The lower triangle; `pairs` lists the upper one by rows, as a description does. Of many
    columns, those in the strongest pairs are shown, and always the last: the outcome."""
    place = {pair: k for k, pair in enumerate(combinations(range(len(names)), 2))}
    reach = [0.0] * len(names)
    for pair, k in place.items():
        for column in pair:
            reach[column] = max(reach[column], abs(pairs[k] or 0.0))
    ranked = sorted(range(len(names) - 1), key=lambda c: -reach[c])
    kept = sorted([*ranked[: MANY - 1], len(names) - 1])
    names, count = [names[c] for c in kept], len(kept)
    left, top, size = 96.0, 6.0, min(max(186.0 / max(count - 1, 1), SMALLEST), 36.0)
    parts: list[Markup] = []
    for row in range(1, count):
        y = top + size * (row - 1)
        parts.append(label(short(names[row], 18), left - 6, y + size / 2 + 3.5, "name", "end"))
        for column in range(row):
            at = place[kept[column], kept[row]]
            x, value = left + size * column, pairs[at]
            tip = f"{names[column]} and {names[row]}: "
            if value is None:
                tip, colour, strength = f"{tip}too few patients", "unknown", 0.0
            else:
                tip += signed(value) + ("" if noise is None else f" ± {2 * noise[at]:.2f}")
                colour, strength = "plus" if value > 0 else "minus", min(abs(value), 1.0)
            look = {
                "class_": f"cell {colour}",
                "fill_opacity": None if value is None else f"{0.08 + 0.92 * strength:.2f}",
            }
            side = {"width": size - 1.5, "height": size - 1.5}
            parts.append(el("rect", el("title", tip), x=x, y=y, **side, **look))
            if size > 26 and value is not None:
                class_ = "inside strong" if strength > 0.55 else "inside"
                middle = x + size / 2 - 0.75, y + size / 2 + 3
                parts.append(label(signed(value, 1), *middle, class_))
    below = top + size * (count - 1)
    for column in range(count - 1):
        x = left + size * (column + 0.5) + 3
        parts.append(turned(short(names[column], 15), x, below + 6, -60, "name", "end", 0))
    width = max(290.0, left + size * (count - 1) + 8)
    return svg(id_, title, about, width, below + 78, *parts)


def strongest(names: Sequence[str], pairs: Sequence[Number], word: str = "Strongest") -> str:
    """The three strongest correlations in words."""
    known = [
        (abs(value), value, pair)
        for value, pair in zip(pairs, combinations(names, 2), strict=True)
        if value is not None
    ]
    best = sorted(known, key=lambda each: -each[0])[:3]
    text = "; ".join(f"{a} and {b} {signed(value)}" for _, value, (a, b) in best)
    if not text:
        return "Too few patients to compute a correlation."
    part = f" Shown: {MANY - 1} of {len(names) - 1} columns." if len(names) > MANY else ""
    return f"{word}: {text}.{part}"
