"""A few synthetic patients as they were drawn: nobody's record."""

from dataclasses import dataclass

import numpy as np

from longsynth.audit.description import level_names
from longsynth.sampling.synthetic import Synthetic
from longsynth.schema.schema import Schema
from longsynth.show.dossier.charts.figure import Figure
from longsynth.show.dossier.charts.lines import readings
from longsynth.show.dossier.charts.svg import number
from longsynth.show.dossier.public.released import plain

EACH = 3  # patients with the event, and without
MOST_VARIABLES = 12  # a page is no database


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    facts: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]


def examples(schema: Schema, drawn: Synthetic) -> tuple[Example, ...]:
    """The first few patients with the event and without, in the order of the draw."""
    chosen = [
        int(i)
        for event in (1, 0)
        for i in np.flatnonzero((drawn.event == event) & (drawn.length > 1))[:EACH]
    ]
    return tuple(_example(schema, drawn, place, i) for place, i in enumerate(chosen))


def _example(schema: Schema, drawn: Synthetic, place: int, i: int) -> Example:
    used = int(drawn.length[i])
    hours = np.cumsum(np.where(np.arange(schema.slots) < used, drawn.gaps[i], 0.0))[:used]
    hours = hours - hours[0]
    labels = [
        (label.meaning or what, schema.levels(what)[int(getattr(drawn, what)[i])])
        for what, label in (("event", schema.event), ("group", schema.group), ("site", schema.site))
        if label is not None
    ]
    once: list[tuple[str, str]] = []
    figures: list[Figure] = []
    for v, variable in enumerate(schema.variables):
        seen = drawn.observed[i, :used, v]
        values = [
            float(x) if ok else None for x, ok in zip(drawn.values[i, :used, v], seen, strict=True)
        ]
        levels = level_names(variable) if variable.kind != "continuous" else []
        first = variable.bounds[0] if levels else 0.0
        if variable.static:
            shown = "not recorded"
            if drawn.observed[i, 0, v]:
                at = float(drawn.values[i, 0, v])
                shown = levels[round(at - first)] if levels else f"{number(at)} {variable.unit}"
            once.append((plain(variable.name), shown.strip()))
        elif len(figures) < MOST_VARIABLES:
            placed = [None if x is None else x - first for x in values]
            figures.append(_readings(schema, place, v, hours, placed, levels))
    return Example(f"Patient {place + 1}", (*labels, *once), tuple(figures))


def _readings(
    schema: Schema,
    place: int,
    v: int,
    hours: np.ndarray,
    values: list[float | None],
    levels: list[str],
) -> Figure:
    variable, known = schema.variables[v], [x for x in values if x is not None]
    scale = (
        (0.0, float(len(levels) - 1)) if levels else (min(known), max(known)) if known else (0, 1)
    )
    summary = f"{len(known)} of {len(values)} slots with a reading"
    if known and not levels:
        summary += f", from {number(min(known))} to {number(max(known))} {variable.unit}".rstrip()
    title, id_ = plain(variable.name), f"example-{place}-{v}"
    unit = f" ({variable.unit})" if variable.unit else ""
    picture = readings(
        id_,
        f"{title} of synthetic patient {place + 1}",
        f"{summary}.",
        hours.tolist(),
        values,
        scale,
        float(hours[-1]),
        levels,
        variable.unit,
    )
    return Figure(id_, f"{title}{unit}", picture, f"{summary}.", v)
