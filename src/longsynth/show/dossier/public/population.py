"""What the release says about the population: charts of synthetic patients, with noise bands."""

from dataclasses import dataclass
from typing import Any

from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.charts.bars import bars, histogram
from longsynth.show.dossier.charts.heatmap import MANY, heatmap, strongest
from longsynth.show.dossier.charts.svg import SYNTHETIC, Figure, number, percent, spaced
from longsynth.show.dossier.public.facts import Population


@dataclass(frozen=True, slots=True)
class PopulationFigures:
    variables: tuple[Figure, ...]
    missing: Figure
    gaps: Figure
    lengths: Figure | None  # None: every patient uses all slots
    strata: tuple[Figure, ...]
    correlations: Figure


def population_figures(schema: Schema, population: Population) -> PopulationFigures:
    charts = _Charts(population)
    return PopulationFigures(
        variables=tuple(
            charts.variable(variable, v) for v, variable in enumerate(schema.variables)
        ),
        missing=charts.missing(schema),
        gaps=charts.gaps(),
        lengths=charts.lengths(schema) if schema.length == "variable" else None,
        strata=tuple(
            charts.stratum(schema, what)
            for what in ("event", "group", "site")
            if len(schema.levels(what)) > 1
        ),
        correlations=charts.correlations(),
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

    def variable(self, variable: Variable, v: int) -> Figure:
        numbers = self.description["variables"][v]
        values, noise = self.at("variables", v, "shares")
        title, id_ = spaced(variable.name), f"released-{v}"
        summary = in_words(variable, numbers) + _noise_in_words(noise)
        about = f"Distribution of {title} among synthetic patients. {summary}"
        shares = {SYNTHETIC: known(values)}
        if variable.kind == "continuous":
            scale, log = numbers["edges"], variable.transform == "log"
            chart = histogram(id_, title, about, scale, shares, noise, variable.unit, log)
        else:
            chart = bars(id_, title, about, numbers["levels"], shares, noise)
        return Figure(id_, title, chart, summary, v)

    def missing(self, schema: Schema) -> Figure:
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
        chart = bars("missing", title, about, names, {SYNTHETIC: shares}, noise)
        return Figure("missing", title, chart, summary)

    def gaps(self) -> Figure:
        values, noise = self.at("gaps", "shares")
        edges, shares = self.description["gaps"]["edges"], known(values)
        low, high = map(number, _median_bin(edges, shares))
        summary = f"Median between {low} and {high} h.{_noise_in_words(noise)}"
        title = "Hours between slots"
        chart = histogram("gaps", title, summary, edges, {SYNTHETIC: shares}, noise, "hours")
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

    def stratum(self, schema: Schema, what: str) -> Figure:
        levels, meaning = schema.levels(what), getattr(schema, what).meaning
        values, noise = self.at("strata", what)
        shares, id_ = known(values), f"strata-{what}"
        title = f"{what.capitalize()}: {meaning}" if meaning else what.capitalize()
        each = "; ".join(f"{n}: {percent(s, 1)}" for n, s in zip(levels, shares, strict=True))
        summary = f"{each}." if len(levels) < 7 else f"{len(levels)} levels."
        summary += _noise_in_words(noise)
        chart = bars(id_, title, summary, levels, {SYNTHETIC: shares}, noise, least=4)
        return Figure(id_, title, chart, summary)

    def correlations(self) -> Figure:
        names = [*map(spaced, self.description["correlations"]["names"]), "event"]
        pairs, noise = self.at("correlations", "pairs")
        summary = strongest(names, pairs)
        if noise:
            summary += f" Noise per correlation: ±\u00a0{2 * max(noise):.2f} or less."
        title = "Between patients' means, and with the event"
        about = f"Correlations {title[0].lower()}{title[1:]}. {summary}"
        chart = heatmap("correlations", title, about, names, pairs, noise)
        return Figure("correlations", title, chart, summary, wide=len(names) > MANY)


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
    ranked = sorted(zip(numbers["levels"], known(numbers["shares"]), strict=True), key=_by_share)
    return "Most common: " + ", ".join(f"{name} ({percent(s)})" for name, s in ranked[:3]) + "."


def _by_share(level: tuple[str, float]) -> float:
    return -level[1]


def _noise_in_words(noise: list[float] | None) -> str:
    return f" Noise: ±\u00a0{200 * max(noise):.1f} percentage points or less." if noise else ""


def _median_bin(edges: list[float], shares: list[float]) -> tuple[float, float]:
    reached = 0.0
    for low, high, share in zip(edges, edges[1:], shares, strict=False):
        reached += share
        if reached >= 0.5:
            return low, high
    return edges[0], edges[-1]
