"""The page on constants: what each is, why its default, and what moving it did when measured."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isclose
from typing import Any, NamedTuple, TypedDict

from longsynth.constants import Constants
from longsynth.privacy.budget import Accounting
from longsynth.simulate import simulated_schema


class Setup(TypedDict):
    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: Accounting
    judged_against: int  # fresh patients
    synthetic: int  # patients in a sample
    draws: int  # fits and samples a seed
    draws_of_defaults: int  # more, since everything is held against them


SETUP: Setup = {  # of the measurement, which reads it from here
    "method": "trust",
    "patients": 504,
    "epsilon": 12.0,
    "delta": 1e-5,
    "accounting": "zcdp",
    "judged_against": 5000,
    "synthetic": 5000,
    "draws": 4,
    "draws_of_defaults": 16,
}
YARDSTICK = "fitted patients"  # stands in a result's `constant` where nothing was synthesised
AS_THEY_ARE, SHUFFLED = "as they are", "events shuffled"  # the values there
MEASURES = {
    "marginals": "distance of the marginal distributions, mean over variables: Kolmogorov-Smirnov "
    "if continuous, total variation if ordinal or binary",
    "autocorrelation": "error of the lag-1 autocorrelation, mean over continuous variables",
    "correlation": "error of the correlation between patient means, mean over pairs of variables",
    "event contrast": "error of the difference in patient means with and without the event, in "
    "spreads of the population, mean over variables",
    "missing": "error of the share of missing cells, mean over variables and the two groups",
    "prevalence": "error of the share of patients with the event",
}

_SYMBOL = re.compile(r"^([A-Za-zλκηα](?:_[a-z]+)?): ")


class Measured(NamedTuple):
    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.sd:.3f}"

    def clear_of(self, other: "Measured") -> bool:
        """Whether the two ± sd intervals do not overlap."""
        return abs(self.mean - other.mean) > self.sd + other.sd


Settings = dict[str, dict[str, Measured]]  # value as text → measure → result


def constants_page(results: list[dict[str, Any]]) -> str:
    """Return the page in Markdown from the measured results."""
    found = _by_constant(results)
    yardstick = found.pop(YARDSTICK)
    seeds = sorted({seed for result in results for seed in result["seeds"]})
    parts = [
        "# Constants",
        "Every public number that a method uses. None of them is read off a cohort, and a schema "
        "may set any of them under `constants:`. Symbols and `eq:` labels are the paper's.",
        _lines(_definitions()),
        "## How much they matter",
        _setup(seeds),
        _lines(f"- **{name}**: {meaning}" for name, meaning in MEASURES.items()),
        _lines(_yardsticks(found, yardstick)),
        _reading(found, yardstick),
    ]
    for constant, settings in found.items():
        parts += [
            f"### {constant}",
            _lines(_table(constant, settings)),
            _verdict(constant, settings),
        ]
    return "\n\n".join([*parts, _left_alone(found)]) + "\n"


def is_default(constant: str, value: object) -> bool:
    """Whether a value is the default. A clip radius is in multiples of √(T·V), such as 2/3."""
    default = getattr(Constants().settled(cells=1, patients=1), constant)
    if constant == "clip_radius":
        return isclose(float(Fraction(str(value))), default)
    return bool(value == default)


def _by_constant(results: list[dict[str, Any]]) -> dict[str, Settings]:
    found: dict[str, Settings] = {}
    for result in results:
        setting = found.setdefault(result["constant"], {}).setdefault(_text(result["value"]), {})
        setting[result["metric"]] = Measured(result["mean"], result["sd"])
    return found


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _lines(lines: Iterator[str]) -> str:
    return "\n".join(lines)


def _definitions() -> Iterator[str]:
    """The table of all constants; names, defaults and reasons come from the model itself."""
    settled = simulated_schema().settled(SETUP["patients"]).fixed.model_dump()
    yield "| constant | symbol | default | what it is, and why |"
    yield "|---|---|---|---|"
    for name, field in Constants.model_fields.items():
        described = field.description or ""
        symbol = _SYMBOL.match(described)
        reason = described[symbol.end() :] if symbol else described
        default = f"`{_text(field.default)}`"
        if field.default is None:
            default = f"by rule ({settled[name]:.3g} as measured below)"
        shown = f"`{symbol[1]}`" if symbol else ""
        yield f"| `{name}` | {shown} | {default} | {reason} |"


def _setup(seeds: Sequence[int]) -> str:
    return (
        f"One constant at a time was moved away from its default. Method `{SETUP['method']}`, "
        f"{SETUP['patients']} simulated patients, ε = {SETUP['epsilon']:g}, "
        f"δ = {SETUP['delta']:g}, accounting {SETUP['accounting']}. A weighted sample of "
        f"{SETUP['synthetic']:,} synthetic patients was held against {SETUP['judged_against']:,} "
        f"fresh patients of the same simulated population, averaged over {SETUP['draws']} fits a "
        f"seed ({SETUP['draws_of_defaults']} with all defaults). "
        "Each figure is the mean ± standard deviation over the development seeds "
        f"{_listed([str(seed) for seed in seeds])}; a seed draws the patients and the samples, "
        "while the privacy noise takes none, so a rerun differs, mostly within that deviation. "
        "All measures are errors: lower is better."
    )


def _reading(found: dict[str, Settings], yardstick: Settings) -> str:
    """An overall reading that follows from the numbers, whatever they are."""
    default = _defaults(found)
    floor, shuffled = yardstick[AS_THEY_ARE], yardstick[SHUFFLED]
    gaps = [name for name in MEASURES if default[name].clear_of(floor[name])]
    tried = sum(len(settings) - 1 for settings in found.values())
    further = default["event contrast"].mean > shuffled["event contrast"].mean
    return (
        f"With the defaults, {_listed(gaps)} stand clear of what the fitted patients themselves "
        "reach: privacy and the model cost that much here. The event contrast is "
        f"{'further from' if further else 'closer to'} the population's than with events shuffled "
        f"at random. Of all settings, the marginals were {_extremes(found, 'marginals')}.\n\n"
        f"A result is marked ↓ (better) or ↑ (worse) where its ± interval and the default's do not "
        f"overlap. With {tried} settings by {len(MEASURES)} measures on few seeds, some marks are "
        "luck: `steps` leaves the end point of the path where it is, so a mark there could be "
        "nothing else. One simulated population at one budget says nothing certain about another "
        "cohort. Development seeds may guide a choice; they cannot confirm it."
    )


def _extremes(found: dict[str, Settings], measure: str) -> str:
    """Which settings come out lowest and highest in a measure, and how far from the default."""
    start = _defaults(found)[measure].mean
    moves = {
        f"`{constant}` {value}": result[measure].mean - start
        for constant, settings in found.items()
        for value, result in settings.items()
    }
    lowest, highest = (choose(moves, key=lambda name: moves[name]) for choose in (min, max))
    return (
        f"lowest with {lowest} ({moves[lowest]:+.3f}) and highest with {highest} "
        f"({moves[highest]:+.3f})"
    )


def _defaults(found: dict[str, Settings]) -> dict[str, Measured]:
    """What the defaults gave: the same run stands in every constant's table."""
    return next(_default(constant, settings) for constant, settings in found.items())


