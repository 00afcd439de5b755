"""Variants: a method with another public rule or other constants, as a separate row.

A row's name is that of the method, or of the method and the variant: "dp-markov, threshold 3".
Every setting that a search tries is a variant, so its results can be evaluated by name.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from fractions import Fraction
from itertools import product
from math import sqrt

from longsynth.bundle import Bundle
from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.copula_score.settings import EFFECTS, LITTLE, MUCH, SCORE, Settings
from longsynth.methods.method import Method, PrivateMethod
from longsynth.methods.registry import method_named
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema
from longsynth.system.errors import Refused
from longsynth.system.workers import one_thread
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import REFERENCES, Constant
from longsynth_lab.markov import SMOOTHED, MarkovVariant, Rule

APART = ", "  # between a method's name and its variant's
Value = str | float


@dataclass(frozen=True)
class Variant:
    """A method, and the constants of the schema that differ from their defaults."""

    method: Method
    constants: Mapping[str, Value] = field(default_factory=dict)  # a radius in parts of √(T·V)

    @property
    def settings(self) -> str:
        """Everything that distinguishes it from other variants of the method, as text."""
        rule: dict[str, object] = asdict(self.method) if is_dataclass(self.method) else {}
        return json.dumps([self.method.name, rule, dict(self.constants)], sort_keys=True)

    def model(self, bundle: Bundle) -> Model:
        with one_thread():
            return self.method.model(bundle)

    def constants_for(self, schema: Schema) -> tuple[Constant, ...]:
        cells = schema.slots * len(schema.variables)
        return tuple(
            (name, float(value) * sqrt(cells) if name == "clip_radius" else value)
            for name, value in self.constants.items()
        )


def base_of(name: str) -> str:
    """Return the method of a row."""
    return name.partition(APART)[0]


def variant_of(name: str) -> Variant:
    """Return the method and constants that a row's name stands for."""
    base, _, setting = name.partition(APART)
    if not setting:
        return Variant(method_named(base))
    if setting not in VARIANTS.get(base, {}):
        raise Refused(
            LabCode.NAME_UNKNOWN,
            f"'{base}' has no variant '{setting}'.",
            "docs/rivals.md names some.",
        )
    return VARIANTS[base][setting]


def is_private(name: str) -> bool:
    return name not in REFERENCES and isinstance(variant_of(name).method, PrivateMethod)


_PLAIN: dict[str, Rule] = {
    "5 bins": Rule(bins=5),
    "7 bins": Rule(bins=7),
    "15 bins": Rule(bins=15),
    "threshold 0": Rule(threshold=0.0),
    "threshold 2": Rule(threshold=2.0),
    "threshold 3": Rule(threshold=3.0),
    "threshold 4": Rule(threshold=4.0),
    "threshold 5": Rule(threshold=5.0),
    "threshold 3, floor .2": Rule(threshold=3.0, floor=0.2),
    "threshold 3, centred bins": Rule(threshold=3.0, focus=1.0),
    "threshold 3, steady": Rule(threshold=3.0, steady=True),
    "threshold 2, floor .2": Rule(threshold=2.0, floor=0.2),
    "threshold 2, 7 bins": Rule(threshold=2.0, bins=7),
    "threshold 2, centred bins": Rule(threshold=2.0, focus=1.0),
    "centred bins": Rule(focus=1.0),
    "centred bins, 7 bins": Rule(focus=1.0, bins=7),
    "narrow bins": Rule(focus=0.5),
    "steady": Rule(steady=True),
    "more for steps": Rule(steps=65, first=10, masks=10),
    "more for strata": Rule(strata=15, steps=40),
}
_SMOOTHED: dict[str, Rule] = {
    "smoothed": SMOOTHED,
    "smoothed, temper 1": replace(SMOOTHED, temper=1.0),
    "smoothed, temper .75": replace(SMOOTHED, temper=0.75),
    "smoothed, temper .5": replace(SMOOTHED, temper=0.5),
    "smoothed, temper .5, floor .3": replace(SMOOTHED, temper=0.5, floor=0.3),
    "smoothed, temper .75, effect .25, 10 bins, floor .2": replace(
        SMOOTHED, temper=0.75, effect=0.25, bins=10, floor=0.2
    ),
    "smoothed, temper .75, 10 bins": replace(SMOOTHED, temper=0.75, bins=10),
    "smoothed, temper 1, effect 1": replace(SMOOTHED, temper=1.0, effect=1.0),
    "smoothed, temper 1, 10 bins": replace(SMOOTHED, temper=1.0, bins=10),
    "smoothed, temper 1, floor .2": replace(SMOOTHED, temper=1.0, floor=0.2),
    "smoothed, temper 1, tables by event": replace(SMOOTHED, temper=1.0, own=True),
    "smoothed, 6 states": replace(SMOOTHED, states=6),
    "smoothed, 10 bins": replace(SMOOTHED, bins=10),
    "smoothed, first bins only": replace(SMOOTHED, halves=False),
    "smoothed, more for first": replace(SMOOTHED, first=45, steps=20),
    "smoothed, less for masks": replace(
        SMOOTHED, masks=5, gaps=4, gap_squares=1, first=40, steps=40
    ),
}

