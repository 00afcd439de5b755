"""Scores with their intervals on one line each, beside the value that says nothing was found."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from longsynth.show.dossier.charts.distribution import short
from longsynth.show.dossier.charts.svg import Frame, el, number, svg, ticks_of


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    class_: str
    value: float | None
    lower: float | None
    upper: float | None


def forest(
    id_: str, title: str, about: str, rows: Sequence[Row], nothing: float, span: tuple[float, float]
) -> Markup:
    """One row a score. `nothing` is drawn as a dotted line."""
    height = 18 + 24 * len(rows) + 26
    frame = Frame(span, (0, 1), width=350, height=height, left=156, bottom=26, top=8, right=14)
    parts: list[Markup] = []
    for tick, text in ticks_of(*span, 4):
        at = frame.px(tick)
        parts.append(el("line", x1=at, x2=at, y1=8, y2=height - 26, class_="grid"))
        parts.append(el("text", text, x=at, y=height - 10, class_="tick", text_anchor="middle"))
    at = frame.px(nothing)
    parts.append(el("line", x1=at, x2=at, y1=4, y2=height - 26, class_="chance"))
    for place, row in enumerate(rows):
        y = 20 + 24.0 * place
        parts.append(
            el("text", short(row.name, 26), x=148, y=y + 3.5, class_="name", text_anchor="end")
        )
        if row.value is None:
            parts.append(el("text", "not defined", x=frame.left + 6, y=y + 3.5, class_="tick"))
            continue
        says = f"{row.name}: {number(row.value)}"
        if row.lower is not None and row.upper is not None:
            says += f" ({number(row.lower)} to {number(row.upper)})"
            ends = [frame.px(min(max(e, span[0]), span[1])) for e in (row.lower, row.upper)]
            parts.append(
                el("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_=f"line {row.class_}")
            )
        middle = frame.px(min(max(row.value, span[0]), span[1]))
        parts.append(
            el("circle", el("title", says), cx=middle, cy=y, r=4.2, class_=f"point {row.class_}")
        )
    return svg(id_, title, about, frame.width, height, *parts)
