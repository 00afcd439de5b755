"""Correlations as squares, from one colour over none to another."""

from collections.abc import Sequence

from markupsafe import Markup

from longsynth.show.dossier.charts.distribution import short
from longsynth.show.dossier.charts.svg import Number, el, signed, svg

SMALLEST = 13.0  # side of a square: no smaller, so that names do not overlap


def heat(
    id_: str,
    title: str,
    about: str,
    names: Sequence[str],
    pairs: Sequence[Number],
    noise: Sequence[float] | None = None,
) -> Markup:
    """The lower triangle; `pairs` are the upper one by rows, as a portrait has them."""
    count = len(names)
    place = {
        (i, j): k
        for k, (i, j) in enumerate((i, j) for i in range(count) for j in range(i + 1, count))
    }
    left, top, size = 96.0, 6.0, min(max(186.0 / max(count - 1, 1), SMALLEST), 36.0)
    parts: list[Markup] = []
    for row in range(1, count):
        y = top + size * (row - 1)
        parts.append(
            el(
                "text",
                short(names[row], 18),
                x=left - 6,
                y=y + size / 2 + 3.5,
                class_="name",
                text_anchor="end",
            )
        )
        for column in range(row):
            value = pairs[place[column, row]]
            x = left + size * column
            says = f"{names[column]} and {names[row]}: " + (
                "too few to say" if value is None else signed(value)
            )
            if noise is not None and value is not None:
                says += f" ± {2 * noise[place[column, row]]:.2f}"
            strength = 0.0 if value is None else min(abs(value), 1.0)
            class_ = (
                "cell unknown" if value is None else ("cell plus" if value > 0 else "cell minus")
            )
            parts.append(
                el(
                    "rect",
                    el("title", says),
                    x=x,
                    y=y,
                    width=size - 1.5,
                    height=size - 1.5,
                    class_=class_,
                    fill_opacity=f"{0.08 + 0.92 * strength:.2f}" if value is not None else None,
                )
            )
            if size > 26 and value is not None:
                parts.append(
                    el(
                        "text",
                        signed(value, 1),
                        x=x + size / 2 - 0.75,
                        y=y + size / 2 + 3,
                        class_="inside strong" if strength > 0.55 else "inside",
                        text_anchor="middle",
                    )
                )
    below = top + size * (count - 1)
    for column in range(count - 1):
        x = left + size * (column + 0.5)
        parts.append(
            el(
                "text",
                short(names[column], 15),
                class_="name",
                text_anchor="end",
                transform=f"translate({x + 3:.1f} {below + 6:.1f}) rotate(-60)",
            )
        )
    return svg(id_, title, about, max(290.0, left + size * (count - 1) + 8), below + 78, *parts)