_TRIED: dict[str, dict[str, Value]] = {  # values of each constant, by a word for each
    "encoding": {"bounds": "bounds", "reference": "reference"},
    "release": {"separate": "separate", "joint": "joint"},
    "clip_radius": {
        "radius 1/6": 1 / 6,
        "radius 1/3": 1 / 3,
        "radius 1/2": 1 / 2,
        "radius 2/3": 2 / 3,
    },
    "event_floor": {"floor .02": 0.02, "floor .1": 0.1},
    "ridge": {"ridge .01": 0.01, "ridge .05": 0.05},
}
_USED = {  # dp-score releases no products, so that it has nothing to join
    "trust": ("encoding", "release", "clip_radius", "event_floor"),
    "dp-score": ("encoding", "clip_radius", "event_floor", "ridge"),
}


def _constants(method: str) -> dict[str, Variant]:
    """Every combination of the constants that the method uses."""
    found = {}
    for words in product(*(_TRIED[name] for name in _USED[method])):
        values = {n: _TRIED[n][w] for n, w in zip(_USED[method], words, strict=True)}
        found[APART.join(words)] = Variant(method_named(method), values)
    return found


def _without(line: str, *, along_severity: bool = True) -> Settings:
    """Shares that leave one line hardly anything."""
    little, much = (table | {line: 0.1} for table in (LITTLE, MUCH))
    return Settings(little, much, along_severity=along_severity)


MORE, LESS = 1.5, 1 / 1.5  # of what a line has now


def _shares() -> dict[str, Settings]:
    """Half as much again, or a third less, for one line; the others share the rest as before."""
    found = {}
    for line in LITTLE:
        for word, factor in (("more", MORE), ("less", LESS)):
            little, much = (table | {line: factor * table[line]} for table in (LITTLE, MUCH))
            found[f"{word} for {line}"] = Settings(little, much)
    return found


_ABLATIONS = {
    "no calibration": Settings(rounds=0),
    "no factor fit": Settings(toward_factors=False),
    "no severity": _without(SCORE, along_severity=False),
    "no effects of single channels": _without(EFFECTS),
    "marks apart from values": Settings(marks_in_copula=False),
    "no balanced draws": Settings(balanced=False),
    "no extra events": Settings(balance=0.0),
}

MOVED: dict[str, tuple[Value, ...]] = {  # values of `trust`'s constants beside their defaults
    "clip_radius": ("1/6", "1/3", "1/2", "5/6", "1"),  # in parts of √(T·V)
    "ridge": (0.001, 0.005, 0.05, 0.2),
    "eigen_floor": (0.0001, 0.01),
    "bandwidth": (0, 1, 6, 13),
    "shrinkage": (0.0, 0.25, 0.75, 1.0),
    "event_floor": (0.0, 0.05),
    "release": ("joint",),
    "condition_gram": ("released",),
    "gram_sensitivity": ("triangle",),
    "second_moment": ("whole",),
    "missing_values": ("interpolated",),
    "mask_coding": ("zero_one",),
    "strata_draw": ("independent",),
    "encoding": ("reference",),
    "covariance": ("diagonal",),
    "steps": (1, 100),
}


def moved(constant: str, value: Value) -> str:
    """The row of `trust` with one constant changed."""
    return f"trust{APART}{constant} {value}"


def _moved() -> dict[str, Variant]:
    trust, found = method_named("trust"), {}
    for constant, values in MOVED.items():
        for value in values:
            number = float(Fraction(value)) if constant == "clip_radius" else value
            found[moved(constant, value).partition(APART)[2]] = Variant(trust, {constant: number})
    return found


VARIANTS: dict[str, dict[str, Variant]] = {
    "dp-markov": {n: Variant(MarkovVariant(rule)) for n, rule in (_PLAIN | _SMOOTHED).items()},
    "trust": _constants("trust") | _moved(),
    "dp-score": _constants("dp-score"),
    "copula-score": {
        n: Variant(CopulaScore(chosen)) for n, chosen in (_ABLATIONS | _shares()).items()
    },
}


def searched(method: str) -> tuple[str, ...]:
    """The rows of a search: the method and all its variants."""
    settings: Iterable[str] = VARIANTS[method]
    if method == "copula-score":
        settings = _shares()
    elif method in _USED:
        settings = _constants(method)
    return method, *(f"{method}{APART}{setting}" for setting in settings)


def ablated() -> tuple[str, ...]:
    """The default method, complete and with one part removed at a time."""
    return "copula-score", *(f"copula-score{APART}{part}" for part in _ABLATIONS)
