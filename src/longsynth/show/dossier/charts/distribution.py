"""Distributions: filled steps with a band of noise for one cohort, outlines for the others."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from longsynth.show.dossier.charts.figure import Series
from longsynth.show.dossier.charts.svg import (
    Frame,
    Number,
    el,
    number,
    percent,
    percent_ticks,
    svg,
    ticks_of,
)

REST = 0.005  # of the readings on either side may lie beyond what is shown
LETTERS = 20  # of a name beside a bar


def steps(
    id_: str,
    title: str,
    about: str,
    edges: Sequence[float],
    shares: Mapping[Series, Sequence[float]],
    noise: Sequence[float] | None = None,
    unit: str = "",
    log: bool = False,
) -> Markup:
    """A histogram over the part of a scale where there is anything."""
    first, last = _shown(list(shares.values()))
    cut = [float(np.log10(e)) if log else e for e in edges[first : last + 1]]
    widths = np.diff(cut)
    usual = float(np.median(widths))
    heights = {  # of uneven bins per usual width, so that areas compare
        series: np.array(found[first:last]) * usual / widths for series, found in shares.items()
    }
    blur = None if noise is None else 2 * np.array(noise[first:last]) * usual / widths
    top = max(float((h + (0 if blur is None else blur)).max()) for h in heights.values())
    frame = Frame((cut[0], cut[-1]), (0.0, max(top * 1.05, 1e-6)))
    if log:
        xticks = [(float(np.log10(t)), number(t)) for t in _decades(edges[first], edges[last])]
    else:
        xticks = ticks_of(cut[0], cut[-1])
    parts = [frame.axes(xticks, percent_ticks(frame.y[1]), unit)]
    for series, found in heights.items():
        xs, ys = np.repeat(cut, 2)[1:-1].tolist(), np.repeat(found, 2).tolist()
        if series.class_ == "synthetic":
            parts.append(frame.area(xs, [0.0] * len(xs), ys, f"fill {series.class_}"))
        parts.append(frame.line(xs, ys, f"line {series.class_}"))
        if blur is not None and series.class_ == "synthetic":
            low, high = np.maximum(found - blur, 0.0), found + blur
            band = np.repeat(low, 2).tolist(), np.repeat(high, 2).tolist()
            parts.append(frame.area(xs, *band, "noise"))
    for i in range(last - first):
        says = "; ".join(f"{s.name} {percent(f[first + i], 1)}" for s, f in shares.items())
        extra = "" if noise is None else f" ± {100 * 2 * noise[first + i]:.1f}"
        span = f"{number(edges[first + i])}–{number(edges[first + i + 1])} {unit}".strip()
        parts.append(frame.hit(cut[i], cut[i + 1], f"{span}: {says}{extra}"))
    return svg(id_, title, about, frame.width, frame.height, *parts)


def bars(
    id_: str,
    title: str,
    about: str,
    names: Sequence[str],
    shares: Mapping[Series, Sequence[Number]],
    noise: Sequence[float] | None = None,
    top: float | None = None,
    least: int = 0,
) -> Markup:
    """Horizontal bars, so that names can be long; one bar a cohort."""
    count, rows = len(shares), len(names)
    pitch = min(max(15.0 * count, 124.0 / max(rows, least, 1)), 34.0)
    height = 20 + pitch * rows + 26
    known = [x for found in shares.values() for x in found if x is not None]
    most = top or max([*known, 1e-6]) * 1.12
    left = 18 + 5.6 * min(max(map(len, names)), LETTERS)
    frame = Frame((0.0, most), (0.0, 1.0), height=height, left=left, bottom=24, top=8)
    parts: list[Markup] = []
    for tick, text in percent_ticks(most, 3):
        at = frame.px(tick)
        parts.append(el("line", x1=at, x2=at, y1=8, y2=height - 24, class_="grid"))
        parts.append(el("text", text, x=at, y=height - 10, class_="tick", text_anchor="middle"))
    thick = min(pitch * 0.72 / count, 14.0)
    for row, name in enumerate(names):
        middle = 12 + pitch * (row + 0.5)
        parts.append(
            el(
                "text",
                short(name, LETTERS),
                el("title", name),
                x=frame.left - 8,
                y=middle + 3.5,
                class_="name",
                text_anchor="end",
            )
        )
        for place, (series, found) in enumerate(shares.items()):
            share, y = found[row], middle + thick * (place - count / 2)
            if share is None:
                continue
            reach = frame.px(share) - frame.left
            says = f"{name}: {series.name} {percent(share, 1)}"
            says += f" ± {200 * noise[row]:.1f}" if noise else ""
            parts.append(
                el(
                    "rect",
                    el("title", says),
                    x=frame.left,
                    y=y,
                    width=max(reach, 0.8),
                    height=thick * 0.86,
                    rx=1.5,
                    class_=f"bar {series.class_}",
                )
            )
            if noise and series.class_ == "synthetic":
                low, high = max(share - 2 * noise[row], 0.0), min(share + 2 * noise[row], most)
                y_bar = y + thick * 0.43
                parts.append(
                    el(
                        "path",
                        d=f"M{frame.px(low):.1f} {y_bar:.1f}H{frame.px(high):.1f}"
                        f"M{frame.px(low):.1f} {y_bar - 3:.1f}v6M{frame.px(high):.1f} "
                        f"{y_bar - 3:.1f}v6",
                        class_="whisker",
                    )
                )
    parts.append(el("line", x1=frame.left, x2=frame.left, y1=8, y2=height - 24, class_="axis"))
    return svg(id_, title, about, frame.width, height, *parts)


def short(name: str, letters: int) -> str:
    """A name with its middle left out: what tells names apart is often their end."""
    return name if len(name) <= letters else f"{name[: letters - 5]}…{name[-4:]}"


def _shown(found: Sequence[Sequence[float]]) -> tuple[int, int]:
    """The bins that hold nearly all of every cohort, and one beside them on each side."""
    first, last = len(found[0]), 0
    for shares in found:
        reached = np.cumsum(shares)
        if reached[-1] <= 0:
            continue
        first = min(first, int(np.searchsorted(reached, REST)))
        last = max(last, int(np.searchsorted(reached, reached[-1] - REST)) + 1)
    if first >= last:
        return 0, len(found[0])
    return max(first - 1, 0), min(max(last + 1, first + 2), len(found[0]))


def _decades(low: float, high: float) -> list[float]:
    found = [
        k * 10.0**power
        for power in range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        for k in ((1, 2, 5) if high / low < 1000 else (1,))
    ]
    return [f for f in found if low <= f <= high]
