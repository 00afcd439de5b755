"""What the release says about the population: pictures of synthetic patients, with the noise."""

from dataclasses import dataclass
from typing import Any

from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.charts.distribution import bars, steps
from longsynth.show.dossier.charts.figure import SYNTHETIC, Figure
from longsynth.show.dossier.charts.heat import heat
from longsynth.show.dossier.charts.svg import number, percent, signed
from longsynth.show.dossier.noise import Drawn

MANY = 15  # names of correlations that still fit beside other pictures


@dataclass(frozen=True, slots=True)
class Told:
    """What is released of the population, as figures."""

    variables: tuple[Figure, ...]
    missing: Figure
    gaps: Figure
    lengths: Figure | None  # None: every patient uses all slots
    strata: tuple[Figure, ...]
    correlations: Figure


def told(schema: Schema, drawn: Drawn) -> Told:
    found, spread = drawn.portrait, drawn.spread
    return Told(
        variables=tuple(
            variable_figure(schema.variables[v], v, found, spread)
            for v in range(len(schema.variables))
        ),
        missing=_missing(schema, found, spread),
        gaps=_gaps(found, spread),
        lengths=_lengths(schema, found, spread) if schema.length == "variable" else None,
        strata=_strata(schema, found, spread),
        correlations=_correlations(found, spread),
    )


def plain(name: str) -> str:
    return name.replace("_", " ")


def variable_figure(
    variable: Variable, v: int, found: dict[str, Any], spread: dict[str, Any] | None
) -> Figure:
    says = found["variables"][v]
    noise = _known(spread["variables"][v]["shares"]) if spread else None
    title, id_ = plain(variable.name), f"released-{v}"
    summary = in_words(variable, says) + _noise_in_words(noise)
    about = f"Distribution of {title} among synthetic patients. {summary}"
    shares = {SYNTHETIC: _known(says["shares"])}
    if variable.kind == "continuous":
        log = variable.transform == "log"
        picture = steps(id_, title, about, says["edges"], shares, noise, variable.unit, log)
    else:
        picture = bars(id_, title, about, says["levels"], shares, noise)
    return Figure(id_, title, picture, summary, v)


def in_words(variable: Variable, says: dict[str, Any]) -> str:
    """The middle and the range of nine in ten, or the commonest levels."""
    if variable.kind in ("continuous", "ordinal"):
        low, middle, high = says["middle"]
        if middle is None:
            return "No readings."
        unit = f" {variable.unit}" if variable.unit else ""
        if variable.levels:
            names = [
                variable.levels[min(round(x), len(variable.levels) - 1)] for x in says["middle"]
            ]
            return f"Middle {names[1]}; nine in ten from {names[0]} to {names[2]}."
        return (
            f"Middle {number(middle)}{unit}; nine in ten readings from {number(low)} to "
            f"{number(high)}{unit}."
        )
    ranked = sorted(zip(says["levels"], _known(says["shares"]), strict=True), key=lambda p: -p[1])
    return "Commonest: " + ", ".join(f"{name} ({percent(s)})" for name, s in ranked[:3]) + "."


def _noise_in_words(noise: list[float] | None) -> str:
    if not noise:
        return ""
    return f" Noise moves a share by up to ± {200 * max(noise):.1f} points."


def _known(found: list[float | None]) -> list[float]:
    return [x or 0.0 for x in found]


def _missing(schema: Schema, found: dict[str, Any], spread: dict[str, Any] | None) -> Figure:
    names = [plain(v.name) for v in schema.variables]
    shares = [says["missing"]["all"] for says in found["variables"]]
    noise = _known([says["missing"]["all"] for says in spread["variables"]]) if spread else None
    known = [(s, n) for s, n in zip(shares, names, strict=True) if s is not None]
    least, most = min(known), max(known)
    summary = (
        f"Least often missing: {least[1]} ({percent(least[0])}); most often: {most[1]} "
        f"({percent(most[0])})." + _noise_in_words(noise)
    )
    title = "Missing readings"
    about = f"Share of slots in use without a reading, by variable. {summary}"
    picture = bars("missing", title, about, names, {SYNTHETIC: shares}, noise)
    return Figure("missing", title, picture, summary)


def _gaps(found: dict[str, Any], spread: dict[str, Any] | None) -> Figure:
    says = found["gaps"]
    noise = _known(spread["gaps"]["shares"]) if spread else None
    shares = _known(says["shares"])
    middle = _middle(says["edges"], shares)
    title = "Hours between slots"
    summary = f"Half of the gaps are shorter than {number(middle)} h." + _noise_in_words(noise)
    picture = steps("gaps", title, summary, says["edges"], {SYNTHETIC: shares}, noise, "hours")
    return Figure("gaps", title, picture, summary)


def _lengths(schema: Schema, found: dict[str, Any], spread: dict[str, Any] | None) -> Figure:
    says = found["lengths"]
    noise = _known(spread["lengths"]["shares"]["all"]) if spread else None
    shares = _known(says["shares"]["all"])
    middle = _middle(says["edges"], shares)
    title = "Slots used by a patient"
    summary = (
        f"Half of the patients use fewer than {number(middle)} of {schema.slots} slots."
        + _noise_in_words(noise)
    )
    picture = steps("lengths", title, summary, says["edges"], {SYNTHETIC: shares}, noise, "slots")
    return Figure("lengths", title, picture, summary)


def _middle(edges: list[float], shares: list[float]) -> float:
    """The upper edge of the bin that holds the median."""
    reached = 0.0
    for edge, share in zip(edges[1:], shares, strict=True):
        reached += share
        if reached >= 0.5:
            return edge
    return edges[-1]


def _strata(
    schema: Schema, found: dict[str, Any], spread: dict[str, Any] | None
) -> tuple[Figure, ...]:
    figures = []
    for what in ("event", "group", "site"):
        levels = schema.levels(what)
        if len(levels) < 2:
            continue
        label = getattr(schema, what)
        shares = _known(found["strata"][what])
        noise = _known(spread["strata"][what]) if spread else None
        title = f"{what.capitalize()}: {label.meaning}" if label.meaning else what.capitalize()
        says = "; ".join(f"{n}: {percent(s, 1)}" for n, s in zip(levels, shares, strict=True))
        summary = (f"{says}." if len(levels) < 7 else f"{len(levels)} levels.") + _noise_in_words(
            noise
        )
        picture = bars(
            f"strata-{what}", title, summary, levels, {SYNTHETIC: shares}, noise, least=4
        )
        figures.append(Figure(f"strata-{what}", title, picture, summary))
    return tuple(figures)


def _correlations(found: dict[str, Any], spread: dict[str, Any] | None) -> Figure:
    says = found["correlations"]
    names = [*map(plain, says["names"]), "event"]
    noise = _known(spread["correlations"]["pairs"]) if spread else None
    summary = strongest(names, says["pairs"])
    if noise:
        summary += f" Noise moves a correlation by up to ± {2 * max(noise):.2f}."
    title = "Correlations"
    about = f"Correlations between patients' own means, and with the event. {summary}"
    picture = heat("correlations", title, about, names, says["pairs"], noise)
    return Figure("correlations", title, picture, summary, wide=len(names) > MANY)


def strongest(names: list[str], pairs: list[float | None]) -> str:
    """The three strongest correlations in words."""
    which = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    known = [(abs(p), p, ij) for p, ij in zip(pairs, which, strict=True) if p is not None]
    best = sorted(known, reverse=True)[:3]
    told = "; ".join(f"{names[i]} and {names[j]} {signed(p)}" for _, p, (i, j) in best)
    return f"Strongest: {told}." if told else "Too few to say."
