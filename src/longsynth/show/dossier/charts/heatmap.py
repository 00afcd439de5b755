"""Correlations as coloured squares."""

from collections.abc import Sequence
from itertools import combinations

from markupsafe import Markup

from longsynth.show.dossier.charts.svg import Number, el, label, short, signed, svg, turned

SMALLEST = 13.0  # side of a square: below it, names would overlap
MANY = 15  # names that still fit beside other charts


def heatmap(
    id_: str,
    title: str,
    about: str,
    names: Sequence[str],
    pairs: Sequence[Number],
    noise: Sequence[float] | None = None,
) -> Markup:
    """The lower triangle; `pairs` lists the upper one by rows, as a description does."""
    count = len(names)
    place = {pair: k for k, pair in enumerate(combinations(range(count), 2))}
    left, top, size = 96.0, 6.0, min(max(186.0 / max(count - 1, 1), SMALLEST), 36.0)
    parts: list[Markup] = []
    for row in range(1, count):
        y = top + size * (row - 1)
        parts.append(label(short(names[row], 18), left - 6, y + size / 2 + 3.5, "name", "end"))
        for column in range(row):
            at = place[column, row]
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
    return f"{word}: {text}." if text else "Too few patients to compute a correlation."
