"""A few synthetic patients as they were generated. They are nobody's record."""

from dataclasses import dataclass

import numpy as np

from longsynth.audit.description import level_names
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.charts.lines import readings
from longsynth.show.dossier.charts.svg import Figure, Number, number, spaced

EACH = 3  # patients with the event, and without
MOST_VARIABLES = 12  # charts per patient


@dataclass(frozen=True, slots=True)
class ExamplePatient:
    name: str
    facts: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]


def example_patients(schema: Schema, patients: Synthetic) -> tuple[ExamplePatient, ...]:
    """The first few patients with the event and without, in the order of generation."""
    chosen = [
        int(i)
        for event in (1, 0)
        for i in np.flatnonzero((patients.event == event) & (patients.length > 1))[:EACH]
    ]
    return tuple(_example(schema, patients, place, i) for place, i in enumerate(chosen))


def _example(schema: Schema, patients: Synthetic, place: int, i: int) -> ExamplePatient:
    used = int(patients.length[i])
    gaps = np.where(np.arange(schema.slots) < used, patients.gaps[i], 0.0)
    hours = np.cumsum(gaps)[:used] - gaps[0]
    facts = [
        (label.meaning or what, schema.levels(what)[int(getattr(patients, what)[i])])
        for what, label in (("event", schema.event), ("group", schema.group), ("site", schema.site))
        if label is not None
    ]
    figures: list[Figure] = []
    for v, variable in enumerate(schema.variables):
        levels = [] if variable.kind == "continuous" else level_names(variable)
        first = variable.bounds[0] if levels else 0.0
        rows = zip(patients.values[i, :used, v], patients.observed[i, :used, v], strict=True)
        values = [float(x) - first if observed else None for x, observed in rows]
        if variable.static:
            facts.append((spaced(variable.name), _static(variable, levels, values[0])))
        elif len(figures) < MOST_VARIABLES:
            figures.append(_readings(variable, place, v, hours.tolist(), values, levels))
    return ExamplePatient(f"Patient {place + 1}", tuple(facts), tuple(figures))


def _static(variable: Variable, levels: list[str], value: Number) -> str:
    if value is None:
        return "not recorded"
    return levels[round(value)] if levels else f"{number(value)} {variable.unit}".strip()


def _readings(
    variable: Variable,
    place: int,
    v: int,
    hours: list[float],
    values: list[Number],
    levels: list[str],
) -> Figure:
    known = [x for x in values if x is not None]
    scale = (min(known), max(known)) if known else (0.0, 1.0)
    summary = f"Readings in {len(known)} of {len(values)} slots"
    if levels:
        scale = 0.0, float(len(levels) - 1)
    elif known:
        summary += f", from {number(scale[0])} to {number(scale[1])}\u00a0{variable.unit}".rstrip()
    summary += "."
    title, id_ = spaced(variable.name), f"example-{place}-{v}"
    name = f"{title} of synthetic patient {place + 1}"
    unit = f" ({variable.unit})" if variable.unit else ""
    chart = readings(id_, name, summary, hours, values, scale, levels, variable.unit)
    return Figure(id_, f"{title}{unit}", chart, summary, v)
