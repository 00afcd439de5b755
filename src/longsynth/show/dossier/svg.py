"""Elements, frames and figures. All text is escaped; coordinates keep one decimal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from longsynth.audit.description import nice_width
from longsynth.show.dossier.words import number

Number = float | None
Span = tuple[float, float]
Ticks = list[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, its heading and its message in words."""

    id: str
    title: str
    chart: Markup
    summary: str  # shown below, for readers who skip or cannot see the chart
    variable: int | None = None  # its number in the schema, if it is about one


@dataclass(frozen=True, slots=True)
class Series:
    """One cohort in a chart that shows several."""

    name: str
    class_: str  # its colour: synthetic, real or training


SYNTHETIC = Series("synthetic", "synthetic")
REAL = Series("real, held-out", "real")
TRAINING = Series("real, training", "training")


def el(name: str, *children: object, **attributes: object) -> Markup:
    """Return one element. `class_` and `stroke_width` become class and stroke-width."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{}{}>{}</{}>").format(Markup(name), written, inner, Markup(name))


def _attribute(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)


def label(
    text: str, x: float, y: float, class_: str, anchor: str = "middle", tip: str = ""
) -> Markup:
    inside = (text, el("title", tip)) if tip else (text,)
    return el("text", *inside, x=x, y=y, class_=class_, text_anchor=anchor)


def turned(text: str, x: float, y: float, angle: int, class_: str, anchor: str, dy: int) -> Markup:
    where = f"translate({x:.1f} {y:.1f}) rotate({angle})"
    return el("text", text, class_=class_, text_anchor=anchor, dy=dy or None, transform=where)


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def svg(id_: str, title: str, about: str, width: float, height: float, *parts: object) -> Markup:
    """A chart with a name and a description for screen readers."""
    return el(
        "svg",
        el("title", title, id=f"{id_}-t"),
        el("desc", about, id=f"{id_}-d"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{id_}-t {id_}-d",
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot area that maps numbers to places."""

    x: Span
    y: Span
    width: float = 280
    height: float = 176
    left: float = 36
    right: float = 10
    top: float = 10
    bottom: float = 34

    def px(self, x: float) -> float:
        low, high = self.x
        return self.left + (self.width - self.left - self.right) * (x - low) / (high - low)

    def py(self, y: float) -> float:
        low, high = self.y
        inside = min(max(y, low), high)
        return self.top + (self.height - self.top - self.bottom) * (
            1 - (inside - low) / (high - low)
        )

    def line(self, xs: Sequence[float], ys: Sequence[Number], class_: str) -> Markup:
        """A line that breaks at missing values; a single point becomes a dot."""
        pieces: list[list[tuple[float, float]]] = [[]]
        for x, y in zip(xs, ys, strict=True):
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append((self.px(x), self.py(y)))
        return Markup("").join(
            el("path", d=path(piece), class_=class_)
            if len(piece) > 1
            else el("circle", cx=piece[0][0], cy=piece[0][1], r=2.2, class_=f"{class_} dot")
            for piece in pieces
            if piece
        )

    def area(
        self, xs: Sequence[float], low: Sequence[Number], high: Sequence[Number], class_: str
    ) -> Markup:
        """A band between two lines that breaks where either is missing."""
        bands: list[list[tuple[float, float, float]]] = [[]]
        for x, a, b in zip(xs, low, high, strict=True):
            if a is None or b is None:
                bands.append([])
            else:
                bands[-1].append((self.px(x), self.py(a), self.py(b)))
        return Markup("").join(
            el(
                "path",
                d=path([(x, b) for x, _, b in band] + [(x, a) for x, a, _ in reversed(band)]) + "Z",
                class_=class_,
            )
            for band in bands
            if len(band) > 1
        )

    def axes(
        self,
        xticks: Iterable[tuple[float, str]],
        yticks: Iterable[tuple[float, str]],
        xlabel: str = "",
        ylabel: str = "",
    ) -> Markup:
        """Faint horizontal lines, ticks outside the plot area, and labels."""
        bottom, right = self.height - self.bottom, self.width - self.right
        parts: list[Markup] = []
        for y, text in yticks:
            at = self.py(y)
            parts.append(el("line", x1=self.left, x2=right, y1=at, y2=at, class_="grid"))
            parts.append(label(text, self.left - 6, at + 3.5, "tick", "end"))
        parts += [label(text, self.px(x), bottom + 14, "tick") for x, text in xticks]
        if xlabel:
            parts.append(label(xlabel, (self.left + right) / 2, self.height - 4, "label"))
        if ylabel:
            parts.append(turned(ylabel, 10, (self.top + bottom) / 2, -90, "label", "middle", 0))
        parts.append(el("line", x1=self.left, x2=right, y1=bottom, y2=bottom, class_="axis"))
        return Markup("").join(parts)

    def columns(self, xticks: Iterable[tuple[float, str]]) -> Markup:
        """Faint vertical lines with ticks below, for charts whose rows have names."""
        parts = []
        for x, text in xticks:
            parts.append(self.upright(x, self.top, "grid"))
            parts.append(label(text, self.px(x), self.height - 10, "tick"))
        return Markup("").join(parts)

    def upright(self, x: float, top: float, class_: str) -> Markup:
        at = self.px(x)
        return el("line", x1=at, x2=at, y1=top, y2=self.height - self.bottom, class_=class_)

    def dot(self, x: float, y: float, radius: float, class_: str, tip: str) -> Markup:
        """A dot that shows its numbers on hover."""
        circle = {"cx": self.px(x), "cy": self.py(y), "r": radius}
        return el("circle", el("title", tip), **circle, class_=class_)

    def hover(self, low: float, high: float, tip: str) -> Markup:
        """An invisible column that shows its numbers on hover."""
        left, right = self.px(low), self.px(high)
        size = {
            "width": max(right - left, 0.5),
            "height": self.height - self.top - self.bottom,
        }
        return el("rect", el("title", tip), x=left, y=self.top, **size, class_="hit")


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within a range."""
    step = nice_width((high - low) or 1.0, most)
    first = np.ceil(low / step - 1e-9) * step
    return [round(float(x), 12) + 0.0 for x in np.arange(first, high + step * 1e-6, step)]


def ticks_of(low: float, high: float, most: int = 5) -> Ticks:
    return [(tick, number(tick)) for tick in nice_ticks(low, high, most)]


def percent_ticks(high: float, most: int = 4) -> Ticks:
    return [(tick, f"{100 * tick:g}%") for tick in nice_ticks(0.0, high, most)]