def _default(constant: str, settings: Settings) -> dict[str, Measured]:
    return next(found for value, found in settings.items() if _is_default_text(constant, value))


def _is_default_text(constant: str, text: str) -> bool:
    try:
        return is_default(constant, float(Fraction(text)))
    except ValueError:
        return is_default(constant, text)


def _yardsticks(found: dict[str, Settings], yardstick: Settings) -> Iterator[str]:
    rows = {"**all defaults**": _defaults(found)}
    rows |= {f"{YARDSTICK}, {value}": result for value, result in yardstick.items()}
    yield from _head("")
    for name, result in rows.items():
        yield f"| {name} | {' | '.join(str(result[measure]) for measure in MEASURES)} |"


def _head(first: str) -> Iterator[str]:
    yield f"| {first} | {' | '.join(MEASURES)} |"
    yield "|---" * (1 + len(MEASURES)) + "|"


def _table(constant: str, settings: Settings) -> Iterator[str]:
    default = _default(constant, settings)
    yield from _head("in √(T·V)" if constant == "clip_radius" else "value")
    for value, found in settings.items():
        shown = f"**{value}** (default)" if found is default else value
        cells = [f"{found[name]}{_mark(found[name], default[name])}" for name in MEASURES]
        yield f"| {shown} | {' | '.join(cells)} |"


def _mark(found: Measured, default: Measured) -> str:
    if not found.clear_of(default):
        return ""
    return " ↓" if found.mean < default.mean else " ↑"


def _verdict(constant: str, settings: Settings) -> str:
    default, sides = _default(constant, settings), {" ↓": "Better", " ↑": "Worse"}
    said = []
    for mark, word in sides.items():
        marked = {
            value: [name for name in MEASURES if _mark(found[name], default[name]) == mark]
            for value, found in settings.items()
        }
        listed = "; ".join(
            f"{value} in {_listed(names)}" for value, names in marked.items() if names
        )
        said += [f"{word} than the default: {listed}."] if listed else []
    return " ".join(said) or "No value stands clear of the default in any measure."


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no measures"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _left_alone(found: dict[str, Settings]) -> str:
    others = [f"`{name}`" for name in Constants.model_fields if name not in found]
    return (
        f"Not varied: {_listed(others)}. No measure here looks at the gaps between observations or "
        "at what a classifier learns from the synthetic patients."
    )
