"""Plots of real and synthetic patients, variable by variable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from longsynth.audit.description import blocks_of
from longsynth.schema.outcomes import Outcome
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show.dossier.audit_file import Audit
from longsynth.show.dossier.bars import bars, distribution, heatmap, histogram, strongest
from longsynth.show.dossier.lines import bands, lags
from longsynth.show.dossier.population import correlated, time_figures, time_places
from longsynth.show.dossier.svg import REAL, SYNTHETIC, TRAINING, Figure, Series
from longsynth.show.dossier.words import (
    capital,
    gap_unit,
    level_names,
    meaning_of,
    number,
    percent,
    sides_of,
    spaced,
)

SERIES = {"synthetic": SYNTHETIC, "real": REAL, "training": TRAINING}
PARTS = {"all": ("all",), "event": ("event0", "event1"), "group": ("group0", "group1")}
ORDER = ("real", "training", "synthetic")  # the last one lies on top


@dataclass(frozen=True, slots=True)
class Compared:
    distributions: tuple[Figure, ...]
    times: tuple[Figure, ...]  # to event
    along: dict[str, tuple[Figure, ...]]  # by part: all, event, group
    missing: dict[str, tuple[Figure, ...]]
    gaps: Figure
    lengths: tuple[Figure, ...]
    correlations: tuple[Figure, ...]
    autocorrelations: tuple[Figure, ...]


def compared(schema: Schema, audit: Audit) -> Compared:
    described = audit.panels.descriptions
    return Compared(
        distributions=tuple(
            figure
            for v, variable in enumerate(schema.variables)
            if not variable.status  # a time, which has curves
            for figure in _distribution(schema, described, v)
        ),
        times=tuple(
            figure
            for outcome in schema.outcomes
            if outcome.kind == "time_to_event"
            for figure in _times(schema, described, outcome)
        ),
        along={part: _along(schema, described, part) for part in PARTS},
        missing={part: _missing(schema, described, part) for part in PARTS},
        gaps=_gaps(schema, described),
        lengths=_lengths(schema, described),
        correlations=_correlations(schema, described),
        autocorrelations=_autocorrelations(schema, described),
    )


def _of(described: dict[str, Any], *path: Any) -> dict[Series, Any]:
    """The same entry of each description."""
    picked = {}
    for name in ORDER:
        place = described[name]
        for step in path:
            place = place[step]
        picked[SERIES[name]] = place
    return picked


def _zeros(values: Sequence[float | None]) -> list[float]:
    return [x or 0.0 for x in values]


def apart(a: Sequence[float | None], b: Sequence[float | None]) -> float:
    """Total variation: the share that would have to move for two histograms to agree."""
    return sum(abs(x - y) for x, y in zip(_zeros(a), _zeros(b), strict=True)) / 2


def _distribution(schema: Schema, described: dict[str, Any], v: int) -> tuple[Figure, ...]:
    variable, says = schema.variables[v], {n: p["variables"][v] for n, p in described.items()}
    title, id_ = spaced(variable.name), f"compare-{v}"
    moved = apart(says["real"]["shares"], says["synthetic"]["shares"])
    usual = apart(says["real"]["shares"], says["training"]["shares"])
    summary = (
        f"Real: {_middle(variable, says['real'])}. Synthetic: "
        f"{_middle(variable, says['synthetic'])}. The two differ in {percent(moved)} of the "
        f"readings (total variation); two real cohorts differ in {percent(usual)}."
    )
    shares = {s: _zeros(x) for s, x in _of(described, "variables", v, "shares").items()}
    about = f"Distribution of {title} among real and synthetic patients. {summary}"
    edges = says["real"].get("edges")
    return distribution(id_, v, variable, edges, shares, None, title, about, summary)


def _times(schema: Schema, described: dict[str, Any], outcome: Outcome) -> Iterator[Figure]:
    says = _of(described, "times", time_places(schema)[outcome.name])
    return time_figures(schema, outcome, says, None, "compare")


def _middle(variable: Variable, says: dict[str, Any]) -> str:
    """The median with the middle 90 %, or the most common level."""
    low, middle, high = says["middle"]
    if variable.kind == "continuous":
        if middle is None:
            return "no readings"
        return f"{number(middle)} {variable.unit}".rstrip() + f" ({number(low)}–{number(high)})"
    share, name = max(zip(_zeros(says["shares"]), level_names(variable), strict=True))
    return f"most often {name} ({percent(share)})"


def _along(schema: Schema, described: dict[str, Any], part: str) -> tuple[Figure, ...]:
    blocks = blocks_of(schema)
    xs = [float(a + b + 1) / 2 for a, b in pairwise(blocks)]
    figures = []
    for v, variable in enumerate(schema.variables):
        if not described["real"]["variables"][v]["bands"]:
            continue
        binary = variable.kind == "binary"
        lines = _of(described, "variables", v, "bands")
        drawn = {
            _named(schema, part, name): {s: tuple(lines[s][name]) for s in lines}
            for name in PARTS[part]
        }
        title, id_ = spaced(variable.name), f"along-{part}-{v}"
        summary = _ends(drawn, binary)
        unit = f" ({variable.unit})" if variable.unit else ""
        about = f"{title} by slot, real and synthetic. {summary}"
        picture = bands(id_, title, about, xs, drawn, "slot", shares=binary)
        figures.append(Figure(id_, f"{title}{unit}", picture, summary, v))
    return tuple(figures)


def _named(schema: Schema, part: str, name: str) -> str:
    return "all patients" if part == "all" else sides_of(schema, part)[int(name[-1])]


def _ends(drawn: dict[str, Any], binary: bool) -> str:
    """First and last known median of each line, in words."""
    shown = percent if binary else number
    sentences = []
    for name, cohorts in drawn.items():
        says = []
        for series, word in ((REAL, "real"), (SYNTHETIC, "synthetic")):
            known = [y for y in cohorts[series][1] if y is not None]
            says.append(
                f"{word} {shown(known[0])} to {shown(known[-1])}" if known else f"{word} too few"
            )
        sentences.append(f"{name}: {', '.join(says)}")
    return f"{'Share' if binary else 'Median'}, first to last slot. {'; '.join(sentences)}."


def _missing(schema: Schema, described: dict[str, Any], part: str) -> tuple[Figure, ...]:
    names: list[str] = []
    rows: dict[Series, list[Any]] = {s: [] for s in (REAL, TRAINING, SYNTHETIC)}
    for v, variable in enumerate(schema.variables):
        for name in PARTS[part]:
            level = "" if part == "all" else f" · {_named(schema, part, name)}"
            names.append(f"{spaced(variable.name)}{level}")
            for series, says in _of(described, "variables", v, "missing").items():
                rows[series].append(says[name])
    pairs = [
        (abs(a - b), n)
        for a, b, n in zip(rows[REAL], rows[SYNTHETIC], names, strict=True)
        if a is not None and b is not None
    ]
    worst = max(pairs, default=(0.0, "nothing"))
    summary = f"Furthest apart: {worst[1]}, by {100 * worst[0]:.1f} percentage points."
    title = "Missing readings" if part == "all" else f"Missing, by {meaning_of(schema, part)}"
    about = f"Share of slots in use without a reading, real and synthetic. {summary}"
    return bars(f"missing-{part}", title, about, summary, names, rows)


def _gaps(schema: Schema, described: dict[str, Any]) -> Figure:
    unit = gap_unit(schema)
    shares = {s: _zeros(x) for s, x in _of(described, "gaps", "shares").items()}
    moved = percent(apart(shares[REAL], shares[SYNTHETIC]))
    summary = f"Real and synthetic differ in {moved} of the gaps (total variation)."
    title = f"{capital(unit.name)} between slots"
    edges = [hours / unit.hours for hours in described["real"]["gaps"]["edges"]]
    picture = histogram("compare-gaps", title, summary, edges, shares, unit=unit.name)
    return Figure("compare-gaps", title, picture, summary)


def _lengths(schema: Schema, described: dict[str, Any]) -> tuple[Figure, ...]:
    if schema.length == "full":
        return ()
    figures = []
    for part in ("all", "event0", "event1"):
        level = _named(schema, "all" if part == "all" else "event", part)
        shares = {s: _zeros(x) for s, x in _of(described, "lengths", "shares", part).items()}
        moved = percent(apart(shares[REAL], shares[SYNTHETIC]))
        summary = f"Real and synthetic differ in {moved} of the patients (total variation)."
        title, id_ = f"Slots used: {level}", f"compare-lengths-{part}"
        edges = described["real"]["lengths"]["edges"]
        picture = histogram(id_, title, summary, edges, shares, unit="slots")
        figures.append(Figure(id_, title, picture, summary))
    return tuple(figures)


def _correlations(schema: Schema, described: dict[str, Any]) -> tuple[Figure, ...]:
    names = correlated(schema, described["real"])
    pairs = {name: described[name]["correlations"]["pairs"] for name in ("real", "synthetic")}
    pairs["apart"] = [
        None if a is None or b is None else b - a
        for a, b in zip(pairs["real"], pairs["synthetic"], strict=True)
    ]
    titles = {"real": "Real", "synthetic": "Synthetic", "apart": "Synthetic minus real"}
    figures = []
    for key, title in titles.items():
        summary = strongest(names, pairs[key], "Furthest apart" if key == "apart" else "Strongest")
        id_ = f"correlations-{key}"
        chart = heatmap(id_, title, summary, names, pairs[key])
        figures.append(Figure(id_, title, chart, summary))
    return tuple(figures)


def _autocorrelations(schema: Schema, described: dict[str, Any]) -> tuple[Figure, ...]:
    steps_apart = [float(lag) for lag in described["real"]["autocorrelations"]["lags"]]
    if not steps_apart:
        return ()
    figures = []
    for v, variable in enumerate(schema.variables):
        if variable.name not in described["real"]["autocorrelations"]["variables"]:
            continue
        says = _of(described, "autocorrelations", "variables", variable.name)
        first = [says[s][0] for s in (REAL, SYNTHETIC)]
        texts = ["unknown" if x is None else f"{x:.2f}" for x in first]
        summary = f"One slot apart: real {texts[0]}, synthetic {texts[1]}."
        title, id_ = spaced(variable.name), f"lags-{v}"
        about = f"Autocorrelation of {title}, by slots apart. {summary}"
        picture = lags(id_, title, about, steps_apart, says, "slots apart")
        figures.append(Figure(id_, title, picture, summary, v))
    return tuple(figures)
