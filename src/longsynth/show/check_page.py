"""The page of a check: its findings, and histograms against the public bounds. Internal."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from markupsafe import Markup

from longsynth.reading.quality import Quality
from longsynth.reading.quality.counts import edges
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.bars import bars
from longsynth.show.dossier.svg import Figure, Frame, Series, percent_ticks, svg
from longsynth.show.dossier.words import number, percent, spaced
from longsynth.show.templates import asset, render
from longsynth.system.folders import whole_file

COHORT = Series("this cohort", "real")


def write_check_page(path: Path, schema: Schema, quality: Quality, accepted: str | None) -> None:
    """Write one file that fetches nothing, readable for its owner only."""
    page = render(
        "check.html",
        title=schema.name,
        quality=quality,
        accepted=accepted,
        figures=[
            figure
            for i, v in enumerate(schema.variables)
            for figure in _figures(i, v, quality.histograms[v.name])
        ],
        style=Markup(asset("style.css").decode()),
    )
    with whole_file(path) as beside:
        beside.touch(mode=0o600)
        beside.write_bytes(page.encode())


def _figures(place: int, variable: Variable, counts: Sequence[int]) -> tuple[Figure, ...]:
    total = sum(counts) or 1
    shares = [count / total for count in counts]
    id_, title = f"v{place}", spaced(variable.name)
    if variable.levels is not None:
        names = [*variable.levels][: len(shares) - 2]
        about = f"{sum(counts):,} values with a known level."
        return bars(id_, title, about, about, names, {COHORT: shares[1:-1]}, v=place)
    low, high = variable.bounds
    about = (
        f"{percent(shares[0], 1)} below and {percent(shares[-1], 1)} above the public bounds, "
        f"{number(low)} to {number(high)} {variable.unit}".strip()
        + "."
    )
    return (Figure(id_, title, _histogram(id_, title, about, variable, shares), about, place),)


def _histogram(
    id_: str, title: str, about: str, variable: Variable, shares: Sequence[float]
) -> Markup:
    """The whole public range, its bounds as dotted lines, and one bin beyond each of them."""
    limits = edges(variable)
    places = [float(np.log10(e)) for e in limits] if variable.transform == "log" else limits
    wide = places[1] - places[0]
    places = [places[0] - wide, *places, places[-1] + wide]
    frame = Frame((places[0], places[-1]), (0.0, max(max(shares) * 1.05, 1e-6)))
    middle = len(limits) // 2
    ticks = [(places[i + 1], number(limits[i])) for i in (0, middle, len(limits) - 1)]
    xs, ys = np.repeat(places, 2)[1:-1].tolist(), np.repeat(shares, 2).tolist()
    spans = [
        "below the bounds",
        *(f"{number(a)}–{number(b)}" for a, b in pairwise(limits)),
        "above the bounds",
    ]
    parts = [
        frame.axes(ticks, percent_ticks(frame.y[1]), variable.unit),
        frame.area(xs, [0.0] * len(xs), ys, "fill real"),
        frame.line(xs, ys, "line real"),
        frame.upright(places[1], frame.top, "chance"),
        frame.upright(places[-2], frame.top, "chance"),
        *(
            frame.hover(places[i], places[i + 1], f"{span}: {percent(shares[i], 1)}")
            for i, span in enumerate(spans)
        ),
    ]
    return svg(id_, title, about, frame.width, frame.height, *parts)
