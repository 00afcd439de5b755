"""Elements and frames. Whatever text comes in is escaped; numbers keep one decimal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from longsynth.audit.description import nice_width

Number = float | None
Span = tuple[float, float]


def el(name: str, *children: object, **attributes: object) -> Markup:
    """Return one element. `class_` and `stroke_width` become class and stroke-width."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _text(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{}{}>{}</{}>").format(Markup(name), written, inner, Markup(name))


def _text(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot area, and where numbers lie in it."""

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
        """A line that breaks where nothing is known; a lone point is a dot."""
        pieces: list[list[tuple[float, float]]] = [[]]
        for x, y in zip(xs, ys, strict=True):
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append((self.px(x), self.py(y)))
        drawn = [
            el("path", d=path(piece), class_=class_)
            if len(piece) > 1
            else el("circle", cx=piece[0][0], cy=piece[0][1], r=2.2, class_=f"{class_} dot")
            for piece in pieces
            if piece
        ]
        return Markup("").join(drawn)

    def area(
        self, xs: Sequence[float], low: Sequence[Number], high: Sequence[Number], class_: str
    ) -> Markup:
        """A band between two lines, broken where one of them is not known."""
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
    ) -> Markup:
        """Faint lines across, numbers outside, one word below."""
        bottom, right = self.height - self.bottom, self.width - self.right
        parts: list[Markup] = []
        for y, text in yticks:
            at = self.py(y)
            parts.append(el("line", x1=self.left, x2=right, y1=at, y2=at, class_="grid"))
            parts.append(
                el("text", text, x=self.left - 6, y=at + 3.5, class_="tick", text_anchor="end")
            )
        for x, text in xticks:
            parts.append(
                el("text", text, x=self.px(x), y=bottom + 14, class_="tick", text_anchor="middle")
            )
        if xlabel:
            middle = (self.left + right) / 2
            parts.append(
                el(
                    "text",
                    xlabel,
                    x=middle,
                    y=self.height - 4,
                    class_="label",
                    text_anchor="middle",
                )
            )
        parts.append(el("line", x1=self.left, x2=right, y1=bottom, y2=bottom, class_="axis"))
        return Markup("").join(parts)

    def dot(self, x: float, y: float, radius: float, class_: str, tip: str) -> Markup:
        """A dot that says its numbers when pointed at."""
        place = {"cx": self.px(x), "cy": self.py(y), "r": radius}
        return el("circle", el("title", tip), **place, class_=class_)

    def hit(self, low: float, high: float, tip: str) -> Markup:
        """A column that says its numbers when pointed at."""
        left, right = self.px(low), self.px(high)
        return el(
            "rect",
            el("title", tip),
            x=left,
            y=self.top,
            width=max(right - left, 0.5),
            height=self.height - self.top - self.bottom,
            class_="hit",
        )


def svg(id_: str, title: str, about: str, width: float, height: float, *parts: object) -> Markup:
    """A picture with a name and a description for those who do not see it."""
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


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within a range."""
    step = nice_width((high - low) or 1.0, most)
    first = np.ceil(low / step - 1e-9) * step
    return [round(float(x), 12) + 0.0 for x in np.arange(first, high + step * 1e-6, step)]


def number(value: float) -> str:
    """As few digits as tell it."""
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def signed(value: float, digits: int = 2) -> str:
    """With its sign, a real minus, and no minus before zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "+")


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"


def ticks_of(low: float, high: float, most: int = 5) -> list[tuple[float, str]]:
    return [(tick, number(tick)) for tick in nice_ticks(low, high, most)]


def percent_ticks(high: float, most: int = 4) -> list[tuple[float, str]]:
    return [(tick, f"{100 * tick:g}%") for tick in nice_ticks(0.0, high, most)]
