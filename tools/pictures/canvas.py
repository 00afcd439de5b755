"""Canvas: the few shapes that pictures are made of, in the colours of the documentation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

INK, NOTE, FAINT, RED, BLUE = "#22303a", "#5b6770", "#c3cbd0", "#c8553d", "#3f7d8c"
PRIVATE, PUBLIC = "#f3ece9", "#eaf0f1"

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="title desc">
  <title id="title">{title}</title>
  <desc id="desc">{about}</desc>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#44525c"/></marker>
    <style>
      .box {{ fill: #fff; stroke: #44525c; stroke-width: 1.5; rx: 8; }}
      .door {{ fill: #c8553d; stroke: none; rx: 8; }}
      .name {{ font-size: 15px; font-weight: 600; fill: #22303a; text-anchor: middle; }}
      .note {{ font-size: 12px; fill: #5b6770; text-anchor: middle; }}
      .left {{ text-anchor: start; }}
      .right {{ text-anchor: end; }}
      .side {{ font-size: 14px; font-weight: 600; letter-spacing: .06em; fill: #5b6770; }}
      .flow {{ stroke: #44525c; stroke-width: 1.8; fill: none; marker-end: url(#tip); }}
    </style>
  </defs>
  <rect x="0" y="0" width="{width}" height="{height}" rx="12" fill="#fff"/>
"""


@dataclass
class Canvas:
    title: str
    about: str
    width: int = 1000
    height: int = 330
    parts: list[str] = field(default_factory=list)

    def panel(self, x: float, y: float, w: float, h: float, fill: str) -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="10" fill="{fill}"/>'
        )

    def text(self, x: float, y: float, words: str, style: str = "note", fill: str = "") -> None:
        colour = f' style="fill:{fill}"' if fill else ""
        self.parts.append(
            f'<text class="{style}" x="{x:.1f}" y="{y:.1f}"{colour}>{escape(words)}</text>'
        )

    def box(self, x: float, y: float, w: float, name: str, *notes: str, door: bool = False) -> None:
        """A box with its name and notes below each other."""
        style, fill = ("door", "#fff") if door else ("box", "")
        height = 34 + 18 * len(notes)
        self.parts.append(
            f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{w:g}" height="{height:g}"/>'
        )
        self.text(x + w / 2, y + 23, name, "name", fill)
        for line, note in enumerate(notes):
            self.text(x + w / 2, y + 43 + 18 * line, note, "note", fill)

    def flow(self, path: str) -> None:
        self.parts.append(f'<path class="flow" d="{path}"/>')

    def line(
        self,
        points: Iterable[Sequence[float]],
        colour: str = INK,
        width: float = 1.2,
        dash: str = "",
        fill: str = "none",
    ) -> None:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{way}" fill="{fill}" stroke="{colour}" stroke-width="{width:g}"'
            f' stroke-linejoin="round"{dashed}/>'
        )

    def dot(self, x: float, y: float, colour: str, radius: float = 3, opacity: float = 1) -> None:
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"'
            f' fill-opacity="{opacity:g}"/>'
        )

    def ring(self, x: float, y: float, radius: float = 4) -> None:
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="#fff" stroke="#8b979e"'
            ' stroke-width="1.5"/>'
        )

    def svg(self) -> str:
        head = HEAD.format(
            width=self.width, height=self.height, title=escape(self.title), about=escape(self.about)
        )
        return head + "".join(f"  {part}\n" for part in self.parts) + "</svg>\n"


@dataclass(frozen=True)
class Axes:
    """Where numbers lie on a canvas."""

    x: tuple[float, float]  # numbers at the left and the right
    y: tuple[float, float]  # at the bottom and the top
    place: tuple[float, float, float, float]  # left, top, width, height

    def at(self, x: float, y: float) -> tuple[float, float]:
        left, top, w, h = self.place
        return (
            left + w * (x - self.x[0]) / (self.x[1] - self.x[0]),
            top + h * (1 - (y - self.y[0]) / (self.y[1] - self.y[0])),
        )
