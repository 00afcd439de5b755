"""What the release says about the population: charts of synthetic patients, with noise bands, and a
few of them as they were generated. They are nobody's record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from longsynth.sampling.model import Synthetic
from longsynth.schema.columns import HOURS, time_unit
from longsynth.schema.outcomes import Group, Outcome
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.bars import bars, distribution, heatmap, histogram, strongest
from longsynth.show.dossier.facts import Population
from longsynth.show.dossier.lines import over_time, readings
from longsynth.show.dossier.svg import SYNTHETIC, Figure, Number, Series
from longsynth.show.dossier.words import (
    capital,
    gap_unit,
    level_names,
    levels_of,
    meaning_of,
    number,
    outcome_levels,
    outcome_name,
    percent,
    record_unit,
    spaced,
)


@dataclass(frozen=True, slots=True)
class PopulationFigures:
    outcomes: tuple[Figure, ...]
    variables: tuple[Figure, ...]
    missing: tuple[Figure, ...]
    gaps: Figure
    lengths: Figure | None  # None: every patient uses all slots
    strata: tuple[Figure, ...]
    correlations: Figure


def population_figures(schema: Schema, population: Population) -> PopulationFigures:
    charts = _Charts(population)
    return PopulationFigures(
        outcomes=tuple(f for o in schema.outcomes for f in charts.outcome(schema, o)),
        variables=tuple(
            figure
            for v, variable in enumerate(schema.variables)
            if variable.role == "measure"
            for figure in charts.variable(variable, v)
        ),
        missing=charts.missing(schema),
        gaps=charts.gaps(schema),
        lengths=charts.lengths(schema) if schema.length == "variable" else None,
        strata=(
            *(f for group in schema.groups for f in charts.group(schema, group)),
            *(charts.stratum(schema, "site") if len(schema.sites) > 1 else ()),
        ),
        correlations=charts.correlations(schema),
    )


class _Charts:
    """Each number of the description, beside its standard deviation in the same place."""

    def __init__(self, population: Population) -> None:
        self.description, self.noise = population.description, population.noise

    def at(self, *place: str | int) -> tuple[Any, list[float] | None]:
        values: Any = self.description
        noise: Any = self.noise
        for step in place:
            values, noise = values[step], None if noise is None else noise[step]
        return values, None if noise is None else known(noise)

    def variable(self, variable: Variable, v: int) -> tuple[Figure, ...]:
        numbers = self.description["variables"][v]
        values, noise = self.at("variables", v, "shares")
        title, id_ = spaced(variable.name), f"released-{v}"
        summary = in_words(variable, numbers) + _noise_in_words(noise)
        about = f"Distribution of {title} among synthetic patients. {summary}"
        shares, edges = {SYNTHETIC: known(values)}, numbers.get("edges")
        return distribution(id_, v, variable, edges, shares, noise, title, about, summary)

    def outcome(self, schema: Schema, outcome: Outcome) -> Iterator[Figure]:
        """Bars of levels, a histogram of numbers, or curves over time and how the time ended."""
        if outcome.kind == "time_to_event":
            yield from self.times(schema, outcome)
        place = outcome.status if outcome.kind == "time_to_event" else outcome.variable
        if place is None:
            yield from self.stratum(schema, "event")
        else:
            yield from self.variable(schema.variables[place], place)

    def times(self, schema: Schema, outcome: Outcome) -> Iterator[Figure]:
        place = time_places(schema)[outcome.name]
        spread = None if self.noise is None else self.noise["times"][place]["curves"]
        described = {SYNTHETIC: self.description["times"][place]}
        yield from time_figures(schema, outcome, described, spread, "released")

    def group(self, schema: Schema, group: Group) -> tuple[Figure, ...]:
        if group.variable is None:
            return self.stratum(schema, "group")
        return self.variable(schema.variables[group.variable], group.variable)

    def missing(self, schema: Schema) -> tuple[Figure, ...]:
        names = [spaced(v.name) for v in schema.variables]
        shares = [line["missing"]["all"] for line in self.description["variables"]]
        noise = None
        if self.noise is not None:
            noise = known([line["missing"]["all"] for line in self.noise["variables"]])
        ranked = sorted((s, n) for s, n in zip(shares, names, strict=True) if s is not None)
        (least, first), (most, last) = ranked[0], ranked[-1]
        summary = f"Missing least often: {first} ({percent(least)}); most often: {last} "
        summary += f"({percent(most)}).{_noise_in_words(noise)}"
        title = "Missing readings"
        about = f"Share of used slots without a reading, by variable. {summary}"
        return bars("missing", title, about, summary, names, {SYNTHETIC: shares}, noise)

    def gaps(self, schema: Schema) -> Figure:
        (values, noise), unit = self.at("gaps", "shares"), gap_unit(schema)
        edges = [hours / unit.hours for hours in self.description["gaps"]["edges"]]
        shares = known(values)
        low, high = map(number, _median_bin(edges, shares))
        summary = f"Median between {low} and {high} {unit.name}.{_noise_in_words(noise)}"
        title = f"{capital(unit.name)} between slots"
        chart = histogram("gaps", title, summary, edges, {SYNTHETIC: shares}, noise, unit.name)
        return Figure("gaps", title, chart, summary)

    def lengths(self, schema: Schema) -> Figure:
        values, noise = self.at("lengths", "shares", "all")
        edges, shares = self.description["lengths"]["edges"], known(values)
        low, high = _median_bin(edges, shares)
        median = (
            f"Median {low:g}" if high - low == 1 else f"Median between {low:g} and {high - 1:g}"
        )
        summary = f"{median} of {schema.slots} slots.{_noise_in_words(noise)}"
        title = "Slots used per patient"
        chart = histogram("lengths", title, summary, edges, {SYNTHETIC: shares}, noise, "slots")
        return Figure("lengths", title, chart, summary)

    def stratum(self, schema: Schema, what: str) -> tuple[Figure, ...]:
        levels, meaning = levels_of(schema, what), meaning_of(schema, what)
        values, noise = self.at("strata", what)
        shares, id_ = known(values), f"strata-{what}"
        named = {"event": "Primary outcome"}.get(what, capital(what))
        title = named if meaning == what else f"{named}: {meaning}"
        each = "; ".join(f"{n}: {percent(s, 1)}" for n, s in zip(levels, shares, strict=True))
        summary = f"{each}." if len(levels) < 7 else f"{len(levels)} levels."
        summary += _noise_in_words(noise)
        return bars(id_, title, summary, summary, levels, {SYNTHETIC: shares}, noise, least=4)

    def correlations(self, schema: Schema) -> Figure:
        names = correlated(schema, self.description)
        pairs, noise = self.at("correlations", "pairs")
        summary = strongest(names, pairs)
        if noise:
            summary += f" Noise per correlation: ±\u00a0{2 * max(noise):.2f} or less."
        title = "Between patients' means, and with outcomes"
        about = f"Correlations {title[0].lower()}{title[1:]}. {summary}"
        chart = heatmap("correlations", title, about, names, pairs, noise)
        return Figure("correlations", title, chart, summary)


def correlated(schema: Schema, description: dict[str, Any]) -> list[str]:
    """What the rows of correlations are about; the last one is the label `event`."""
    return [*map(spaced, description["correlations"]["names"]), meaning_of(schema, "event")]


def time_places(schema: Schema) -> dict[str, int]:
    """Where a description has each time to event."""
    timed = (o.name for o in schema.outcomes if o.kind == "time_to_event")
    return {name: place for place, name in enumerate(timed)}


def time_figures(
    schema: Schema,
    outcome: Outcome,
    described: Mapping[Series, dict[str, Any]],
    noise: list[list[float | None]] | None,
    prefix: str,
) -> Iterator[Figure]:
    """One figure for each way in which a time can end: who ended that way by then."""
    assert outcome.variable is not None  # for mypy: a time is a variable
    horizon, given = schema.variables[outcome.variable].bounds[1], HOURS[outcome.unit]
    unit, levels = time_unit(horizon * given), outcome_levels(schema, outcome)
    for cause, level in enumerate(levels[1:]):
        at = [x * given / unit.hours for x in known(next(iter(described.values()))["at"])]
        shares = {series: says["curves"][cause] for series, says in described.items()}
        spread = None if noise is None else known(noise[cause])
        half, ends = len(at) // 2, []
        for series, ys in shares.items():
            a, b = ("unknown" if ys[i] is None else percent(ys[i], 1) for i in (half, -1))
            ends.append(f"{series.name} {a} and {b}")
        times = f"{at[half]:.2g} and {at[-1]:.3g} {unit.name}"
        summary = f"Within {times}: {'; '.join(ends)}.{_noise_in_words(spread)}"
        title = f"{capital(outcome_name(schema, outcome))}: “{level}” by time"
        about = f"Share of patients with “{level}”, by time. {summary}"
        id_ = f"{prefix}-time-{outcome.variable}-{cause}"
        chart = over_time(id_, title, about, at, shares, spread, unit.name)
        yield Figure(id_, title, chart, summary, outcome.variable)


def known(values: list[float | None]) -> list[float]:
    return [x or 0.0 for x in values]


def in_words(variable: Variable, numbers: dict[str, Any]) -> str:
    """The median and the middle 90 %, or the most common levels."""
    if variable.kind in ("continuous", "ordinal"):
        low, middle, high = numbers["middle"]
        if middle is None:
            return "No readings."
        if variable.levels:
            last = len(variable.levels) - 1
            low, middle, high = (variable.levels[min(round(x), last)] for x in numbers["middle"])
        else:
            unit = f"\u00a0{variable.unit}" if variable.unit else ""
            low, middle, high = number(low), f"{number(middle)}{unit}", f"{number(high)}{unit}"
        return f"Median {middle}; 90 % of readings from {low} to {high}."
    levels = zip(level_names(variable), known(numbers["shares"]), strict=True)
    ranked = sorted(levels, key=lambda level: -level[1])
    return "Most common: " + ", ".join(f"{name} ({percent(s)})" for name, s in ranked[:3]) + "."


def _noise_in_words(noise: list[float] | None) -> str:
    return f" Noise: ±\u00a0{200 * max(noise):.1f} percentage points or less." if noise else ""


def _median_bin(edges: list[float], shares: list[float]) -> tuple[float, float]:
    reached = 0.0
    for low, high, share in zip(edges, edges[1:], shares, strict=False):
        reached += share
        if reached >= 0.5:
            return low, high
    return edges[0], edges[-1]


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
    unit = record_unit(schema)
    times = ((np.cumsum(gaps)[:used] - gaps[0]) / unit.hours).tolist()
    facts = [
        (meaning, level.removeprefix(f"{meaning}: "))
        for what in ("event", "group", "site")
        if getattr(schema, what) is not None
        for meaning in (meaning_of(schema, what),)
        for level in (levels_of(schema, what)[int(getattr(patients, what)[i])],)
    ]
    figures: list[Figure] = []
    for v, variable in enumerate(schema.variables):
        levels = [] if variable.kind == "continuous" else level_names(variable)
        first = variable.bounds[0] if levels else 0.0
        cells = zip(patients.values[i, :used, v], patients.observed[i, :used, v], strict=True)
        values = [float(x) - first if observed else None for x, observed in cells]
        if variable.static:
            facts.append((spaced(variable.name), _static(variable, levels, values[0])))
        elif len(figures) < MOST_VARIABLES:
            figures.append(_readings(variable, place, v, times, unit.name, values, levels))
    return ExamplePatient(f"Patient {place + 1}", tuple(facts), tuple(figures))


def _static(variable: Variable, levels: list[str], value: Number) -> str:
    if value is None:
        return "not recorded"
    return levels[round(value)] if levels else f"{number(value)} {variable.unit}".strip()


def _readings(
    variable: Variable,
    place: int,
    v: int,
    times: list[float],
    unit_of_time: str,
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
    chart = readings(id_, name, summary, times, unit_of_time, values, scale, levels, variable.unit)
    return Figure(id_, f"{title}{unit}", chart, summary, v)
